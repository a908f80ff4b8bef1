//! Reading big-endian numbers from bytes that may end too early.
//!
//! Every error names its position.

use super::error::WireError;

/// A position in bytes.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }
    pub(super) fn slice(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let need = self.at.saturating_add(length);
        let found = self.bytes.get(self.at..need).ok_or(WireError::Truncated { have: self.bytes.len(), need })?;
        self.at = need;
        Ok(found)
    }
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N)?);
        Ok(array)
    }
    /// A number of `length` bytes, at most 8.
    pub(super) fn number(&mut self, length: usize) -> Result<u64, WireError> {
        Ok(self.slice(length)?.iter().fold(0, |n, &b| n << 8 | u64::from(b)))
    }
    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.number(1)? as u8)
    }
    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        Ok(self.number(2)? as u16)
    }
    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(self.number(4)? as u32)
    }
    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        self.number(8)
    }
    /// Two's complement.
    pub(super) fn i64(&mut self) -> Result<i64, WireError> {
        Ok(self.number(8)? as i64)
    }
    /// Skips bytes that must be zero.
    pub(super) fn zeros(&mut self, length: usize) -> Result<(), WireError> {
        let from = self.at;
        match self.slice(length)?.iter().position(|&b| b != 0) {
            None => Ok(()),
            Some(i) => Err(WireError::Reserved { at: from + i }),
        }
    }
    /// Checks that everything has been read.
    pub(super) fn end(&self) -> Result<(), WireError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            bytes => Err(WireError::Surplus { bytes }),
        }
    }
}

/// The low `length` bytes of a number, at most 8.
pub(super) fn put(out: &mut Vec<u8>, number: u64, length: usize) {
    out.extend_from_slice(&number.to_be_bytes()[8 - length..]);
}
