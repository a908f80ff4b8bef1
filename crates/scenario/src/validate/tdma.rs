//! Checks TDMA plans: slots, clocks, standby controllers, relays and control frames. Warns of a
//! guard time that is too short for clocks or reactions.

use super::{Checked, LONGEST_DELAY, LONGEST_RUN, MOST_BYTES, built, mtu, usable};
use crate::{FabricSpec, Reaction, Scenario, SignalSpec, TdmaSpec};
use timeplane_model::{Bytes, Duration};
use timeplane_protocol::{Message, size};

impl Checked {
    /// `spread` is the variation of the hosts' own sending times.
    pub(super) fn tdma(&mut self, key: &str, slots: &TdmaSpec, spread: Duration, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.positive_span(&at("slot"), slots.slot, LONGEST_DELAY);
        let f = &s.fabric;
        if f.mtu.get() <= 65_535 && f.rate.as_bps() >= 1_000 {
            let wire = f.framing.wire(f.mtu.get() as u32);
            let frame = f.rate.time_for(Bytes::new(wire.into()));
            if Duration::ZERO < slots.slot && slots.slot < frame {
                let allowed = format!("at least {frame}, the time of a frame of the MTU at {}", f.rate);
                self.value(&at("slot"), slots.slot, &allowed);
            }
        }
        self.no_single(key, s);
        self.span(&at("guard"), slots.guard, LONGEST_DELAY);
        self.count(&at("round_slots"), slots.round_slots, 1, 65_536);
        self.span(&at("control_latency"), slots.control_latency, LONGEST_DELAY);
        self.probability(&at("control_loss"), slots.control_loss);
        self.span(&at("compute_time"), slots.compute_time, LONGEST_DELAY);
        self.span(&at("clock_error"), slots.clock_error, LONGEST_DELAY);
        self.clocks(key, slots);
        self.tdma_extras(key, slots, f);
        if let Some(signals) = &slots.signals {
            self.signals(key, slots, signals, spread, f);
        }
        self.standby(key, slots, s);
        self.controllers(key, slots, f);
        self.tdma_in_band(key, slots);
        self.tdma_times(key, slots, spread, s);
    }

    /// Checks receive buffers and the share of short flows.
    fn tdma_extras(&mut self, key: &str, slots: &TdmaSpec, f: &FabricSpec) {
        let at = |name: &str| format!("{key}.{name}");
        if let Some(receive) = &slots.receive {
            let frame = Self::frame(f).map_or(Bytes::new(1), |(wire, _)| wire);
            if receive.buffer < frame || receive.buffer > MOST_BYTES {
                let allowed = format!("room for one frame of the MTU, {frame} on the wire, at most {MOST_BYTES}");
                self.value(&at("receive.buffer"), receive.buffer, &allowed);
            }
            self.rate(&at("receive.drain"), receive.drain);
        }
        if let Some(background) = &slots.background {
            let links = built(f).and_then(|fabric| fabric.links().iter().map(|l| l.spec.rate).min());
            let slowest = links.unwrap_or(f.rate);
            if background.rate.as_bps() < 1_000 || background.rate >= slowest {
                let allowed = format!("1 kb/s to less than the slowest link, {slowest}, as slots get the rest");
                self.value(&at("background.rate"), background.rate, &allowed);
            }
            self.bytes(&at("background.below"), background.below);
        }
    }

    /// Compares the guard time with the clocks, and the control loop with the round.
    fn tdma_times(&mut self, key: &str, slots: &TdmaSpec, spread: Duration, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        let between = [slots.relay_latency(), slots.relay_error()];
        if [slots.slot, slots.guard, slots.clock_error, slots.control_latency, slots.compute_time]
            .into_iter()
            .chain(between)
            .all(usable)
        {
            let apart = slots.clock_bound() * 2 + spread;
            if slots.signals.is_none() && apart > slots.guard {
                let message = format!(
                    "clocks{} may differ by {apart}, more than the guard time, {}: slots of different hosts overlap",
                    if spread > Duration::ZERO { " and sending times" } else { "" },
                    slots.guard
                );
                self.warn(&at("clock_error"), message);
            }
            let round = (slots.slot + slots.guard) * i64::from(slots.round_slots.min(65_536));
            let Some(fabric) = built(&s.fabric) else { return };
            let ahead = (slots.control_way(&fabric, mtu(s)) * 2 + slots.compute_time).to_three_digits();
            let idle = (slots.slot + slots.guard).max(slots.compute_time);
            self.messages_fit(key, slots.control, s, slots.grants(), round.max(slots.compute_time));
            self.messages_fit(key, slots.control, s, Message::most_of_grants(0, size::GRANT), idle);
            if ahead > round {
                let message = format!("reports, planning and grants take {ahead}, longer than a round, {round}");
                self.warn(&at("round_slots"), message);
            }
        }
    }

    fn standby(&mut self, key: &str, slots: &TdmaSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.standby.{name}");
        let Some(standby) = slots.standby else { return };
        if let Some(latency) = standby.latency {
            self.span(&at("latency"), latency, LONGEST_DELAY);
        }
        let Some(takeover) = standby.takeover else { return };
        self.positive_span(&at("takeover"), takeover, LONGEST_RUN);
        let spans = [slots.slot, slots.guard, slots.compute_time, slots.clock_error, takeover];
        let latencies = [slots.control_latency, slots.peer_latency(), slots.relay_latency(), slots.relay_error()];
        let mut spans = spans.into_iter().chain(latencies);
        let usable = |d: Duration| !d.is_negative() && d <= LONGEST_RUN;
        if takeover == Duration::ZERO || !spans.all(usable) || slots.round_slots > 65_536 {
            return;
        }
        let Some(fabric) = built(&s.fabric) else { return };
        let least = slots.least_takeover(&fabric, mtu(s)).to_three_digits();
        if takeover < least {
            let message = format!(
                "takeover after {takeover}: expected at least {least}, a round and its messages, or a working controller is replaced"
            );
            self.conflict(&at("takeover"), &message, Some("set a longer `takeover`, or shorter rounds"));
        }
    }

    /// Checks the relays.
    fn controllers(&mut self, key: &str, slots: &TdmaSpec, f: &FabricSpec) {
        let at = |name: &str| format!("{key}.controllers.{name}");
        let Some(controllers) = slots.controllers else { return };
        let hosts = f.hosts();
        if controllers.count == 0 || u128::from(controllers.count) > hosts {
            self.value(&at("count"), controllers.count, &format!("1 to {hosts}, the number of hosts"));
        }
        self.span(&at("clock_error"), controllers.clock_error, LONGEST_DELAY);
        if let Some(latency) = controllers.latency {
            self.span(&at("latency"), latency, LONGEST_DELAY);
        }
        if let Some(loss) = controllers.loss {
            self.probability(&at("loss"), loss);
        }
    }

    /// Checks clock drift and beacons.
    fn clocks(&mut self, key: &str, slots: &TdmaSpec) {
        let at = |name: &str| format!("{key}.{name}");
        if !(0.0..=1_000.0).contains(&slots.clock_drift) {
            self.value(&at("clock_drift"), slots.clock_drift, "0 to 1,000 parts per million");
            return;
        }
        if let Some(every) = slots.resync {
            self.positive_span(&at("resync"), every, LONGEST_RUN);
        } else if slots.clock_drift > 0.0 && slots.signals.is_none() && !slots.guard.is_negative() {
            let apart = 2.0 * slots.clock_drift * 1e-6;
            let spare = slots.guard.as_ps().saturating_sub(slots.clock_error.as_ps().saturating_mul(2)).max(0);
            let after = Duration::from_ps((spare as f64 / apart).min(1e18) as i64);
            let message =
                format!("without beacons (`resync`), clocks differ by more than the guard time after {after}");
            self.warn(&at("clock_drift"), message);
        }
    }

    /// Checks how control frames are sent and how hosts react. Returns whether no delay is refused.
    pub(super) fn signal_frames(&mut self, key: &str, signals: &SignalSpec) -> bool {
        let at = |name: &str| format!("{key}.{name}");
        self.span(&at("frame_gap"), signals.frame_gap, LONGEST_DELAY);
        self.positive_span(&at("hold"), signals.hold, LONGEST_DELAY);
        if let Reaction::Times(t) = signals.reaction {
            let bounds = [("off", t.off_least, t.off_most), ("on", t.on_least, t.on_most)];
            for (name, least, most) in bounds {
                self.span(&at(&format!("reaction.times.{name}_least")), least, LONGEST_DELAY);
                self.span(&at(&format!("reaction.times.{name}_most")), most, LONGEST_DELAY);
                if least > most {
                    let message = format!("minimum {least}: expected at most the maximum, {most}");
                    self.conflict(&at(&format!("reaction.times.{name}_least")), &message, None);
                }
            }
        }
        let t = signals.reaction.times();
        let reactions = [t.off_least, t.off_most, t.on_least, t.on_most];
        [signals.frame_gap, signals.hold].into_iter().chain(reactions).all(usable)
    }

    /// Checks that control frames can open and close gates in time.
    fn signals(&mut self, key: &str, slots: &TdmaSpec, signals: &SignalSpec, spread: Duration, f: &FabricSpec) {
        let at = |name: &str| format!("{key}.signals.{name}");
        let are_usable =
            self.signal_frames(&format!("{key}.signals"), signals) && usable(slots.slot) && usable(slots.guard);
        let times = signals.reaction.times();
        let Some((frame, line)) = Self::frame(f).filter(|_| are_usable) else { return };
        if signals.hold < slots.slot {
            let message = format!(
                "frames open gates for at most {}, less than the slot, {}: the rest is unused",
                signals.hold, slots.slot
            );
            self.warn(&at("hold"), message);
        }
        // If a gate opens late and closes early, the rest must hold a frame.
        let left = slots.slot + times.off_least - times.on_most;
        if left < line {
            let message = format!(
                "a slot that may be {} shorter due to reaction times: expected room for a frame, {line}",
                times.on_most - times.off_least
            );
            self.conflict(&format!("{key}.slot"), &message, Some("set a longer slot, or a faster `signals.reaction`"));
        }
        let Some(fabric) = built(f) else { return };
        // Frames open and close each gate, hence twice the skew.
        let skew = signals.skew(&fabric, slots.relays());
        if skew * 2 > slots.slot + slots.guard {
            let message =
                format!("the control frames of a slot take {}: expected at most a slot with its guard time", skew * 2);
            self.conflict(&at("frame_gap"), &message, Some("set more `interfaces` or `controllers`, or longer slots"));
        }
        if slots.relay_error().is_negative() || slots.relay_error() > LONGEST_DELAY {
            return;
        }
        let least = signals.least_guard(&fabric, frame, slots.relays()) + slots.relay_error() * 2 + spread;
        if slots.guard < least {
            let message = format!(
                "with signals, slots overlap unless the guard time is at least {least}, for the jitter of reactions, the skew of frames{}{} and a \
                 frame in progress; it is {}",
                if slots.relay_error() > Duration::ZERO { ", the clocks of two relays" } else { "" },
                if spread > Duration::ZERO { ", the sending times of hosts" } else { "" },
                slots.guard
            );
            self.warn(&format!("{key}.guard"), message);
        }
    }
}
