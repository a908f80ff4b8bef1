//! Memory of streams in chunks, counted for all streams of a host together.
//!
//! Chunks are mapped from the system, not allocated. What programs have used thus goes back to the
//! system when they leave, however the chunks of others lie between.

use nix::libc;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of a chunk, in bytes. It holds ten frames, so that few frames cross into the next one.
pub(super) const CHUNK: usize = 16 * 1024;
/// Number of unused chunks that are kept, so that steady streams need no system calls.
pub(super) const SPARE: usize = 256;

/// Mapped memory of [`CHUNK`] bytes.
#[derive(Debug)]
struct Mapping(NonNull<u8>);

// SAFETY: the memory belongs to the value alone, as that of a `Box` does.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new() -> Self {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: it asks for new memory, and touches none that exists.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), CHUNK, access, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            // As every allocation of the standard library does.
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; CHUNK]>());
        }
        Self(NonNull::new(memory.cast()).expect("the system maps nothing at zero"))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped as much there, and no reference outlives the value.
        unsafe { libc::munmap(self.0.as_ptr().cast(), CHUNK) };
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// Chunks that streams use.
    used: AtomicUsize,
    spare: Mutex<Vec<Mapping>>,
}

/// The memory of all streams of a host. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Arc<Shared>);

impl Pool {
    /// A chunk, whose content is arbitrary.
    pub(super) fn chunk(&self) -> Chunk {
        self.0.used.fetch_add(1, Relaxed);
        let spare = self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Chunk { memory: Some(spare.unwrap_or_else(Mapping::new)), pool: self.clone() }
    }
    /// Bytes that streams use.
    pub(super) fn used(&self) -> u64 {
        (self.0.used.load(Relaxed) * CHUNK) as u64
    }
    /// Bytes that no stream uses and that are not given back to the system.
    pub(super) fn spare(&self) -> u64 {
        (self.0.spare.lock().unwrap_or_else(PoisonError::into_inner).len() * CHUNK) as u64
    }
}

/// A chunk of a [`Pool`], which returns there when dropped.
#[derive(Debug)]
pub(super) struct Chunk {
    /// `None` only while it is dropped.
    memory: Option<Mapping>,
    pool: Pool,
}

impl Deref for Chunk {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let Some(Mapping(memory)) = &self.memory else { return &[] };
        // SAFETY: as much is mapped there, is initialized by the system, and lives as long as self.
        unsafe { std::slice::from_raw_parts(memory.as_ptr(), CHUNK) }
    }
}

impl DerefMut for Chunk {
    fn deref_mut(&mut self) -> &mut [u8] {
        let Some(Mapping(memory)) = &mut self.memory else { return &mut [] };
        // SAFETY: as above, and nobody else has a reference to it.
        unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), CHUNK) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.pool.0.used.fetch_sub(1, Relaxed);
        let mut spare = self.pool.0.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE {
            spare.extend(self.memory.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_counted_and_few_are_kept() {
        let pool = Pool::default();
        let mut chunks: Vec<Chunk> = (0..3 * SPARE).map(|_| pool.chunk()).collect();
        for (number, chunk) in chunks.iter_mut().enumerate() {
            chunk.fill(number as u8);
        }
        for (number, chunk) in chunks.iter().enumerate() {
            assert!(chunk.len() == CHUNK && chunk.iter().all(|b| *b == number as u8));
        }
        assert_eq!((pool.used(), pool.spare()), ((3 * SPARE * CHUNK) as u64, 0));
        drop(chunks);
        assert_eq!((pool.used(), pool.spare()), (0, (SPARE * CHUNK) as u64));
        let again = pool.chunk();
        assert_eq!((pool.used(), pool.spare()), (CHUNK as u64, ((SPARE - 1) * CHUNK) as u64));
        drop(again);
    }
}
