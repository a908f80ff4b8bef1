//! The bytes of a stream between two offsets. They are kept in chunks, which are allocated as bytes
//! arrive and freed once bytes are released.

use super::pool::{CHUNK, Chunk, Pool};
use std::collections::VecDeque;

/// Bytes by their offset in the stream. Holes are allowed. Bytes below the last release are gone.
#[derive(Debug)]
pub(super) struct Ring {
    /// Number of released chunks, which is the number of the first chunk kept.
    gone: u64,
    chunks: VecDeque<Option<Chunk>>,
    pool: Pool,
}

impl Ring {
    /// A ring without bytes, whose chunks are of a pool.
    pub(super) fn new(pool: &Pool) -> Self {
        Self { gone: 0, chunks: VecDeque::new(), pool: pool.clone() }
    }

    /// Writes bytes at an offset, which must not be below the last release.
    pub(super) fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (index, from) = self.place(at);
            let n = bytes.len().min(CHUNK - from);
            if self.chunks.len() <= index {
                self.chunks.resize_with(index + 1, || None);
            }
            let chunk = self.chunks[index].get_or_insert_with(|| self.pool.chunk());
            chunk[from..from + n].copy_from_slice(&bytes[..n]);
            (at, bytes) = (at + n as u64, &bytes[n..]);
        }
    }

    /// Yields `len` bytes from `at` on, in pieces. All of them must have been written.
    pub(super) fn read(&self, mut at: u64, len: usize, mut piece: impl FnMut(&[u8])) {
        let mut left = len;
        while left > 0 {
            let (index, from) = self.place(at);
            let n = left.min(CHUNK - from);
            let chunk = self.chunks.get(index).and_then(Option::as_ref).expect("only what was written is read");
            piece(&chunk[from..from + n]);
            (at, left) = (at + n as u64, left - n);
        }
    }

    /// Releases the bytes below this offset.
    pub(super) fn release(&mut self, below: u64) {
        while self.gone < below / CHUNK as u64 {
            self.gone += 1;
            if self.chunks.pop_front().is_none() {
                self.gone = below / CHUNK as u64;
            }
        }
    }

    /// Releases all bytes, and frees the memory.
    pub(super) fn clear(&mut self) {
        self.chunks = VecDeque::new();
    }

    /// Bytes of memory in use.
    pub(super) fn memory(&self) -> u64 {
        (self.chunks.iter().flatten().count() * CHUNK) as u64
    }

    /// The chunk that holds an offset, and the position in it.
    fn place(&self, at: u64) -> (usize, usize) {
        ((at / CHUNK as u64 - self.gone) as usize, (at % CHUNK as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(steps in proptest::collection::vec((0usize..40_000, 0usize..40_000), 1..40), seed: u8) {
            // Pieces are written from the last to the first, so that there are holes meanwhile.
            let total: usize = steps.iter().map(|s| s.0).sum();
            let bytes: Vec<u8> = (0..total).map(|i| (i * 31 + i / 256 + usize::from(seed)) as u8).collect();
            let mut ring = Ring::new(&Pool::default());
            let mut end = total;
            for (len, _) in steps.iter().rev() {
                ring.write((end - len) as u64, &bytes[end - len..end]);
                end -= len;
            }
            prop_assert!(ring.memory() <= (total + CHUNK) as u64);
            let (mut at, mut out) = (0, Vec::new());
            for (_, len) in &steps {
                let n = (*len).min(total - at);
                ring.read(at as u64, n, |piece| out.extend_from_slice(piece));
                at += n;
                ring.release(at as u64);
                prop_assert!(ring.memory() <= (total - at + 2 * CHUNK) as u64);
            }
            prop_assert_eq!(&out[..], &bytes[..at]);
        }
    }
}
