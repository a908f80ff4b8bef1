//! Checks circuit switches and their plans: rates and dark times, whether the configurations of a
//! period fit into it, and whether hosts can be paused in time.

use super::{Checked, LONGEST_DELAY, built, usable};
use crate::{CircuitAlgorithm, CircuitsSpec, DarkTime, HybridSpec, Problem, Retune, Scenario, Topology};
use timeplane_model::{Duration, Rate};
use timeplane_protocol::numbering::MOST_CIRCUIT_HOSTS;
use timeplane_schedule::circuits::MOST_STEPS;

impl Checked {
    pub(super) fn hybrid(&mut self, h: &HybridSpec, line: Rate) {
        let at = |name: &str| format!("fabric.topology.hybrid.{name}");
        self.rate(&at("packet_rate"), h.packet_rate);
        if h.packet_rate >= line {
            let message = format!("the packet switch is as fast as a host's link, {line}: circuits have no benefit");
            self.warn(&at("packet_rate"), message);
        }
        self.count(&at("multiplexer_frames"), h.multiplexer_frames, 1, 10_000);
        let times = h.dark.times();
        let key = match h.dark {
            DarkTime::Fixed(_) => at("dark.fixed"),
            _ => at("dark"),
        };
        self.span(&key, times.least, LONGEST_DELAY);
        self.span(&key, times.most, LONGEST_DELAY);
        if times.least > times.most {
            self.conflict(
                &key,
                &format!(
                    "at least {} and at most {}: expected bounds that a dark time can meet",
                    times.least, times.most
                ),
                None,
            );
        }
    }

    /// Parameters of the scheduler, which not all of them have.
    fn tuning(&mut self, key: &str, c: &CircuitsSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        let name = c.scheduler.name();
        if c.day.is_some() && !c.has(CircuitAlgorithm::has_day) {
            let message = format!("`{name}` has no days of fixed length: expected no `day`");
            self.conflict(&at("day"), &message, Some("`max_weight` and `round_robin` have them"));
        }
        match c.hysteresis {
            Some(_) if !c.has(CircuitAlgorithm::has_hysteresis) => {
                let message = format!("`{name}` has no hysteresis: expected no `hysteresis`");
                self.conflict(&at("hysteresis"), &message, Some("`cover_all` and `cover_most` have it"));
            }
            Some(factor) if !(1.0..=1000.0).contains(&factor) => {
                self.value(&at("hysteresis"), factor, "a factor from 1 to 1000");
            }
            _ => {}
        }
        if c.reorder && !c.has(CircuitAlgorithm::has_rounds) {
            let message = format!("`{name}` has no rounds: expected `reorder = false`");
            self.conflict(&at("reorder"), &message, Some("`round_robin` has them"));
        }
        match c.granularity {
            Some(_) if !c.has(CircuitAlgorithm::has_granularity) => {
                let message = format!("`{name}` has no steps to choose: expected no `granularity`");
                self.conflict(&at("granularity"), &message, Some("`adjust` has them"));
            }
            Some(steps) => {
                let hosts = u32::try_from(s.fabric.hosts()).unwrap_or(u32::MAX);
                self.count(&at("granularity"), steps, 1, (MOST_STEPS / hosts.max(1)).max(1));
            }
            None => {}
        }
    }

    /// Circuits need a part of the hosts' links that packets leave. Without one, or if it is too
    /// slow for a frame in a period, demand waits for circuits and the run never ends.
    fn room_for_circuits(&mut self, key: &str, c: &CircuitsSpec, hybrid: &HybridSpec, s: &Scenario) {
        let (line, packet) = (s.fabric.rate, hybrid.packet_share());
        let left = line.as_bps().saturating_sub(c.reserved(packet).as_bps());
        // A frame of the MTU, in bit.
        let frame = 8.0 * f64::from(s.fabric.framing.wire(super::mtu(s)));
        let least = (frame / c.period.as_secs_f64().max(1e-12)).ceil();
        let share = c.reserved_share();
        // Values that are wrong by themselves are reported where they are.
        if left as f64 >= least || !share.is_finite() || hybrid.hosts_per_tor == 0 {
            return;
        }
        // In three digits, rounded down.
        let most = (line.as_bps() as f64 - least).max(0.0) / share * (hybrid.packet_rate.as_bps() as f64)
            / (packet.as_bps() as f64).max(1.0);
        let mut digit = 1u64;
        while most as u64 / digit >= 1000 {
            digit *= 10;
        }
        let most = Rate::bps(most as u64 / digit * digit);
        let own = key.strip_prefix("scheme.").and_then(|rest| s.scheme.get(rest.strip_suffix(".plan.circuits")?));
        let own = own.and_then(|scheme| scheme.fabric.as_ref()).is_some_and(|fabric| fabric.topology.is_some());
        let fabric = if own { key.replace("plan.circuits", "fabric") } else { "fabric".to_owned() };
        let allowed = format!(
            "up to {most}: `{key}` keeps {share:.3} of the packet switch's rate on a host's link, {line}, and circuits \
             need {} for a frame in a period",
            Rate::bps(least as u64)
        );
        let problem = Problem::Value { found: hybrid.packet_rate.to_string(), allowed };
        let help = "`limits = false` or `packets = false` keeps nothing; a smaller `unreported` keeps less";
        self.error(&format!("{fabric}.topology.hybrid.packet_rate"), problem, Some(help));
    }

    pub(super) fn circuits(&mut self, key: &str, c: &CircuitsSpec, s: &Scenario) {
        let at = |name: &str| format!("{key}.{name}");
        let Topology::Hybrid(hybrid) = &s.fabric.topology else {
            let help = "topology.hybrid = { tors = 8, hosts_per_tor = 1, packet_rate = \"1 Gb/s\" } has one";
            return self.conflict(key, "no circuit switch: expected a hybrid fabric", Some(help));
        };
        if s.fabric.hosts() > u128::from(MOST_CIRCUIT_HOSTS) {
            let message = format!(
                "too many hosts: expected at most {MOST_CIRCUIT_HOSTS}, as a class has 11 bits and each host uses three"
            );
            self.conflict(key, &message, None);
        }
        if c.scheduler == CircuitAlgorithm::Sunflow.into() && hybrid.retune == Retune::AllStop {
            let message = "`sunflow` with a switch that darkens all ports: expected one that darkens moved ports only";
            self.conflict(&at("scheduler"), message, Some("fabric.topology.hybrid.retune = \"moved\""));
        }
        self.tuning(key, c, s);
        self.no_single(key, s);
        let signals_usable = self.signal_frames(&at("signals"), &c.signals);
        self.out_of_band(key, c.control, "circuits, whose racks send control frames");
        self.probability(&at("control_loss"), c.control_loss);
        self.probability(&at("acknowledgements"), c.acknowledgements);
        if !(0.0..=1.0).contains(&c.unreported) {
            self.value(&at("unreported"), c.unreported, "a share from 0 to 1");
        }
        for (name, span) in [("dark", c.dark), ("control_latency", c.control_latency), ("compute_time", c.compute_time)]
        {
            self.span(&at(name), span, LONGEST_DELAY);
        }
        self.positive_span(&at("period"), c.period, LONGEST_DELAY);
        self.positive_span(&at("least_open"), c.least_open, LONGEST_DELAY);
        if ![c.dark, c.period, c.least_open].into_iter().all(usable) || c.least_open == Duration::ZERO {
            return;
        }
        if let Some((_, frame)) = Self::frame(&s.fabric)
            && c.least_open < frame
        {
            let allowed = format!("at least {frame}, the time of a frame of the MTU at {}", s.fabric.rate);
            self.value(&at("least_open"), c.least_open, &allowed);
        }
        if let Some(day) = c.day.filter(|_| c.has(CircuitAlgorithm::has_day)) {
            let (least, most) = (c.least_open, c.period - c.dark);
            if !(least..=most).contains(&day) {
                let allowed = format!("`least_open` ({least}) to what `dark` leaves of the period ({most})");
                self.value(&at("day"), day, &allowed);
            }
        }
        if c.period > Duration::ZERO {
            self.room_for_circuits(key, c, hybrid, s);
        }
        let each = c.dark + c.least_open;
        if each > c.period {
            let allowed =
                format!("a dark time that, with `least_open` ({}), fits into a period ({})", c.least_open, c.period);
            self.value(&at("dark"), c.dark, &allowed);
        } else if let Some(count) = c.configurations {
            let fit = (c.period.as_ps() / each.as_ps()) as u32;
            if count == 0 || count > fit {
                let allowed = format!("1 to {fit}: each takes at least {each} of a period of {}", c.period);
                self.value(&at("configurations"), count, &allowed);
            }
        }
        let Some(fabric) = built(&s.fabric) else { return };
        self.messages_fit(key, c.control, s, c.messages(&fabric), c.period);
        let dark = hybrid.dark.times().most;
        if !(signals_usable && usable(c.control_latency) && usable(dark)) {
            return;
        }
        let needed = c.stop(&fabric, super::mtu(s)) + dark;
        if c.dark < needed {
            let message = format!(
                "pausing hosts and changing the switch can take {needed}, longer than {}: frames are lost",
                c.dark
            );
            self.warn(&at("dark"), message);
        }
    }
}
