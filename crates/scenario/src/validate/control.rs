//! Checks the path of control messages: rates of ports, the place of a controller in band, and
//! whether the messages of a plan fit through the controller's port.

use super::{Checked, LONGEST_DELAY, built};
use crate::{ControlSpec, Scenario, TdmaSpec, TimeslotsSpec};
use timeplane_model::{Buffer, Bytes, Duration, Rate};

impl Checked {
    pub(super) fn control(&mut self, key: &str, control: ControlSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.control.{name}");
        match control {
            ControlSpec::Unlimited => {}
            ControlSpec::Network(ports) => {
                self.rate(&at("network.host_rate"), ports.host_rate);
                self.rate(&at("network.controller_rate"), ports.controller_rate);
            }
            ControlSpec::InBand(place) => {
                let hosts = s.fabric.hosts();
                if u128::from(place.controller) >= hosts {
                    let allowed = format!("a host, 0 to {}", hosts.saturating_sub(1));
                    self.value(&at("in_band.controller"), place.controller, &allowed);
                }
                let mut without = |there: bool, what: &str, help: &str| {
                    if there {
                        let message = format!("control messages in band with {what}: not supported yet");
                        self.conflict(&at("in_band"), &message, Some(help));
                    }
                };
                without(s.fabric.radio.is_some(), "air links", "omit `fabric.radio`, or use `control.network`");
                without(s.fabric.switch.pfc.is_some(), "PFC", "omit `fabric.switch.pfc`, or use `control.network`");
                without(
                    matches!(s.fabric.switch.buffer, Buffer::PerInput(_)),
                    "`buffer.per_input`",
                    "use `per_port` or `shared` in `fabric.switch.buffer`, or use `control.network`",
                );
                without(!s.change.is_empty(), "rate changes", "omit `change`, or use `control.network`");
            }
        }
    }

    /// Refuses control messages in band where the controller reaches hosts by ports of its own.
    pub(super) fn out_of_band(&mut self, key: &str, control: ControlSpec, what: &str) {
        if control.in_band().is_some() {
            let message = format!("control messages in band with {what}: not supported yet");
            self.conflict(&format!("{key}.control.in_band"), &message, Some("use `control.network`"));
        }
    }

    /// Refuses what TDMA has beside one controller at one host.
    pub(super) fn tdma_in_band(&mut self, key: &str, slots: &TdmaSpec) {
        for (there, what) in [
            (slots.signals.is_some(), "`signals`"),
            (slots.standby.is_some(), "`standby`"),
            (slots.controllers.is_some(), "`controllers`"),
        ] {
            if there {
                self.out_of_band(key, slots.control, what);
            }
        }
    }

    /// Refuses a plan whose messages to all hosts take longer than the time `until` the next ones:
    /// they would be late for ever.
    pub(super) fn messages_fit(&mut self, key: &str, control: ControlSpec, s: &Scenario, each: Bytes, until: Duration) {
        let Some(fabric) = built(&s.fabric) else { return };
        let usable = |rate: Rate| rate >= Rate::bps(1_000);
        if let ControlSpec::Network(ports) = control
            && !(usable(ports.controller_rate) && usable(ports.host_rate))
        {
            return;
        }
        let takes = control.busy(&fabric, each);
        // Other checks refuse periods and slots without length.
        if takes <= until || until <= Duration::ZERO {
            return;
        }
        let (place, help) = match control {
            ControlSpec::InBand(_) => ("in_band", "plan for longer at a time, or use `control.network`"),
            _ => ("network.controller_rate", "plan for longer at a time, or set a faster port"),
        };
        let message = format!(
            "{} B for each of {} hosts: expected what the controller can send in {}, as then the next messages follow, \
             but they take {}",
            each.get(),
            fabric.hosts(),
            until.to_three_digits(),
            takes.to_three_digits()
        );
        self.conflict(&format!("{key}.control.{place}"), &message, Some(help));
    }

    /// Refuses timeslots whose grants to all hosts take longer than the timeslots.
    pub(super) fn grants_fit(&mut self, key: &str, t: &TimeslotsSpec, s: &Scenario) {
        let Some((_, frame)) = Self::frame(&s.fabric) else { return };
        let slot = t.slot.unwrap_or(frame);
        if Duration::ZERO < slot && slot <= LONGEST_DELAY {
            let batch = slot * i64::from(t.batch.clamp(1, 65_536));
            self.messages_fit(key, t.control, s, t.grants(), batch);
        }
    }
}
