//! Receive buffers of hosts.
//!
//! A buffer is measured in the time that it takes to empty, as the queue of a link is. It does not
//! know which packets it holds.

use crate::engine::time::SimTime;
use timeplane_model::{Bytes, Duration, Rate};

/// A buffer that an application empties at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveBuffer {
    size: Bytes,
    drain: Rate,
    empty_at: SimTime,
}

impl ReceiveBuffer {
    /// An empty buffer of this size.
    pub fn new(size: Bytes, drain: Rate) -> Self {
        Self { size, drain, empty_at: SimTime::ZERO }
    }

    /// The bytes that it holds, rounded up.
    fn held(&self, at: SimTime) -> Bytes {
        let left = Duration::from_ps((self.empty_at - at).as_ps().max(0));
        let bits = left.as_ps() as u128 * u128::from(self.drain.as_bps());
        Bytes::new(bits.div_ceil(8_000_000_000_000) as u64)
    }

    /// The bytes that still fit.
    pub fn room(&self, at: SimTime) -> Bytes {
        self.size.saturating_sub(self.held(at))
    }

    /// A packet arrives. Whether it fits.
    pub fn take(&mut self, at: SimTime, wire: u32) -> bool {
        let wire = Bytes::new(u64::from(wire));
        let fits = wire <= self.room(at);
        if fits {
            self.empty_at = self.empty_at.max(at) + self.drain.time_for(wire);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_its_size_and_empties_at_its_rate() {
        let mut buffer = ReceiveBuffer::new(Bytes::new(3_000), Rate::gbps(1));
        let at = |us| SimTime::ZERO + Duration::from_us(us);
        assert!(buffer.take(at(0), 1_500) && buffer.take(at(0), 1_500) && !buffer.take(at(0), 1));
        // 1 Gb/s drains 125 B in a us.
        assert_eq!([4, 24, 100].map(|us| buffer.room(at(us)).get()), [500, 3_000, 3_000]);
        assert!(!buffer.take(at(4), 501) && buffer.take(at(4), 500));
        assert_eq!(buffer.room(at(28)), Bytes::new(3_000));
    }
}
