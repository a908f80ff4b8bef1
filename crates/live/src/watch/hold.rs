//! Marks connections that may stay open.
//!
//! All others are closed after some seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether a connection may stay open after its time limit, as events are sent on it. Clones share
/// the mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hold(Arc<AtomicBool>);

impl Hold {
    pub(crate) fn set(&self, held: bool) {
        self.0.store(held, Relaxed);
    }
    pub(crate) fn is_held(&self) -> bool {
        self.0.load(Relaxed)
    }
}
