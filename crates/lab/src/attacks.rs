//! Attacks on a [`Bed`] of running daemons, what they did to earlier daemons, and what they do now.
//!
//! [`ATTACKS`] lists them. Each gets a bed of its own.

pub mod forging;
mod list;

pub use list::ATTACKS;

use crate::bed::{Bed, GUARD};
use crate::captures;
use crate::hosts::HostsParameters;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::path::Path;
use std::time::Duration as Wait;
use timeplane_live::daemons::Failure;

/// An attack on daemons.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Name on the command line.
    pub name: &'static str,
    /// What happens.
    pub about: &'static str,
    /// What it did to earlier daemons.
    pub before: &'static str,
    /// Whether it must hold on every machine. Other verdicts depend on the speed of the machine, or
    /// show what the daemons do not promise.
    pub is_exact: bool,
    change: fn(&mut HostsParameters),
    carry_out: fn(&mut Bed, Wait) -> Result<Finding, Failure>,
}

/// What an attack has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was measured.
    pub after: String,
    /// Whether the daemons have kept their promises.
    pub held: bool,
    /// Whether frames in foreign slots alone speak against them, and the machine woke a thread with
    /// the daemons' priority later than these frames were, and than the guard: they may have left
    /// in time.
    pub machine_was_late: bool,
}

impl Finding {
    fn new(after: String, held: bool) -> Self {
        Self { after, held, machine_was_late: false }
    }
}

impl Attack {
    /// Carries it out for about this time on a new bed of `program`. Namespaces begin with `name`.
    ///
    /// # Errors
    /// If the bed does not start or cannot be changed.
    pub fn run(&self, program: &Path, name: &str, time: Wait) -> Result<Finding, Failure> {
        let mut bed = Bed::start(program, name, self.change)?;
        if !bed.all_deliver(Wait::from_secs(30)) {
            return Err("no streams before the attack".into());
        }
        bed.settle();
        bed.lag.take();
        let mut finding = (self.carry_out)(&mut bed, time)?;
        let outcome = bed.traffic.check(Wait::from_secs(10));
        // Captures have the kernel's stamps of arrival, so they judge. What an attack has taken of
        // them is in its own finding.
        let foreign = bed.judged(captures::now()).1;
        let lost = [(outcome.lost_bytes, "B delivered and not read"), (outcome.wrong, "wrong bytes")];
        for (count, what) in lost.into_iter().filter(|l| l.0 > 0) {
            finding.held = false;
            finding.after = format!("{count} {what}; {}", finding.after);
        }
        if !foreign.is_empty() {
            let (late, lag) = (captures::latest(&foreign), bed.lag.take());
            finding.machine_was_late = finding.held && lag > late.max(GUARD);
            finding.held = false;
            finding.after = format!(
                "{} frames in foreign slots, up to {late:.1?} late, where the machine was up to {lag:.1?} late; {}",
                foreign.len(),
                finding.after
            );
        }
        Ok(finding)
    }
}

/// A table of attacks and their findings.
pub fn table(findings: &[(&Attack, Finding)]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["attack", "before", "after", "verdict"]);
    for (attack, finding) in findings {
        let verdict = if finding.held { "holds" } else { "broken" };
        table.add_row([attack.about, attack.before, &finding.after, verdict]);
    }
    table.to_string()
}
