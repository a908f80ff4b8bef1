//! Checks pauses: their times, that the hosts exist, and that the fabric and all schemes support
//! them.

use super::{Checked, LONGEST_RUN};
use crate::{Pause, PausedPackets, Scenario, Transport};
use timeplane_model::Duration;

/// Shortest time between two pauses, because each end of a pause costs the simulator an event.
const SHORTEST_OPEN: Duration = Duration::from_us(1);

impl Checked {
    pub(super) fn pauses(&mut self, s: &Scenario) {
        if s.pause.is_empty() {
            return;
        }
        for (i, pause) in s.pause.iter().enumerate() {
            self.pause(&format!("pause.{i}"), pause, s);
        }
        if s.fabric.radio.is_some() {
            let message = "pauses on a fabric with radios: not supported yet";
            self.conflict("pause.0", message, Some("omit `fabric.radio` or the pauses"));
        }
        for (name, scheme) in &s.scheme {
            if scheme.plan.is_some() {
                let message = format!("pauses with the plan of `scheme.{name}`: not supported, as plans pause hosts");
                self.conflict("pause.0", &message, Some("use schemes without a plan"));
            }
            if matches!(scheme.transport, Transport::Raw(_)) {
                let message = format!("pauses with the raw frames of `scheme.{name}`: not supported yet");
                self.conflict("pause.0", &message, Some("use `transport.tcp` or `transport.datagrams`"));
            }
        }
    }

    fn pause(&mut self, key: &str, pause: &Pause, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        let count = s.fabric.hosts();
        match &pause.hosts {
            Some(hosts) if hosts.is_empty() => {
                let help = "omit `hosts` to pause all of them";
                self.conflict(&at("hosts"), "no hosts: expected at least one", Some(help));
            }
            Some(hosts) => {
                for (i, &host) in hosts.iter().enumerate().filter(|(_, h)| u128::from(**h) >= count) {
                    let allowed = format!("a host from 0 to {}", count.saturating_sub(1));
                    self.value(&at(&format!("hosts.{i}")), host, &allowed);
                }
            }
            None => {}
        }
        self.span(&at("at"), pause.at, LONGEST_RUN);
        self.positive_span(&at("closed"), pause.closed, LONGEST_RUN);
        match pause.open {
            Some(open) if open < SHORTEST_OPEN => {
                self.value(&at("open"), open, &format!("at least {SHORTEST_OPEN}"));
            }
            Some(open) => self.span(&at("open"), open, LONGEST_RUN),
            None => {}
        }
        let acknowledges = s.scheme.values().any(|c| matches!(c.transport, Transport::Tcp(_) | Transport::Ndp(_)));
        if pause.what == PausedPackets::Acknowledgements && !acknowledges {
            let message = "no acknowledgements: expected a scheme with `transport.tcp` or `transport.ndp`";
            self.conflict(&at("what"), message, Some("what = \"data\""));
        }
    }
}
