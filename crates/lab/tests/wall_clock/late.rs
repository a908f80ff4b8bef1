//! One host's signals are held back on their way, and the host sends in foreign slots if it obeys
//! them. The gate refuses them, and the observer counts what a gate without times lets pass.

use crate::common::{HOSTS, Lab, Traffic, pairs, until};
use std::time::{Duration as Wait, Instant};
use timeplane_lab::delay::{Delay, Held};
use timeplane_live::config::Late;

/// The host whose signals are held back.
const HELD: usize = 1;
/// Longer than a slot and its guard by so much that no load of this machine hides it.
const LONG: Wait = Wait::from_millis(100);

/// What hosts have sent under an attack: frames, those in foreign slots, and late signals that the
/// gate has refused.
#[derive(Clone, Copy, Debug)]
struct Counted {
    frames: u64,
    foreign: u64,
    refused: u64,
}

fn counted(lab: &mut Lab) -> Counted {
    Counted { frames: lab.frames(), foreign: lab.violations(), refused: lab.settled(HELD).gate.late }
}

/// Holds signals back for `least`, and then until `enough` or for 20 seconds.
fn attack(lab: &mut Lab, delay: &Delay, held: Held, least: Wait, enough: impl Fn(&Counted) -> bool) -> Counted {
    let (before, began) = (counted(lab), Instant::now());
    delay.set(held);
    loop {
        std::thread::sleep(Wait::from_millis(500));
        let now = counted(lab);
        let since = Counted {
            frames: now.frames - before.frames,
            foreign: now.foreign - before.foreign,
            refused: now.refused - before.refused,
        };
        if began.elapsed() > least && enough(&since) || began.elapsed() > Wait::from_secs(20) {
            delay.set(Held::None);
            println!("{held:?}: {since:?}");
            return since;
        }
    }
}

/// Programs of the host wait while its signals are held back.
fn traffic(lab: &Lab) -> Traffic {
    let traffic = Traffic::start(lab, 1, &pairs(), 60_000);
    until("traffic begins", Wait::from_secs(30), || traffic.pairs_done() == pairs().len());
    traffic
}

const WAYS: [Held; 3] = [Held::All(LONG), Held::UpTo(LONG), Held::Share(0.02, LONG)];

#[test]
fn signals_that_are_held_back_open_no_foreign_slot() {
    let _turn = crate::turn();
    let mut lab = Lab::start("lhb", 1, |_| {});
    let delay = Delay::start(lab.hosts.fabric(), HELD as u16).unwrap();
    let traffic = traffic(&lab);
    for held in WAYS {
        // Signals that are all late alike show no fast one after four seconds. Then only the demand
        // channel tells.
        let least = if let Held::All(_) = held { Wait::from_secs(6) } else { Wait::ZERO };
        let since = attack(&mut lab, &delay, held, least, |c| c.refused >= 10 && c.frames > 500);
        assert!(since.refused >= 10 && since.frames > 500 && since.foreign == 0, "{held:?}: {since:?}");
        // Its programs go on once its signals are on time.
        let streams = traffic.streams();
        until("streams go on", Wait::from_secs(30), || traffic.streams() > streams + 2 * pairs().len());
    }
    traffic.stop();
    lab.exchange(2, Wait::from_secs(30));
    assert_eq!(lab.violations(), 0);
    assert!(delay.passed() > 0 && lab.hosts.snapshot(0).unwrap().gate.late <= lab.settled(0).gate.obeyed);
}

#[test]
fn an_observer_counts_what_hosts_send_by_late_signals() {
    let _turn = crate::turn();
    let mut lab = Lab::start("lob", 1, |p| p.late_after = Late::Never);
    let delay = Delay::start(lab.hosts.fabric(), HELD as u16).unwrap();
    let traffic = traffic(&lab);
    for held in WAYS {
        let since = attack(&mut lab, &delay, held, Wait::ZERO, |c| c.foreign >= 10);
        assert!(since.foreign >= 10 && since.refused == 0, "{held:?}: {since:?}");
    }
    let ports = lab.observer.counters().unwrap().ports;
    let culprits: Vec<usize> = (0..HOSTS as usize).filter(|h| ports[*h].violations > 0).collect();
    assert!(culprits.contains(&HELD), "{ports:?}");
    traffic.stop();
}

/// The figures of the guide: slots of 2 ms with guards of 200 us, and real-time priority.
#[test]
#[ignore = "takes a minute, and needs an idle machine: it prints figures"]
fn figures_of_short_slots() {
    let _turn = crate::turn();
    let ms = Wait::from_millis;
    for late_after in [Late::Never, Late::ByPlan] {
        let mut lab = Lab::start("lfi", 1, |p| {
            p.late_after = late_after;
            p.real_time = true;
            let text = std::fs::read_to_string(&p.scenario).unwrap();
            let text =
                text.replace("slot = \"10 ms\"", "slot = \"2 ms\"").replace("guard = \"1 ms\"", "guard = \"200 us\"");
            let text = text.replace("hold = \"15 ms\"", "hold = \"3 ms\"").replace("500 us", "100 us");
            std::fs::write(&p.scenario, text).unwrap();
        });
        let delay = Delay::start(lab.hosts.fabric(), HELD as u16).unwrap();
        let traffic = traffic(&lab);
        println!("{late_after:?}");
        for held in [Held::None, Held::All(ms(3)), Held::UpTo(ms(10)), Held::Share(0.02, ms(3))] {
            attack(&mut lab, &delay, held, Wait::from_secs(6), |c| c.frames > 15_000);
        }
        println!("{}", lab.observer.report().unwrap());
        let gates: Vec<_> = (0..HOSTS as usize).map(|h| lab.settled(h).gate).map(|g| (g.obeyed, g.late)).collect();
        let trip = lab.settled(0).agent["round_trip_ns"] / 1000;
        println!("signals obeyed and refused as late, by host: {gates:?}; round trip {trip} us");
        traffic.stop();
    }
}
