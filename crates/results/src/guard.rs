//! A border around code that may panic on damaged input. Checks of the input come first; this is
//! the second line.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside of the border.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` and turns a panic into an error, which is part of a sentence. Nothing is printed.
///
/// The Parquet library panics on some damaged files. That would end the program instead of naming
/// the file, and a panic that reaches a C caller, as in the Arrow stream of Python's tables, aborts
/// the process. What `f` owns is dropped by a panic, so nothing half done is seen later.
///
/// # Errors
/// That of `f`, or the text of its panic.
pub fn guarded<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !INSIDE.get() {
                before(panic);
            }
        }));
    });
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    INSIDE.set(outer);
    result.unwrap_or_else(|panic| Err(format!("it is damaged: {}", text_of(&*panic))))
}

/// The first line of the text that a panic was given.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.and_then(|text| text.lines().next()).unwrap_or("it cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_next_call_works() {
        let numbers = [1, 2, 3];
        let at = |i: usize| guarded(|| Ok(numbers[i]));
        assert_eq!(at(3).unwrap_err(), "it is damaged: index out of bounds: the len is 3 but the index is 3");
        assert_eq!(at(2), Ok(3));
        assert!(!INSIDE.get());
        assert_eq!(guarded(|| Err::<(), _>("no".to_owned())), Err("no".to_owned()));
    }
}
