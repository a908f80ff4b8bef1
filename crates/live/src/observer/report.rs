//! The report of an observer, as text and as JSON.
//!
//! It lists violations by port and names the hosts that ignore their slots.

use super::Counters;
use super::histogram::Latency;
use serde::{Deserialize, Serialize};
use std::fmt;
use timeplane_model::{Duration, Rate};

/// A host ignores its slots if more than this share of its frames violates some slot, and [more
/// than a few](FEW) do.
pub const IGNORES_ABOVE: f64 = 0.01;
/// Up to this many violations do not count as ignoring slots, as a stall of the machine may cause
/// them.
pub const FEW: u64 = 3;

/// The report of all ports since the observer was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObserverReport {
    /// The report of each port.
    pub ports: Vec<PortReport>,
    /// Frames of classes that are under slots.
    pub frames: u64,
    /// Frames that arrived after another host's slot had started, or from a host that never had a
    /// slot.
    pub violations: u64,
    /// Violations that did not fit into the log. They are included in `violations`.
    pub unlogged: u64,
    /// Number of slots opened at all ports.
    pub slots: u64,
    /// Slots without frames.
    pub empty_slots: u64,
    /// Time from a closing signal to the last frame of the closed slot, if any.
    pub reaction: Latency,
    /// Time from an opening signal to the first frame.
    pub first_frame: Latency,
    /// Time from the first opening signal of a slot, at any port, to each of its other ones. A
    /// report of an earlier version has none.
    #[serde(default)]
    pub spread: Latency,
    /// How much longer signals took to their ports than the fastest one. A report of an earlier
    /// version has none.
    #[serde(default)]
    pub lateness: Latency,
}

/// Counters and verdict about one host's port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortReport {
    /// Name of the switch's interface.
    pub interface: String,
    /// Frames of classes that are under slots, whenever they came.
    pub frames: u64,
    /// Bytes of these frames, with Ethernet's header.
    pub bytes: u64,
    /// Frames that arrived after another host's slot had started, or before the host's first slot.
    pub violations: u64,
    /// Frames that arrived after the closing signal, but before another host's slot.
    pub reactions: u64,
    /// Number of slots of the host.
    pub slots: u64,
    /// Slots in which the host sent nothing.
    pub empty_slots: u64,
    /// Total length of these slots, in microseconds.
    pub open_us: f64,
    /// Signals to the host.
    pub signals: u64,
    /// Signals older than an earlier one, which hosts ignore.
    pub stale_signals: u64,
    /// Signals with another content than which class is open, which the observer does not support.
    pub other_signals: u64,
    /// Signals with a wrong tag; 0 if the observer does not have the host's key.
    pub forged_signals: u64,
    /// Source address of the last violation.
    pub violator: Option<String>,
    /// Whether the host ignores its slots: [`IGNORES_ABOVE`], [`FEW`].
    pub ignores_slots: bool,
}

impl ObserverReport {
    pub(super) fn of(counters: &Counters) -> Self {
        let ports: Vec<PortReport> = counters
            .ports
            .iter()
            .map(|p| {
                let habit = p.violations > FEW && p.violations as f64 > IGNORES_ABOVE * p.frames as f64;
                PortReport {
                    interface: p.interface.clone(),
                    frames: p.frames,
                    bytes: p.bytes.get(),
                    violations: p.violations,
                    reactions: p.reactions,
                    slots: p.slots,
                    empty_slots: p.empty_slots,
                    open_us: p.open.as_ps() as f64 / 1e6,
                    signals: p.signals,
                    stale_signals: p.stale_signals,
                    other_signals: p.other_signals,
                    forged_signals: p.forged_signals,
                    violator: p.violator.map(|mac| mac.to_string()),
                    ignores_slots: habit,
                }
            })
            .collect();
        let sum = |of: fn(&PortReport) -> u64| ports.iter().map(of).sum();
        Self {
            frames: sum(|p| p.frames),
            violations: sum(|p| p.violations),
            unlogged: counters.unlogged,
            slots: sum(|p| p.slots),
            empty_slots: sum(|p| p.empty_slots),
            reaction: counters.reaction.latency(),
            first_frame: counters.first_frame.latency(),
            spread: counters.spread.latency(),
            lateness: counters.lateness.latency(),
            ports,
        }
    }
    /// Share of the slots' capacity at this rate that was used; `None` without slots.
    pub fn filled(&self, rate: Rate) -> Option<f64> {
        // Preamble, FCS and inter-frame gap are also on the wire.
        let wire: u64 = self.ports.iter().map(|p| p.bytes + 24 * p.frames).sum();
        let open: f64 = self.ports.iter().map(|p| p.open_us).sum();
        let could = rate.bytes_in(Duration::from_ps((open * 1e6) as i64)).get();
        (could > 0).then(|| wire as f64 / could as f64)
    }
    /// The ports whose hosts ignore their slots.
    pub fn culprits(&self) -> impl Iterator<Item = &PortReport> {
        self.ports.iter().filter(|p| p.ignores_slots)
    }
}

impl fmt::Display for ObserverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<10} {:>9} {:>12} {:>10} {:>9} {:>8} {:>7}",
            "port", "frames", "bytes", "violations", "reactions", "slots", "empty"
        )?;
        for p in &self.ports {
            let (name, counts) = (&p.interface, (p.frames, p.bytes, p.violations, p.reactions, p.slots, p.empty_slots));
            let (frames, bytes, violations, reactions, slots, empty) = counts;
            writeln!(f, "{name:<10} {frames:>9} {bytes:>12} {violations:>10} {reactions:>9} {slots:>8} {empty:>7}")?;
        }
        for (what, l, counted) in [
            ("closing signal to last frame", &self.reaction, "slots"),
            ("opening signal to first frame", &self.first_frame, "slots"),
            ("a slot's first opening signal to its others", &self.spread, "signals"),
            ("later than the fastest signal", &self.lateness, "signals"),
        ] {
            if let (Some(p50), Some(p99), Some(max)) = (l.p50_us, l.p99_us, l.max_us) {
                writeln!(f, "{what}: p50 {p50:.1} us, p99 {p99:.1} us, most {max:.1} us ({} {counted})", l.count)?;
            }
        }
        for p in self.ports.iter().filter(|p| p.violations > 0) {
            let does = if p.ignores_slots { "ignores its slots" } else { "was late" };
            let who = p.violator.as_deref().unwrap_or("?");
            writeln!(f, "the host at {} ({who}) {does}: {} of {} frames", p.interface, p.violations, p.frames)?;
        }
        let stale: u64 = self.ports.iter().map(|p| p.stale_signals).sum();
        if stale > 0 {
            writeln!(f, "{stale} signals were older than one before: do two controllers rule?")?;
        }
        if self.violations == 0 {
            writeln!(f, "no violation in {} slots", self.slots)?;
        }
        Ok(())
    }
}
