//! Unmodified programs behind the TUN interfaces of hosts: what arrives is whole, and the counters
//! of agents agree with what programs say.

use crate::common::place::PROGRAM;
use std::path::Path;
use timeplane_lab::unmodified::{HEADERS, Lab};
use timeplane_live::agent::Snapshot;

const BYTES: u64 = 1_500_000;

fn packets(of: &Snapshot, what: &str) -> u64 {
    of.streams[what].as_u64().unwrap()
}

/// Bytes of TCP in the packets that were counted between two states, at most: some packets have
/// longer headers.
fn payload(before: &Snapshot, after: &Snapshot, direction: &str) -> u64 {
    let more = |what: &str| packets(after, what) - packets(before, what);
    more(&format!("packet_bytes_{direction}")) - HEADERS * more(&format!("packets_{direction}"))
}

fn programs_work_under(plan: &str) {
    let _turn = crate::turn();
    let name = format!("tppr{}{}", &plan[..1], std::process::id());
    let mut lab = Lab::start(Path::new(PROGRAM), &name, plan).unwrap_or_else(|e| panic!("{e}"));
    let before = [0, 1].map(|h| lab.settled(h).unwrap());
    let (iperf3, json) = lab.iperf3(BYTES).unwrap_or_else(|e| panic!("{e}"));
    let after = [0, 1].map(|h| lab.settled(h).unwrap());
    println!("{plan}: {iperf3:?}");
    // It writes whole blocks, and counts as received what its server has read by the last write.
    let sent = json["end"]["sum_sent"]["bytes"].as_u64().unwrap();
    assert!(sent >= BYTES && iperf3.bytes > 0 && iperf3.bytes <= sent, "{json:#}");
    let again = iperf3.retransmissions.unwrap();
    let (out, came) = (payload(&before[0], &after[0], "sent"), payload(&before[1], &after[1], "received"));
    println!("{plan}: {sent} B, {again} segments again; {out} B left and {came} B came in packets of the TUN");
    // The control connection and options of acknowledgements are less than 64 kB.
    let most = sent + again * 1500 + 64_000;
    assert!(came >= iperf3.bytes && out >= came && out <= most, "{came} {out} {most}");
    let wire = after[0].agent["wire_bytes"] - before[0].agent["wire_bytes"];
    assert!(wire > out, "{wire} {out}");

    let (curl, whole) = lab.curl(BYTES).unwrap_or_else(|e| panic!("{e}"));
    assert!(whole && curl.bytes == BYTES, "{curl:?}");
    let echo = lab.echo(BYTES / 10).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(echo.bytes, BYTES / 10, "{echo:?}");
    println!("{plan}: {curl:?} {echo:?}");

    if let Some(observer) = &mut lab.observer {
        let counters = observer.counters().unwrap();
        let frames: u64 = counters.ports.iter().map(|p| p.frames).sum();
        let violations: u64 = counters.ports.iter().map(|p| p.violations).sum();
        let bytes: u64 = counters.ports[0].bytes.get();
        assert!(violations == 0 && frames > 0 && bytes > out, "{:?}", observer.violations());
    }
    if let Some(circuits) = lab.hosts.circuits() {
        let sum = circuits.seen(lab.hosts.fabric()).unwrap().sum();
        assert!(sum.dark == 0 && sum.unconnected == 0 && sum.forwarded > 0, "{sum:?}");
    }
}

#[test]
fn programs_work_as_they_are_in_slots() {
    programs_work_under("slots");
}

#[test]
fn programs_work_as_they_are_at_central_rates() {
    programs_work_under("rates");
}

#[test]
fn programs_work_as_they_are_over_circuits() {
    programs_work_under("circuits");
}
