//! Checks the `transport.ndp` table of a scheme, and refuses what NDP cannot be combined with.
//!
//! NDP's switches have queues of their own, so those of the fabric must be ordinary ones.

use super::{Checked, LONGEST_DELAY};
use crate::{Ecmp, Ndp, Scenario, Scheme, Topology};
use timeplane_model::{Buffer, Duration, Forwarding};

impl Checked {
    pub(super) fn ndp(&mut self, name: &str, ndp: &Ndp, scheme: &Scheme, s: &Scenario) {
        let key = format!("scheme.{name}.transport.ndp");
        let at = |value: &str| format!("{key}.{value}");
        self.count(&at("window"), ndp.window, 1, 10_000);
        self.count(&at("queue"), ndp.queue, 1, 10_000);
        self.count(&at("headers"), ndp.headers, 1, 1_000_000);
        self.positive_span(&at("rto"), ndp.rto, LONGEST_DELAY);
        if let Some((_, frame)) = Self::frame(&s.fabric)
            && ndp.rto > Duration::ZERO
            && (1..=10_000).contains(&ndp.queue)
            && ndp.rto < frame * i64::from(ndp.queue) * 2
        {
            let message = format!(
                "two full queues of {} packets take {} at {}, so packets that are only late are repeated",
                ndp.queue,
                frame * i64::from(ndp.queue) * 2,
                s.fabric.rate
            );
            self.warn(&at("rto"), message);
        }
        if scheme.ecmp == Ecmp::Packet {
            let message = "no effect: `transport.ndp.spray` chooses the path of each packet".to_owned();
            self.warn(&format!("scheme.{name}.ecmp"), message);
        }
        self.ndp_alone(&key, scheme, s);
    }

    /// Refuses plans, fabrics and changes that NDP does not support.
    fn ndp_alone(&mut self, key: &str, scheme: &Scheme, s: &Scenario) {
        let mut refuse = |there: bool, message: &str, help: &str| {
            if there {
                self.conflict(key, message, Some(help));
            }
        };
        refuse(
            scheme.plan.is_some(),
            "NDP with a plan: expected one of them, as both decide when hosts send",
            "omit the plan, or use `transport.datagrams`, `transport.raw` or `transport.tcp`",
        );
        refuse(
            s.fabric.switch.forwarding == Forwarding::CutThrough,
            "NDP with `cut_through`: expected store-and-forward, as ports choose among whole packets",
            "omit `fabric.switch.forwarding`",
        );
        refuse(
            s.fabric.switch.pfc.is_some(),
            "NDP with PFC: expected one of them, as NDP cuts packets instead of pausing senders",
            "omit `fabric.switch.pfc`, or use another transport",
        );
        refuse(
            matches!(s.fabric.switch.buffer, Buffer::PerInput(_)),
            "NDP with `buffer.per_input`: expected queues at outputs, where packets are cut",
            "omit `fabric.switch.buffer`, or use `per_port` or `shared`",
        );
        refuse(
            s.fabric.radio.is_some(),
            "NDP with radio: not supported, as the queues of radios do not cut packets",
            "omit `fabric.radio`, or use another transport",
        );
        refuse(
            matches!(s.fabric.topology, Topology::Hybrid(_)),
            "NDP on a hybrid fabric: not supported yet",
            "use another topology or another transport",
        );
        refuse(
            !s.change.is_empty(),
            "NDP with rate changes: not supported yet",
            "omit the changes, or use another transport",
        );
    }
}
