//! Forgers on the network of running daemons. Stations without keys send frames in the name of
//! hosts, and record frames and send them again. A host with a good certificate invents epochs.
//! True bytes arrive, and the daemons count what they refuse.

use crate::common::{Lab, Traffic, pairs, until};
use std::time::Duration as Wait;
use timeplane_lab::attacks::forging::{at_port, forged, lie, record};
use timeplane_live::agent::Snapshot;
use timeplane_live::clock;
use timeplane_model::Backlog;
use timeplane_protocol::BacklogReport;

fn count(snapshot: &Snapshot, name: &str) -> u64 {
    snapshot.agent[name]
}

#[test]
fn forged_and_recorded_frames_between_hosts_have_no_effect() {
    let _turn = crate::turn();
    let mut lab = Lab::start("for", 1, |_| {});
    let traffic = Traffic::start(&lab, 1, &pairs(), 60_000);
    let to_host_0 = at_port(&lab.hosts, 0).unwrap();
    let recorded = record(&lab.hosts).unwrap();
    let before = lab.settled(0);
    let mut sent = [0; 2];
    // Between the true frames of streams that run meanwhile, and new ones.
    for _ in 0..10 {
        let newest = record(&lab.hosts).unwrap();
        let all = forged(&newest);
        assert_eq!((all[0][0].len(), all[1][1].len()), (81, 68));
        for (frames, sent) in all.iter().zip(&mut sent) {
            *sent += to_host_0.send_batch(frames).unwrap().sent as u64;
        }
        for frames in recorded.chunks(16).chain(newest.chunks(16)).take(8) {
            to_host_0.send_batch(frames).unwrap();
        }
    }
    let streams = traffic.streams();
    until("streams go on", Wait::from_secs(30), || traffic.streams() > streams + 2 * pairs().len());
    let after = lab.settled(0);
    let counted = ["refused_unsealed", "refused_forged"].map(|name| count(&after, name) - count(&before, name));
    assert_eq!(counted, sent);
    let duplicate = |s: &Snapshot| s.streams["frames_duplicate"].as_u64().unwrap();
    assert!(duplicate(&after) > duplicate(&before), "recorded frames are duplicates: {}", after.streams);
    assert_eq!((after.epoch, count(&after, "refused_stale")), (before.epoch, count(&before, "refused_stale")));
    // Every stream that is said to be delivered has arrived, byte by byte, and once.
    println!("{} streams delivered, {sent:?} frames forged", traffic.stop());
    lab.exchange(2, Wait::from_secs(20));
    assert_eq!(lab.violations(), 0);
    let log = lab.hosts.log("host-0");
    assert!(log.contains("refused frames between hosts"), "{log}");
    assert!(log.matches("refused frames between hosts").count() < 60, "not a line a frame");
}

#[test]
fn a_host_that_invents_epochs_is_disconnected_and_a_standby_still_leads() {
    let _turn = crate::turn();
    let mut lab = Lab::start("inv", 2, |p| p.status = true);
    let epoch = lab.settled(2).epoch;
    lab.hosts.kill_agent(2);
    let left = |place: usize| lab.hosts.metrics(place).unwrap()["controller_left"] >= 1.0;
    until("controllers know that it is gone", Wait::from_secs(10), || left(0) && left(1));
    for place in 0..2 {
        let refused = lab.hosts.metrics(place as usize).unwrap()["controller_refused"];
        for (of, obeys) in [(epoch, u32::MAX), (epoch, u32::MAX - 2), (u32::MAX, 0)] {
            let backlog = Backlog::default();
            let report = BacklogReport { epoch: of, sequence: 1, taken_at: clock::now(), obeys, heard: 0, backlog };
            let why = lie(&lab.hosts, place, epoch, report).unwrap();
            assert!(why.is_some_and(|why| !why.is_empty()), "its channel ends");
        }
        assert_eq!(lab.hosts.metrics(place as usize).unwrap()["controller_refused"], refused + 3.0);
        let log = lab.hosts.log(&format!("controller-{place}"));
        assert!(log.contains("closing the channel of host 2"), "{log}");
    }
    // The other hosts go on, also with the controller after this one.
    let two = [(0, 1), (1, 0)];
    let traffic = Traffic::start(&lab, 1, &two, 30_000);
    until("streams of others", Wait::from_secs(20), || traffic.pairs_done() == two.len());
    lab.hosts.kill_controller(0);
    let streams = traffic.streams();
    until("a standby leads", Wait::from_secs(20), || traffic.streams() > streams + 4);
    traffic.stop();
    // So does the host's true agent, once it has joined.
    lab.hosts.start_agent(2).unwrap();
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
}

#[test]
fn seals_are_switched_off_everywhere_or_nowhere() {
    let _turn = crate::turn();
    let mut lab = Lab::start("sea", 1, |_| {});
    let switch_off = |lab: &Lab, name: &str| {
        let file = lab.hosts.folder(name).join("config.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("seal = \"none\"\n{text}")).unwrap();
    };
    lab.hosts.stop_agent(2);
    switch_off(&lab, "host-2");
    lab.hosts.start_agent(2).unwrap();
    let refused = "refuses this host: `seal` of host 2 is \"none\": expected \"siphash\"";
    until("host 2 is told why", Wait::from_secs(20), || lab.hosts.log("host-2").contains(refused));
    // And with all others.
    for host in 0..2 {
        lab.hosts.stop_agent(host);
        switch_off(&lab, &format!("host-{host}"));
    }
    lab.hosts.stop_controller(0);
    switch_off(&lab, "controller-0");
    lab.hosts.start_controller(0).unwrap();
    (0..2).for_each(|host| lab.hosts.start_agent(host).unwrap());
    lab.hosts.wait_for_all().unwrap();
    lab.exchange(1, Wait::from_secs(30));
    let shown = lab.settled(0);
    assert_eq!((count(&shown, "refused_unsealed"), count(&shown, "refused_sealed")), (0, 0));
    assert!(lab.hosts.log("host-0").contains("everybody on the network can forge frames"));
    assert_eq!(lab.violations(), 0);
}
