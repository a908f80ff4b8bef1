//! A receive window that follows what arrives (dynamic right-sizing, as in Linux).
//!
//! The receiver measures a round trip by the time that a whole window takes to arrive, and keeps
//! twice as much room as it got in the latest round trip, so that the sender's window can double.
//! Fisk and Feng describe the idea (LACSI 2001); the margin and the allowance for slow start are
//! those of Linux (`tcp_rcv_space_adjust`).

use core::num::NonZeroU32;

use timeplane_model::{Duration, Time};

use crate::TcpConfig;

/// The first window: what Linux offers with the default buffer of 128 KiB (`tcp_rmem`).
pub(crate) const FIRST_WINDOW: u64 = 65_535;
/// Room beyond twice a round trip's bytes, in segments.
const MARGIN: u64 = 16;

/// The window of a receiver whose application reads at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    /// Bytes above the acknowledged ones that may be sent.
    size: u64,
    most: u64,
    mss: u64,
    /// The least time that a window took to arrive; zero before the first.
    round_trip: Duration,
    /// The window that is being measured ends here, and was offered then.
    edge: u64,
    offered: Option<Time>,
    /// Most bytes of a round trip so far.
    space: u64,
    /// The current round trip: when it began, and what had arrived by then.
    began: Time,
    arrived: u64,
}

impl ReceiveWindow {
    /// The window of a receiver with this configuration, if it grows.
    pub(crate) fn new(config: &TcpConfig) -> Option<Self> {
        let most = config.receive_window?.max(1);
        let first_flight = u64::from(config.initial_window) * u64::from(config.mss);
        config.window_growth.then(|| Self {
            size: FIRST_WINDOW.min(most),
            most,
            mss: u64::from(config.mss),
            round_trip: Duration::ZERO,
            edge: 0,
            offered: None,
            // A first window that is full is reason enough to grow, however large segments are.
            space: first_flight.min(FIRST_WINDOW.min(most) / 2),
            began: Time::ZERO,
            arrived: 0,
        })
    }

    /// Bytes above the acknowledged ones that may be sent, once they are more than at the start.
    pub(crate) fn offer(&self) -> Option<NonZeroU32> {
        let size = u32::try_from(self.size).unwrap_or(u32::MAX);
        NonZeroU32::new(size).filter(|_| self.size > FIRST_WINDOW)
    }

    /// Everything below `next` has arrived.
    pub(crate) fn received(&mut self, now: Time, next: u64) {
        if self.size == self.most {
            return;
        }
        let Some(offered) = self.offered else {
            (self.offered, self.edge) = (Some(now), next + self.size);
            (self.began, self.arrived) = (now, next);
            return;
        };
        if next >= self.edge {
            let took = now - offered;
            self.round_trip = if self.round_trip == Duration::ZERO { took } else { self.round_trip.min(took) };
            (self.offered, self.edge) = (Some(now), next + self.size);
        }
        if self.round_trip == Duration::ZERO || now - self.began < self.round_trip {
            return;
        }
        let bytes = next - self.arrived;
        if bytes > self.space {
            let doubled = 2 * bytes + MARGIN * self.mss;
            // In slow start, the next round trip brings as many times more as this one did.
            let growth = u128::from(doubled) * u128::from(bytes - self.space) / u128::from(self.space.max(1));
            let wanted = doubled.saturating_add(u64::try_from(growth).unwrap_or(u64::MAX));
            self.size = wanted.clamp(self.size, self.most);
            self.space = bytes;
        }
        (self.began, self.arrived) = (now, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(most: u64) -> ReceiveWindow {
        let config = TcpConfig { receive_window: Some(most), window_growth: true, mss: 1_000, ..TcpConfig::default() };
        ReceiveWindow::new(&config).expect("it grows")
    }

    fn ms(ms: i64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn only_a_bounded_window_grows() {
        let config = TcpConfig { window_growth: true, ..TcpConfig::default() };
        assert!(ReceiveWindow::new(&config).is_none());
        assert_eq!((config.first_window(), window(3_000_000).size), (u64::MAX, FIRST_WINDOW));
        assert_eq!(window(10_000).size, 10_000);
    }

    /// Slow start with a round trip of 10 ms: 10 segments, 20, 40 and so on. The window never
    /// limits it, although it is known only to twice what has arrived.
    #[test]
    fn slow_start_is_not_limited() {
        let mut window = window(100_000_000);
        let (mut next, mut flight) = (0, 10_000);
        for round in 0..12 {
            // The flight comes evenly over the round trip.
            assert!(flight <= window.size, "round {round}: {flight} of {}", window.size);
            for part in 1..=10 {
                window.received(ms(round * 10 + part), next + flight * part as u64 / 10);
            }
            next += flight;
            flight *= 2;
        }
    }

    /// Jumbo frames: ten of them are more than the first window, which grows nevertheless.
    #[test]
    fn a_full_first_window_grows() {
        let config = TcpConfig { mss: 8_960, receive_window: Some(3 << 20), ..TcpConfig::default() };
        let mut window = ReceiveWindow::new(&TcpConfig { window_growth: true, ..config }).expect("it grows");
        // Seven frames per round trip of 40 ms are all that the window allows.
        for round in 0..3 {
            for frame in 1..=7 {
                window.received(ms(round * 40 + frame), (round as u64 * 7 + frame as u64) * 8_960);
            }
        }
        assert!(window.size > 2 * FIRST_WINDOW, "{}", window.size);
    }

    /// A steady rate makes it grow once: to at least twice what a round trip brings, or the bound.
    #[test]
    fn a_steady_rate_ends_the_growth() {
        for most in [100_000_000, 150_000] {
            let mut window = window(most);
            let mut sizes = Vec::new();
            for i in 1..2_000 {
                // 10 MB/s, so that the first window takes about 7 ms.
                window.received(ms(i), i as u64 * 10_000);
                sizes.push(window.size);
            }
            let end = *sizes.last().expect("many");
            assert!(sizes[100..].iter().all(|&size| size == end));
            let expected = if most == 150_000 { 150_000..150_001 } else { 140_000..2_000_000 };
            assert!(expected.contains(&end), "{end}");
        }
    }

    #[test]
    fn the_first_window_is_not_offered() {
        let mut window = window(3_000_000);
        assert_eq!(window.offer(), None);
        for i in 1..500 {
            window.received(ms(i), i as u64 * 50_000);
        }
        assert_eq!(window.offer().map(|w| u64::from(w.get())), Some(window.size));
    }
}
