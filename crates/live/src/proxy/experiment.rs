//! The experiments of a lab that a scenario describes, so that both worlds run the same.

use super::course::{Course, CourseError};
use super::lab::{LabControl, ProxyLab};
use std::path::Path;
use timeplane_model::Bytes;
use timeplane_scenario::agents::window_policy;
use timeplane_scenario::{AirQueue, Congestion, Control, Scenario, Transport};

/// Why a scenario is no experiment of this lab.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// What the lab is made of is missing.
    #[error("{missing}: the proxy's lab has one air link that follows a course, and a measured window")]
    Missing {
        /// The key.
        missing: &'static str,
    },
    /// A control of another kind.
    #[error("control.{control}: TCP without a plan, alone or with a `proxy`, is what the proxy's lab has")]
    Control {
        /// Which one.
        control: String,
    },
    /// The course cannot be emulated.
    #[error("fabric.radio.link.course: {0}")]
    Course(#[from] CourseError),
}

/// An experiment and what it is called.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name of the scenario's control.
    pub name: String,
    /// Everything but who controls.
    pub lab: ProxyLab,
    /// Who controls.
    pub control: LabControl,
}

impl Experiment {
    /// One for each control of a scenario, in its order; files are looked up in `base`, and namespaces are named after `prefix`.
    ///
    /// The lab has the course of the first air link that has one, its queue (packets of the fabric's MTU), the fabric's propagation between
    /// edge and device, and the measured window. Wires are what they are. The lab's proxy always splits connections, and what it says to its own
    /// senders takes no time.
    ///
    /// # Errors
    /// Where the scenario has no such link or window, a control is of another kind, or the course cannot be emulated.
    pub fn all(scenario: &Scenario, base: &Path, prefix: &str) -> Result<Vec<Self>, ExperimentError> {
        let missing = |missing| ExperimentError::Missing { missing };
        let radio = scenario.fabric.radio.as_ref().ok_or(missing("fabric.radio"))?;
        let spec = radio.link.iter().find_map(|l| l.course.as_ref()).ok_or(missing("fabric.radio.link.course"))?;
        let duration = scenario.window.measure.ok_or(missing("window.measure"))?;
        let packets = match radio.queue {
            Some(AirQueue::DropTail { packets: Some(packets) }) => packets,
            _ => return Err(missing("fabric.radio.queue.drop_tail.packets")),
        };
        let mtu = scenario.fabric.mtu;
        let course = Course::from_spec(spec, base, duration)?;
        let mut lab = ProxyLab::new(prefix, course, duration);
        lab.propagation = scenario.fabric.propagation;
        lab.queue = Bytes::new(mtu.get() * u64::from(packets));
        lab.mtu = u16::try_from(mtu.get()).unwrap_or(u16::MAX);
        let of = |(name, control): (&String, &Control)| {
            let wrong = || ExperimentError::Control { control: name.clone() };
            let Transport::Tcp(tcp) = &control.transport else { return Err(wrong()) };
            let mut lab = lab.clone();
            let control = match &control.proxy {
                _ if control.plan.is_some() => return Err(wrong()),
                None => LabControl::Kernel(kernel_name(tcp.congestion).to_owned()),
                Some(proxy) => {
                    lab.pace = proxy.pace;
                    lab.report_every = proxy.report_every;
                    lab.report_delay = proxy.report_delay;
                    LabControl::Proxy(window_policy(proxy.policy))
                }
            };
            Ok(Self { name: name.clone(), lab, control })
        };
        scenario.control.iter().map(of).collect()
    }
}

/// What Linux calls it.
fn kernel_name(congestion: Congestion) -> &'static str {
    match congestion {
        Congestion::NewReno => "reno",
        Congestion::Cubic => "cubic",
        Congestion::Dctcp => "dctcp",
        Congestion::Bbr => "bbr",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Duration, Rate};
    use timeplane_protocol::Policy;
    use timeplane_scenario::Loaded;

    fn load(overrides: &[(&str, &str)]) -> Loaded {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/proxy_live.toml");
        let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), vec![v.to_string()])).collect();
        Loaded::from_file(file, &overrides).unwrap()
    }

    #[test]
    fn a_scenario_is_a_list_of_experiments() {
        let issues = load(&[]).validate(&[]).unwrap();
        assert!(issues.is_empty(), "{issues:?}");
        let loaded = load(&[("control.cubic.transport.tcp.congestion", "bbr")]);
        let all = Experiment::all(&loaded.scenario, &loaded.base, "tp").unwrap();
        let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["cubic", "reactive", "proactive", "predicted"]);
        assert_eq!(all[0].control, LabControl::Kernel("bbr".to_owned()));
        assert_eq!(all[1].control, LabControl::Proxy(Policy::Reactive));
        let lab = &all[1].lab;
        assert_eq!((lab.queue, lab.propagation, lab.mtu), (Bytes::mb(6), Duration::from_ms(10), 1500));
        // An eighth of MCS 12, of MCS 6 half a second later, and of MCS 1 after that.
        let rate = |ms| lab.course.at(Duration::from_ms(ms)).rate;
        assert_eq!([rate(0), rate(500), rate(1_000)].map(Rate::as_bps), [187_500_000, 62_500_000, 15_625_000]);
        assert_eq!(rate(499), rate(0));
        // What the simulator loses of packets it loses here.
        assert!(lab.course.phases().iter().all(|p| p.loss < 0.01));
    }

    #[test]
    fn what_the_lab_has_not_is_refused() {
        let refused = |key, value| {
            let loaded = load(&[(key, value)]);
            Experiment::all(&loaded.scenario, &loaded.base, "tp").unwrap_err().to_string()
        };
        assert!(refused("fabric.radio.link.0.course.varied", "true").contains("varied"));
        assert!(refused("fabric.radio.link.0.course.beams", "no.csv").contains("no.csv"));
        assert!(refused("fabric.radio.queue", "{ ecn = { mark_at = 9 } }").contains("fabric.radio.queue.drop_tail"));
    }
}
