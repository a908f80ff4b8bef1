//! The memory that a run needs at least, reckoned before it starts from the records that it keeps
//! at the same time: links, and flows that are all in progress from the start.
//!
//! What queues, agents and tables hold comes on top, and cannot be known beforehand.

use crate::hosts::flow::{Flow, ReceiverEnd};
use crate::network::link::LinkState;
use timeplane_experiment::{PlannedRun, Prepared};
use timeplane_model::{Bytes, Fabric};
use timeplane_scenario::{Scenario, Scheme, Transport, Workload};
use timeplane_transport::ndp::NdpSender;
use timeplane_transport::{RawSender, Sender};
use timeplane_workload::Source;

/// The memory that a run of a scheme needs at least.
pub fn least(scenario: &Scenario, scheme: &Scheme, fabric: &Fabric, source: &Source) -> Bytes {
    let ends = match scheme.transport {
        Transport::Datagrams {} => 0,
        Transport::Raw(_) => size_of::<RawSender>() + size_of::<ReceiverEnd>(),
        Transport::Tcp(_) => size_of::<Sender>() + size_of::<ReceiverEnd>(),
        Transport::Ndp(_) => size_of::<NdpSender>() + size_of::<ReceiverEnd>(),
    };
    let flows = u128::from(at_once(scenario, source)) * (size_of::<Flow>() + ends) as u128;
    let links = (fabric.links().len() * size_of::<LinkState>()) as u128;
    Bytes::new(u64::try_from(flows + links).unwrap_or(u64::MAX))
}

/// Flows that are all in progress at the start of the run.
fn at_once(scenario: &Scenario, source: &Source) -> u64 {
    match &scenario.workload {
        Workload::Shuffle(shuffle) if !shuffle.in_turn && shuffle.jitter.as_ps() == 0 => {
            source.facts().flows.unwrap_or(0)
        }
        _ => 0,
    }
}

/// Says which of the runs that are missing needs more than the `free` memory, if one does.
pub(crate) fn warning(points: &[(Prepared, ())], runs: &[PlannedRun], free: Bytes) -> Option<String> {
    let needs = runs.iter().filter(|run| !run.complete).filter_map(|run| {
        let (point, ()) = &points[run.point];
        let scheme = point.point.scenario.scheme.get(&run.scheme)?;
        Some((least(&point.point.scenario, scheme, &point.fabric, &point.source), run))
    });
    let (most, run) = needs.max_by_key(|(bytes, _)| *bytes).filter(|(bytes, _)| *bytes > free)?;
    let (label, most, free) = (run.label(), in_gb(most), in_gb(free));
    Some(format!("{label} needs {most} of memory at least, and this machine has {free} left"))
}

/// An amount of memory as a person would say it: `0.4 GB`.
pub fn in_gb(bytes: Bytes) -> String {
    format!("{:.1} GB", bytes.get() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulator;
    use std::path::Path;
    use timeplane_experiment::{Options, plan, prepare};
    use timeplane_scenario::Loaded;

    fn shuffle(hosts: u32, rest: &str) -> Loaded {
        let text = format!(
            "[fabric]\ntopology.single_switch = {{ hosts = {hosts} }}\nrate = \"10 Gb/s\"\n[workload.shuffle]\n\
             bytes = \"3 kB\"\n{rest}[scheme.raw]\ntransport.raw = {{}}\n[scheme.tcp]\ntransport.tcp = {{}}\n"
        );
        Loaded::from_str(&text, "test", ".", &[]).expect("a scenario")
    }

    fn of(hosts: u32, scheme: &str, rest: &str) -> Bytes {
        let loaded = shuffle(hosts, rest);
        let scenario = &loaded.scenario;
        let fabric = scenario.fabric.build().expect("a fabric");
        let source =
            Source::load(&scenario.workload, Path::new("."), &fabric, scenario.fabric.mtu).expect("a workload");
        least(scenario, &scenario.scheme[scheme], &fabric, &source)
    }

    #[test]
    fn flows_in_progress_take_their_records() {
        let (half, all) = (of(1_000, "tcp", ""), of(2_000, "tcp", ""));
        assert!((3.9..4.1).contains(&(all.get() as f64 / half.get() as f64)), "pairs: {half} and {all}");
        assert!(of(1_000, "raw", "") < half, "TCP keeps more");
        // One flow of each host at a time.
        assert!(of(1_000, "tcp", "in_turn = true\n") < Bytes::mb(1));
        // Far more than any machine has, and no flow is listed for it.
        assert!(of(40_000, "tcp", "").get() > 1 << 40);
    }

    #[test]
    fn the_run_that_needs_most_is_named_where_memory_does_not_suffice() {
        let (driver, loaded) = (Simulator::default(), shuffle(100, ""));
        let points = prepare(&driver, &loaded).expect("a valid scenario");
        let mut runs = plan(&driver, &loaded, &Options::new(2, "none")).expect("runs");
        let least = of(100, "tcp", "");
        let text = warning(&points, &runs, Bytes::new(least.get() - 1)).expect("too little");
        assert!(text.starts_with("tcp, seed 1 needs 0.0 GB"), "{text}");
        assert_eq!(warning(&points, &runs, least), None);
        runs.iter_mut().for_each(|run| run.complete = true);
        assert_eq!(warning(&points, &runs, Bytes::ZERO), None, "nothing is missing");
    }
}
