//! Reads values of BPF maps as structs.
//!
//! Only types whose every bit pattern is valid can be read.

/// A type whose every bit pattern is a value: integers, and `repr(C)` structs and arrays of such.
///
/// # Safety
/// Every bit pattern must be a valid value: no references, no `bool`s, no enums.
pub unsafe trait Plain: Copy {}

/// Reads a value from the bytes of a map's value or of a record; `None` if there are too few.
pub fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    let bytes = bytes.get(..size_of::<T>())?;
    // SAFETY: there are enough bytes, they need not be aligned, and any bit pattern is a value.
    Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}
