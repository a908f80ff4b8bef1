//! Interfaces of hosts that go down and come back, or get another MTU, while programs send: agents
//! keep what they have accepted, and go on.

use crate::common::{Lab, Traffic, pairs, until};
use std::time::Duration as Wait;
use timeplane_model::Duration;

/// Waits for several streams of each pair more.
fn goes_on(traffic: &Traffic, what: &str) {
    let streams = traffic.streams();
    until(what, Wait::from_secs(60), || traffic.streams() > streams + 6 * pairs().len());
}

#[test]
fn agents_outlive_interfaces_that_are_down_or_carry_shorter_frames() {
    let _turn = crate::turn();
    let mut lab = Lab::start("ifs", 1, |p| p.give_up_after = Duration::from_secs(300));
    let epoch = lab.settled(0).epoch;
    let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
    goes_on(&traffic, "streams before");
    let interface = |what: &str| drop(lab.hosts.fabric().hosts()[0].ip(&format!("link set eth0 {what}")).unwrap());
    interface("down");
    // Longer than controllers wait for a sign of life.
    std::thread::sleep(Wait::from_millis(1500));
    interface("up");
    goes_on(&traffic, "streams after the interface was down");
    // Its agent tells the others.
    interface("mtu 1400");
    goes_on(&traffic, "streams with an MTU of 1400 B");
    interface("mtu 1500");
    // No agent knows of the switch, which drops long frames.
    let port = |what: &str| drop(lab.hosts.fabric().switch().ip(&format!("link set p0 {what}")).unwrap());
    port("mtu 1400");
    let shortened = || lab.hosts.snapshot(1).is_some_and(|s| s.streams["streams_shortened"].as_u64() > Some(0));
    until("what another host sends fits", Wait::from_secs(60), shortened);
    goes_on(&traffic, "streams with an MTU of 1400 B at the switch");
    port("mtu 1500");
    goes_on(&traffic, "streams with an MTU of 1500 B");
    assert!(traffic.stop() > 0);
    let after = lab.settled(0);
    assert_eq!(after.epoch, epoch, "the same agent");
    assert_eq!(lab.violations(), 0);
}
