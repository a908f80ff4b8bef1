//! A window that never changes.
//!
//! It serves tests, and peers whose window is set elsewhere.

use timeplane_model::Time;

use super::{Acked, CongestionControl, Window};
use crate::TcpConfig;

/// Keeps the initial window: neither losses nor timeouts nor marks change it.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl CongestionControl for Fixed {
    fn new(_: &TcpConfig) -> Self {
        Self
    }
    fn on_ack(&mut self, _: &mut Window, _: &Acked) {}
    fn on_loss(&mut self, _: &mut Window, _: u64, _: Time) {}
    fn on_timeout(&mut self, _: &mut Window, _: u64, _: bool) {}
    fn limit(&mut self, _: &mut Window, _: u64) {}
}
