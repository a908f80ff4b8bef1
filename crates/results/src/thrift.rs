//! Structures of Apache Thrift in the compact protocol, as Parquet has them.
//!
//! Readers are strict: numbers fit their types, and fields come in order. No bytes make them panic.

// Types of fields.
pub(crate) const TRUE: u8 = 1;
pub(crate) const FALSE: u8 = 2;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
pub(crate) const BINARY: u8 = 8;
pub(crate) const STRUCT: u8 = 12;

/// What reads a field, given its number and type.
pub(crate) type Field<'f> = &'f mut dyn FnMut(&mut Thrift<'_>, i64, u8) -> Result<(), String>;

/// Bytes in the compact protocol.
pub(crate) struct Thrift<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// What the bytes are, for errors.
    what: &'static str,
}

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// Bytes that have not been read.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn too_long(&self) -> String {
        format!("its {} is too long", self.what)
    }

    pub fn byte(&mut self) -> Result<u8, String> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.too_long())?;
        self.at += 1;
        Ok(byte)
    }

    pub fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(format!("its {} has a number of more than 64 bits", self.what))
    }

    /// A number of 32 bits.
    pub fn number(&mut self) -> Result<i64, String> {
        let value = self.varint()?;
        let number = (value >> 1) as i64 ^ -((value & 1) as i64);
        i32::try_from(number).map(i64::from).map_err(|_| format!("its {} has {number}, which is too large", self.what))
    }

    pub fn forward(&mut self, bytes: u64) -> Result<(), String> {
        let left = self.left();
        let bytes = usize::try_from(bytes).ok().filter(|b| *b <= left).ok_or_else(|| self.too_long())?;
        self.at += bytes;
        Ok(())
    }

    /// Calls `each` for every field of a structure.
    pub fn fields(&mut self, each: Field<'_>) -> Result<(), String> {
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            if byte & 0x0f == 0 {
                return Ok(());
            }
            let next = match byte >> 4 {
                0 => self.number()?,
                step => id + i64::from(step),
            };
            if next <= id || next > i64::from(i16::MAX) {
                return Err(format!("field {next} of its {} comes after field {id}", self.what));
            }
            id = next;
            each(self, id, byte & 0x0f)?;
        }
    }
}
