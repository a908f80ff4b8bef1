//! Checks the `transport.tcp` table of a scheme.
//!
//! Only keys that are given can contradict anything: a preset leaves out what makes no sense.

use super::{Checked, LONGEST_DELAY};
use crate::{AirQueue, CongestionKind, Scenario, Tcp};
use timeplane_model::Duration;

impl Checked {
    pub(super) fn tcp(&mut self, key: &str, tcp: &Tcp, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        self.count(&at("initial_window"), tcp.initial_window, 1, 10_000);
        if let Some(min_rto) = tcp.min_rto {
            self.positive_span(&at("min_rto"), min_rto, Duration::from_secs(60));
        }
        self.count(&at("delayed_ack.segments"), tcp.delayed_ack.segments, 1, 1_000);
        self.span(&at("delayed_ack.timeout"), tcp.delayed_ack.timeout, LONGEST_DELAY);
        if let Some(window) = tcp.receive_window
            && window < s.fabric.mtu
        {
            self.value(&at("receive_window"), window, &format!("at least one packet of the MTU, {}", s.fabric.mtu));
        }
        if tcp.prr == Some(true) && !tcp.sack {
            let message = "proportional rate reduction without SACK: expected `sack = true`";
            self.conflict(&at("prr"), message, Some("omit `sack = false`, or omit `prr`"));
        }
        if tcp.rack == Some(true) && !tcp.sack {
            let message = "RACK without SACK: expected `sack = true`";
            self.conflict(&at("rack"), message, Some("omit `sack = false`, or omit `rack`"));
        }
        if tcp.tail_loss_probe == Some(true) && tcp.resolved().rack != Some(true) {
            let message = "tail loss probes without RACK, which judges their answers: expected `rack = true`";
            self.conflict(&at("tail_loss_probe"), message, Some("set `rack = true`, or omit `tail_loss_probe`"));
        }
        if tcp.window_growth == Some(true) && tcp.receive_window.is_some_and(|w| w.get() <= 65_535) {
            let message = "no effect: a window that grows starts at 65535 B, and `receive_window` is less".to_owned();
            self.warn(&at("window_growth"), message);
        }
        self.keys_without_effect(key, tcp);
        self.marking(key, tcp, s);
    }

    /// Warns of keys that the congestion control ignores.
    fn keys_without_effect(&mut self, key: &str, tcp: &Tcp) {
        use CongestionKind::{Bbr, Bbr3, Cubic, Dctcp, NewReno};
        let kind = tcp.congestion;
        let has_model = matches!(kind, Bbr | Bbr3);
        let keys = [
            ("hystart", tcp.hystart, matches!(kind, Cubic | NewReno), "only CUBIC and NewReno support it"),
            (
                "byte_counting",
                tcp.byte_counting,
                matches!(kind, NewReno | Dctcp),
                "CUBIC and BBR always do, in their way",
            ),
            ("w_max_from_cwnd", tcp.w_max_from_cwnd, kind == Cubic, "only CUBIC has such a window"),
            ("limited_growth", tcp.limited_growth, !has_model, "BBR sets its window by its model"),
            ("prr", tcp.prr, !has_model, "BBR sets its window by its model"),
        ];
        for (name, value, supported, reason) in keys {
            if value == Some(true) && !supported {
                self.warn(&format!("{key}.{name}"), format!("no effect: {reason}"));
            }
        }
    }

    /// Checks ECN against what the switches do.
    fn marking(&mut self, key: &str, tcp: &Tcp, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        let asked = tcp.ecn == Some(true);
        if asked && tcp.congestion == CongestionKind::Bbr {
            self.warn(
                &at("ecn"),
                "BBR version 1 ignores marks: switches mark its packets instead of dropping them".to_owned(),
            );
        }
        let marks = |queue| matches!(queue, AirQueue::Ecn { .. } | AirQueue::CoDel { ecn: true, .. });
        if s.fabric.switch.ecn.is_none() && !s.fabric.radio.as_ref().and_then(|r| r.queue).is_some_and(marks) {
            if tcp.congestion == CongestionKind::Dctcp {
                let help =
                    "set fabric.switch.ecn: \"100 kB\" (65 packets) at 10 Gb/s, \"31 kB\" (20 packets) at 1 Gb/s";
                let message = "DCTCP without marking switches: expected `fabric.switch.ecn`";
                self.conflict(&at("congestion"), message, Some(help));
            } else if asked {
                self.warn(&at("ecn"), "no effect: switches do not mark packets without `fabric.switch.ecn`".to_owned());
            }
        }
    }
}
