//! The guarantees of agents, as test bodies for any world.

use super::World;

/// Hosts of every world.
pub const HOSTS: u32 = 4;
/// Ordered pairs of two different hosts.
const PAIRS: f64 = (HOSTS * (HOSTS - 1)) as f64;

pub fn all_to_all_arrives_and_nobody_sends_in_a_foreign_slot(world: &mut impl World) {
    world.offer(6);
    assert!(world.run_until_delivered(100), "{} of {} slots", world.delivered(), 6.0 * PAIRS);
    assert_eq!(world.foreign(), 0);
}

pub fn hosts_that_were_idle_are_asked_again(world: &mut impl World) {
    for _ in 0..3 {
        world.offer(1);
        assert!(world.run_until_delivered(100));
        world.run(5);
    }
    assert_eq!(world.foreign(), 0);
}

pub fn lost_signals_cost_slots_and_no_byte(world: &mut impl World) {
    world.disturb(0.2, 0.0);
    world.offer(8);
    assert!(world.run_until_delivered(300), "{} of {} slots", world.delivered(), 8.0 * PAIRS);
    // A closing frame that is lost leaves a gate open for its hold, which ends with the slot and
    // what frames may differ by.
    assert_eq!(world.foreign(), 0);
}

pub fn signals_that_come_again_are_known(world: &mut impl World) {
    world.disturb(0.0, 0.5);
    world.offer(8);
    assert!(world.run_until_delivered(150));
    assert!(world.stale() > 0, "none came again");
    assert_eq!(world.foreign(), 0);
}

pub fn a_killed_controller_mutes_nobody_for_good(world: &mut impl World) {
    world.offer(30);
    world.run(6);
    world.kill_controller();
    // What it has granted ends, and then nobody sends: gates are closed.
    world.run(10);
    let silent = world.delivered();
    assert!(silent < 30.0 * PAIRS);
    world.run(10);
    assert_eq!(world.delivered(), silent, "somebody sends without a controller");
    world.restart_controller();
    assert!(world.run_until_delivered(400), "{} of {} slots", world.delivered(), 30.0 * PAIRS);
    assert_eq!(world.foreign(), 0);
}

pub fn a_standby_takes_over(world: &mut impl World) {
    world.offer(30);
    world.run(6);
    world.kill_controller();
    assert!(world.run_until_delivered(600), "{} of {} slots", world.delivered(), 30.0 * PAIRS);
    assert_eq!(world.foreign(), 0);
    // One that comes back follows, and two never rule.
    world.restart_controller();
    world.offer(4);
    assert!(world.run_until_delivered(200));
    assert_eq!(world.foreign(), 0);
}

pub fn the_slots_of_a_killed_host_go_to_others(world: &mut impl World) {
    world.offer(20);
    world.run(4);
    world.kill_host(1);
    assert!(world.run_until_delivered(300), "those of the others");
    world.restart_host(1);
    world.offer(3);
    assert!(world.run_until_delivered(200), "it is heard again, and sent to");
    assert_eq!(world.foreign(), 0);
}
