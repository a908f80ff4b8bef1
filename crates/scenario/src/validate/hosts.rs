//! Checks the times that hosts take for packets.
//! Refuses what they cannot be combined with.

use super::{Checked, LONGEST_DELAY};
use crate::{HostLatency, PlanSpec, Scenario, Scheme};

impl Checked {
    pub(super) fn host(&mut self, name: &str, scheme: &Scheme, s: &Scenario) {
        let Some(host) = &scheme.host else { return };
        let key = format!("scheme.{name}.host.latency");
        if let HostLatency::Times(t) = host.latency {
            for (of, least, most) in [("send", t.send_least, t.send_most), ("receive", t.receive_least, t.receive_most)]
            {
                let at = |bound: &str| format!("{key}.times.{of}_{bound}");
                self.span(&at("least"), least, LONGEST_DELAY);
                self.span(&at("most"), most, LONGEST_DELAY);
                if least > most {
                    let message = format!("minimum {least}: expected at most the maximum, {most}");
                    self.conflict(&at("least"), &message, None);
                }
            }
        }
        if host.latency == HostLatency::None {
            return;
        }
        let mut refuse = |there: bool, with: &str, help: &str| {
            if there {
                self.conflict(&key, &format!("times of hosts with {with}"), Some(help));
            }
        };
        let help = "omit `host.latency`, or set it to \"none\"";
        refuse(!s.failure.is_empty(), "failures: not supported yet", help);
        refuse(s.fabric.radio.is_some(), "radios: not supported yet", help);
        let pausing = "PFC of switches: not supported, as its headroom counts no packets within hosts";
        refuse(s.fabric.switch.pfc.is_some(), pausing, help);
        let plan = match scheme.plan {
            Some(PlanSpec::Circuits(_)) => "circuits: not supported, as packets would come after their circuit",
            Some(PlanSpec::Flyways(_)) => "flyways: not supported yet",
            _ => return,
        };
        refuse(true, plan, help);
    }
}
