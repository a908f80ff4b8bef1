//! The scenario of these labs: slots by signals that need no real-time priority.

/// So many hosts at 50 Mb/s in slots of so many milliseconds, a round of which visits every other
/// host, with gaps of one millisecond; with a second controller or without.
pub fn scenario(hosts: u32, slot_ms: u64, standby: bool) -> String {
    let standby = if standby { "\nstandby = {}" } else { "" };
    let (round, hold) = (hosts - 1, slot_ms * 3 / 2);
    format!(
        r#"
[fabric]
topology.single_switch = {{ hosts = {hosts} }}
rate = "50 Mb/s"
[workload.shuffle]
bytes = "1 kB"
[scheme.slots]
transport.raw = {{}}
[scheme.slots.plan.tdma]
slot = "{slot_ms} ms"
guard = "1 ms"
round_slots = {round}
control_latency = "2 ms"
compute_time = "200 us"
signals = {{ hold = "{hold} ms", reaction.times = {{ off_least = "1 us", off_most = "500 us", on_least = "10 us", on_most = "500 us" }} }}{standby}
"#
    )
}
