//! Reads the experiments of the proxy's lab from a scenario.
//!
//! The simulator and the lab thus run the same link trace, queue and policies.

use super::lab::{LabScheme, ProxyLab};
use super::rate_trace::{RateTrace, RateTraceError};
use std::path::Path;
use timeplane_model::{Bytes, Named};
use timeplane_scenario::{AirQueue, CongestionKind, Scenario, Scheme, Transport};

/// Why this lab does not support a scenario.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A required key is missing.
    #[error("missing {missing}: the proxy's lab needs an air link that follows a trace, and a measured window")]
    Missing {
        /// The missing key.
        missing: &'static str,
    },
    /// A scheme has an unsupported kind.
    #[error("scheme.{scheme}: expected TCP without a plan, alone or with a `proxy`")]
    Scheme {
        /// Name of the scheme.
        scheme: String,
    },
    /// The link trace cannot be emulated.
    #[error("fabric.radio.link.trace: {0}")]
    RateTrace(#[from] RateTraceError),
}

/// A scheme's experiment.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name of the scheme in the scenario.
    pub name: String,
    /// The lab, without what controls the windows.
    pub lab: ProxyLab,
    /// What controls the windows.
    pub scheme: LabScheme,
}

impl Experiment {
    /// Reads one experiment for each scheme of a scenario, in order. File names are relative to
    /// `base`; `prefix` is that of the namespaces.
    ///
    /// The lab uses the first link trace of an air link, that link's queue (in packets of the
    /// fabric's MTU), the fabric's propagation delay between edge and device, and the measurement
    /// window. Wires are those of the machine. The lab's proxy always splits connections, and
    /// steers its own senders without delay.
    ///
    /// # Errors
    /// If the scenario has no such link or window, a scheme is of another kind, or the link
    /// trace cannot be emulated.
    pub fn all(scenario: &Scenario, base: &Path, prefix: &str) -> Result<Vec<Self>, ExperimentError> {
        let missing = |missing| ExperimentError::Missing { missing };
        let radio = scenario.fabric.radio.as_ref().ok_or(missing("fabric.radio"))?;
        let spec = radio.link.iter().find_map(|l| l.trace.as_ref()).ok_or(missing("fabric.radio.link.trace"))?;
        let duration = scenario.window.measure.ok_or(missing("window.measure"))?;
        let packets = match radio.queue {
            Some(AirQueue::DropTail { packets: Some(packets) }) => packets,
            _ => return Err(missing("fabric.radio.queue.drop_tail.packets")),
        };
        let mtu = scenario.fabric.mtu;
        let trace = RateTrace::from_spec(spec, base, duration)?;
        let mut lab = ProxyLab::new(prefix, trace, duration);
        lab.propagation = scenario.fabric.propagation;
        lab.queue = Bytes::new(mtu.get() * u64::from(packets));
        lab.mtu = u16::try_from(mtu.get()).unwrap_or(u16::MAX);
        let of = |(name, scheme): (&String, &Scheme)| {
            let wrong = || ExperimentError::Scheme { scheme: name.clone() };
            let Transport::Tcp(tcp) = &scheme.transport else { return Err(wrong()) };
            let mut lab = lab.clone();
            let scheme = match &scheme.proxy {
                _ if scheme.plan.is_some() => return Err(wrong()),
                None => LabScheme::Kernel(kernel_name(tcp.congestion).to_owned()),
                Some(proxy) => {
                    lab.pace = proxy.pace;
                    lab.report_every = proxy.report_every;
                    lab.report_delay = proxy.report_delay;
                    LabScheme::Proxy(proxy.policy)
                }
            };
            Ok(Self { name: name.clone(), lab, scheme })
        };
        scenario.scheme.iter().map(of).collect()
    }
}

/// Linux's name of a congestion control.
fn kernel_name(congestion: CongestionKind) -> &'static str {
    match congestion {
        CongestionKind::NewReno => "reno",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Duration, Rate};
    use timeplane_protocol::ProxyPolicy;
    use timeplane_scenario::{Algorithms, Loaded};

    fn load(overrides: &[(&str, &str)]) -> Loaded {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/proxy_live.toml");
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), vec![v.to_string()])).collect();
        Loaded::from_file(file, &overrides).unwrap()
    }

    #[test]
    fn a_scenario_is_a_list_of_experiments() {
        let issues = load(&[]).validate(&Algorithms::built_in()).unwrap();
        assert!(issues.is_empty(), "{issues:?}");
        let loaded = load(&[("scheme.cubic.transport.tcp.congestion", "bbr")]);
        let all = Experiment::all(&loaded.scenario, &loaded.base, "tp").unwrap();
        let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["cubic", "reactive", "proactive", "predicted"]);
        assert_eq!(all[0].scheme, LabScheme::Kernel("bbr".to_owned()));
        assert_eq!(all[1].scheme, LabScheme::Proxy(ProxyPolicy::Reactive {}));
        let lab = &all[1].lab;
        assert_eq!((lab.queue, lab.propagation, lab.mtu), (Bytes::mb(6), Duration::from_ms(10), 1500));
        // An eighth of the rate of MCS 12, then of MCS 6 after half a second, then of MCS 1.
        let rate = |ms| lab.trace.at(Duration::from_ms(ms)).rate;
        assert_eq!([rate(0), rate(500), rate(1_000)].map(Rate::as_bps), [187_500_000, 62_500_000, 15_625_000]);
        assert_eq!(rate(499), rate(0));
        // The same packets are lost as in the simulator.
        assert!(lab.trace.phases().iter().all(|p| p.loss < 0.01));
    }

    #[test]
    fn what_the_lab_has_not_is_refused() {
        let refused = |key, value| {
            let loaded = load(&[(key, value)]);
            Experiment::all(&loaded.scenario, &loaded.base, "tp").unwrap_err().to_string()
        };
        assert!(refused("fabric.radio.link.0.trace.varied", "true").contains("varied"));
        assert!(refused("fabric.radio.link.0.trace.beams", "no.csv").contains("no.csv"));
        assert!(refused("fabric.radio.queue", "{ ecn = { mark_at = 9 } }").contains("fabric.radio.queue.drop_tail"));
    }
}
