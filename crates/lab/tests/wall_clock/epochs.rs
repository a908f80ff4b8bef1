//! Daemons whose epoch was lost, after the machine's clock was far ahead once: hosts and
//! controllers know a higher epoch than a new start has, and tell it.

use crate::common::{Lab, pairs, until};
use std::time::Duration as Wait;
use timeplane_lab::traffic::{AfterError, Traffic};

/// The clock was ten years ahead.
const AHEAD: u32 = 10 * 365 * 86_400;

/// The file with the epoch of a daemon.
fn epoch_file(lab: &Lab, daemon: &str) -> std::path::PathBuf {
    lab.hosts.folder(daemon).join("epoch")
}

fn epoch(lab: &Lab, daemon: &str) -> u32 {
    std::fs::read_to_string(epoch_file(lab, daemon)).unwrap().trim().parse().unwrap()
}

/// Streams of all pairs arrive, though some are refused while daemons start.
fn serves(lab: &Lab, port: u16) {
    let traffic = Traffic::start(&lab.hosts, port, &pairs(), 30_000, AfterError::Retry);
    until("a stream of each pair arrives", Wait::from_secs(60), || traffic.pairs_done() == pairs().len());
    let outcome = traffic.finish();
    assert_eq!((outcome.lost_bytes, outcome.wrong), (0, 0));
}

#[test]
fn a_controller_or_an_agent_whose_epoch_was_lost_joins_again() {
    let _turn = crate::turn();
    for controllers in [1, 2] {
        let mut lab = Lab::start("epo", controllers, |_| {});
        let first = epoch(&lab, "controller-0");
        let places = 0..controllers as usize;
        let restart_controllers = |lab: &mut Lab, change: &dyn Fn(&Lab, &str)| {
            for place in places.clone() {
                lab.hosts.kill_controller(place);
                change(lab, &format!("controller-{place}"));
            }
            places.clone().for_each(|place| lab.hosts.begin_controller(place).unwrap());
        };
        let restart_agent = |lab: &mut Lab, change: &dyn Fn(&Lab, &str)| {
            lab.hosts.kill_agent(1);
            change(lab, "host-1");
            lab.hosts.begin_agent(1).unwrap();
        };
        let ahead = |lab: &Lab, daemon: &str| {
            std::fs::write(epoch_file(lab, daemon), format!("{}\n", first + AHEAD)).unwrap();
        };
        let lost = |lab: &Lab, daemon: &str| std::fs::remove_file(epoch_file(lab, daemon)).unwrap();
        restart_controllers(&mut lab, &ahead);
        restart_agent(&mut lab, &ahead);
        serves(&lab, 2);
        assert!(epoch(&lab, "controller-0") > first + AHEAD && epoch(&lab, "host-1") > first + AHEAD);
        // A reboot, with a clock that is right again.
        restart_controllers(&mut lab, &lost);
        serves(&lab, 3);
        restart_agent(&mut lab, &lost);
        serves(&lab, 4);
        assert!(epoch(&lab, "host-1") > first + AHEAD, "a controller has told it");
        assert_eq!(lab.violations(), 0);
        if controllers == 1 {
            assert!(epoch(&lab, "controller-0") > first + AHEAD, "it is kept from now on");
            assert!(lab.hosts.log("controller-0").contains("starting again with"));
        }
    }
}
