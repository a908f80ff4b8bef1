//! Checks whether the values of a scenario make sense, alone and together, before it runs. Each
//! module checks one table and adds errors and warnings to [`Checked`].

mod algorithms;
mod capture;
mod changes;
mod checks;
mod circuits;
mod collectives;
mod control;
mod fabric;
mod failures;
mod flyways;
mod hosts;
mod ndp;
mod own_fabric;
mod pauses;
mod proxy;
mod radio;
mod rotor;
mod scheme;
mod tcp;
mod tdma;
mod workload;

use crate::error::Problem;
use crate::{Algorithms, FabricSpec, Scenario};
use std::fmt::Display;
use std::path::Path;
use timeplane_model::{Bytes, Duration, Fabric, Link, Rate};

/// An error or a warning at a dotted key.
#[derive(PartialEq)]
pub(crate) struct Note {
    pub key: String,
    pub problem: Problem,
    pub help: Option<String>,
}

/// Findings of a check.
#[derive(Default)]
pub(crate) struct Checked {
    pub errors: Vec<Note>,
    pub warnings: Vec<Note>,
}

/// Longest simulated time; a day of packets takes years to simulate.
const LONGEST_RUN: Duration = Duration::from_secs(86_400);
/// Longest slot, delay or timer.
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// Bits per second of a rate.
const RATES: core::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000_000;
/// A petabyte.
const MOST_BYTES: Bytes = Bytes::new(1_000_000_000_000_000);

/// Checks a scenario whose sweep has been applied.
pub(crate) fn check(scenario: &Scenario, algorithms: &Algorithms, base: &Path) -> Checked {
    let mut c = Checked::default();
    c.head(scenario);
    c.fabric(&scenario.fabric);
    c.deadlocks(scenario);
    c.schedule_file(&scenario.fabric, base);
    let hosts = scenario.fabric.hosts();
    c.workload(scenario, hosts, base);
    c.window(scenario);
    if scenario.scheme.is_empty() {
        c.conflict("scheme", "no scheme: expected at least one", Some("add a table `[scheme.NAME]` with a transport"));
    }
    for (name, scheme) in &scenario.scheme {
        let seen = scenario.seen_by(name).expect("one of its schemes");
        if scheme.fabric.is_some() {
            c.own_fabric(name, &seen, scenario, base);
        }
        c.scheme(name, scheme, &seen, algorithms);
        c.rotor_routing(name, scheme, &seen, algorithms);
        c.host(name, scheme, &seen);
        c.with_radio(name, &seen);
        c.proxy(name, &seen);
    }
    c.capture(scenario);
    c.failures(scenario);
    c.changes(scenario);
    c.pauses(scenario);
    for (i, check) in scenario.check.iter().enumerate() {
        c.check(&format!("check.{i}"), check, scenario);
    }
    c
}

/// Largest packet of a scenario, as far as it can be one.
fn mtu(s: &Scenario) -> u32 {
    u32::try_from(s.fabric.mtu.get()).unwrap_or(u32::MAX).min(65_535)
}

/// Whether a delay is one that no check refuses. Sums of longer ones may overflow.
fn usable(delay: Duration) -> bool {
    !delay.is_negative() && delay <= LONGEST_DELAY
}

/// The fabric with its delays and rates; `None` if it cannot be built, or if one of them is refused
/// where it stands.
fn built(f: &FabricSpec) -> Option<Fabric> {
    let usable = usable(f.switch.latency) && usable(f.propagation);
    let accepted = |l: &Link| self::usable(l.spec.propagation) && RATES.contains(&l.spec.rate.as_bps());
    f.build().ok().filter(|fabric| usable && fabric.links().iter().all(accepted))
}

impl Checked {
    fn error(&mut self, key: &str, problem: Problem, help: Option<&str>) {
        self.errors.push(Note { key: key.to_owned(), problem, help: help.map(str::to_owned) });
    }
    fn value(&mut self, key: &str, found: impl Display, allowed: &str) {
        self.error(key, Problem::Value { found: found.to_string(), allowed: allowed.to_owned() }, None);
    }
    fn conflict(&mut self, key: &str, message: &str, help: Option<&str>) {
        self.error(key, Problem::Conflict(message.to_owned()), help);
    }
    fn warn(&mut self, key: &str, message: String) {
        self.warnings.push(Note { key: key.to_owned(), problem: Problem::Conflict(message), help: None });
    }

    /// Requires a duration in `[0, most]`.
    fn span(&mut self, key: &str, found: Duration, most: Duration) {
        if found.is_negative() {
            self.value(key, found, "at least zero");
        } else if found > most {
            self.value(key, found, &format!("at most {most}"));
        }
    }
    /// Requires a duration in `(0, most]`.
    fn positive_span(&mut self, key: &str, found: Duration, most: Duration) {
        if found == Duration::ZERO {
            self.value(key, found, "more than zero");
        } else {
            self.span(key, found, most);
        }
    }
    fn probability(&mut self, key: &str, found: f64) {
        if !(0.0..1.0).contains(&found) {
            self.value(key, found, "a probability from 0 to below 1");
        }
    }
    fn count(&mut self, key: &str, found: u32, least: u32, most: u32) {
        if !(least..=most).contains(&found) {
            self.value(key, found, &format!("{least} to {most}"));
        }
    }
    fn bytes(&mut self, key: &str, found: Bytes) {
        if found == Bytes::ZERO || found > MOST_BYTES {
            self.value(key, found, "1 B to 1000 TB");
        }
    }
    fn rate(&mut self, key: &str, found: Rate) {
        if !RATES.contains(&found.as_bps()) {
            self.value(key, found, "1 kb/s to 1000 Tb/s");
        }
    }
    fn factor(&mut self, key: &str, found: f64) {
        if !(found > 0.0 && found <= 1e6) {
            self.value(key, found, "a factor above 0, at most 1,000,000");
        }
    }

    /// A name with an extension or a folder must be an existing file. Any other name may be
    /// bundled, which `workload` checks.
    fn file(&mut self, key: &str, name: &str, base: &Path) {
        if name.is_empty() {
            self.conflict(key, "empty file name", None);
        } else if name.contains(['.', '/', '\\']) && !base.join(name).is_file() {
            let looked = base.join(name);
            self.conflict(key, &format!("file `{}` not found", looked.display()), None);
        }
    }

    fn head(&mut self, s: &Scenario) {
        if let Some(name) = &s.name {
            let right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.starts_with('.') || !name.chars().all(right) {
                self.conflict(
                    "name",
                    &format!("invalid folder name `{name}`: expected letters, digits, `_`, `-` and `.`"),
                    None,
                );
            }
        }
        self.count("seeds", s.seeds, 1, 100_000);
        if s.seed > i64::MAX as u64 - u64::from(s.seeds) {
            self.value("seed", s.seed, "a last seed below 2^63");
        }
        for name in s.scheme.keys() {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                let message = format!("invalid scheme name `{name}`: expected letters, digits, `_` and `-`");
                self.conflict(&format!("scheme.{name}"), &message, None);
            }
        }
    }
}
