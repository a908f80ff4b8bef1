//! Plans of timeslots on real hosts: which of them are unsupported.
//!
//! A thread of each agent sends packets at their times, by a clock that is not exactly the
//! controller's. So a timeslot must be longer than its packet.

use timeplane_model::{Bytes, Duration, Fabric, HostId};
use timeplane_scenario::TimeslotsSpec;
use timeplane_schedule::SlotFill;

/// The least time of a timeslot besides that of its packet: twice the error of a host's clock, and
/// the lateness of its sender. `docs/live.md` has the measurements.
pub const LEAST_MARGIN: Duration = Duration::from_us(1500);

/// What real hosts do not support of the plan.
pub(super) fn refuse(spec: &TimeslotsSpec, fabric: &Fabric, mtu: u32) -> Result<(), String> {
    if spec.fill != SlotFill::Packet {
        return Err("it fills timeslots with several packets: expected `fill = \"packet\"`".to_owned());
    }
    if !spec.classes.is_empty() {
        return Err("it orders flows by size, which agents do not know: expected no `classes`".to_owned());
    }
    if spec.phase > Duration::ZERO {
        return Err("it gives hosts a phase: expected `phase` of 0".to_owned());
    }
    if spec.control_loss > 0.0 {
        return Err("it loses messages, but grants travel over TCP, which loses none".to_owned());
    }
    let link = &fabric.link(fabric.uplink(HostId(0))).spec;
    let frame = link.rate.time_for(Bytes::new(u64::from(link.framing.wire(mtu))));
    let (slot, least) = (spec.slot.unwrap_or(frame), frame + LEAST_MARGIN);
    if slot < least {
        return Err(format!(
            "its timeslots of {slot} are too short: expected `slot` of at least {least}, which is {frame} for a packet \
             and {LEAST_MARGIN} for the clocks and the sender of a host"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::LivePlan;
    use timeplane_live::controller::Plan;
    use timeplane_protocol::wire::SignalEncoding;

    fn plan(keys: &str) -> Result<LivePlan, String> {
        let text = format!(
            "[fabric]\ntopology.single_switch = {{ hosts = 4 }}\nrate = \"1 Gb/s\"\n[workload.shuffle]\nbytes = \"1 kB\"\n\
             [scheme.slots]\ntransport.raw = {{}}\n[scheme.slots.plan.timeslots]\n{keys}"
        );
        LivePlan::new(&toml::from_str(&text).unwrap(), "slots").map_err(|e| e.to_string())
    }

    #[test]
    fn timeslots_that_hosts_cannot_keep_are_refused_with_the_least_length() {
        let good = plan("slot = \"1513 us\"").unwrap();
        let host = good.host(SignalEncoding::default()).unwrap();
        assert!(host.timeslots && host.signals.is_none() && host.late_after.is_none() && !good.by_signal());
        for (keys, words) in [
            ("", &["timeslots of 12.304 us", "at least 1.512304 ms", "12.304 us for a packet"][..]),
            ("slot = \"1512 us\"", &["timeslots of 1.512 ms are too short"]),
            ("slot = \"2 ms\"\nfill = \"packets\"", &["`fill = \"packet\"`"]),
            ("slot = \"2 ms\"\nclasses = [\"10 kB\"]", &["no `classes`"]),
            ("slot = \"2 ms\"\nphase = \"1 us\"", &["`phase` of 0"]),
            ("slot = \"2 ms\"\ncontrol_loss = 0.1", &["travel over TCP"]),
        ] {
            let why = plan(keys).unwrap_err();
            assert!(words.iter().all(|w| why.contains(w)), "{keys}: {why}");
        }
    }
}
