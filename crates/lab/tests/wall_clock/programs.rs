//! Unmodified programs behind the TUN interfaces of hosts: what arrives is whole, and the counters
//! of agents agree with what programs say.

use crate::common::place::PROGRAM;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use timeplane_lab::unmodified::{HEADERS, Lab, PLANS};
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

/// A controller needs raw frames for signals, and BPF if it sets a circuit switch. Without any
/// other capability it plans slots, rates and circuits, and programs get their bytes across.
#[test]
fn controllers_plan_without_other_capabilities() {
    let _turn = crate::turn();
    for plan in PLANS {
        let name = format!("tpcap{}{}", &plan[..1], std::process::id());
        let scratch = std::env::temp_dir().join(format!("{name}-program"));
        std::fs::create_dir_all(&scratch).unwrap();
        let (program, kept) = (scratch.join("program"), scratch.join("kept"));
        let more = if plan == "circuits" { ",+bpf" } else { "" };
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = controller ] || exec {PROGRAM} \"$@\"\n\
             exec setpriv --bounding-set -all,+net_raw{more} --no-new-privs \
             sh -c 'grep CapBnd /proc/self/status > {kept}; exec {PROGRAM} \"$@\"' sh \"$@\"\n",
            kept = kept.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut lab = Lab::start(&program, &name, plan).unwrap_or_else(|e| panic!("{e}"));
        let text = std::fs::read_to_string(&kept).unwrap();
        let bits = u64::from_str_radix(text.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // NET_RAW is 13, and BPF 39.
        assert_eq!(bits, 1 << 13 | if plan == "circuits" { 1 << 39 } else { 0 });
        let echo = lab.echo(100_000).unwrap_or_else(|e| panic!("{plan}: {e}"));
        assert_eq!(echo.bytes, 100_000, "{plan}");
        lab.hosts.stop();
        let counters = lab.hosts.controller_counters(0).unwrap();
        println!("{plan}: {counters:?}");
        let planned = if plan == "rates" { "grants" } else { "slots" };
        assert!(counters[planned] > 0, "{counters:?}");
        assert_eq!((counters["signals_lost"], counters["retunes_failed"]), (0, 0));
        assert_eq!(counters["retunes"] > 0, plan == "circuits");
        let _ = std::fs::remove_dir_all(&scratch);
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
