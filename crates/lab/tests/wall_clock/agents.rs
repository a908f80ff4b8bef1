//! One suite for agents, run in virtual time and on real interfaces of namespaces.
//!
//! A test body knows only its [`World`]: hosts with traffic, a controller that can be killed,
//! signals that can be lost. Its guarantees hold in both worlds: all traffic arrives, no host sends
//! in another host's slot, and no host is muted forever. Times are rounds, which each world
//! defines.

mod bodies;
mod veth;
mod virtual_time;

/// Where agents live.
pub trait World {
    /// Every host gets so many slots' worth of bytes for every other one.
    fn offer(&mut self, slots: u32);
    /// Lets so many rounds of all hosts' slots pass.
    fn run(&mut self, rounds: u32);
    /// Lets time pass until all that was offered has arrived, for so many rounds at most; whether
    /// it has.
    fn run_until_delivered(&mut self, most_rounds: u32) -> bool;
    /// Slots' worth of bytes that have arrived.
    fn delivered(&self) -> f64;
    /// Frames, or openings, of one slot in another one.
    fn foreign(&mut self) -> u64;
    /// This share of signals gets lost from now on, and this share comes again later.
    fn disturb(&mut self, lost: f64, again: f64);
    /// Signals that came and were not obeyed, as they were known or older.
    fn stale(&self) -> u64;
    /// The controller ends at once.
    fn kill_controller(&mut self);
    /// Another start of it, which may know that there was one before.
    fn restart_controller(&mut self);
    /// The agent of a host ends at once; what it had to send is gone, and nobody sends to it.
    fn kill_host(&mut self, host: u32);
    /// Another start of it.
    fn restart_host(&mut self, host: u32);
}

/// A body, in both worlds.
macro_rules! in_both_worlds {
    ($($body:ident $(with $option:ident)?,)+) => {
        mod in_virtual_time {
            $(#[test] fn $body() { super::bodies::$body(&mut super::virtual_time::world(false $(|| stringify!($option) == "standby")?)); })+
        }
        mod over_veth {
            $(#[test] fn $body() { let _turn = crate::turn(); super::bodies::$body(&mut super::veth::world(stringify!($body), false $(|| stringify!($option) == "standby")?)); })+
        }
    };
}

in_both_worlds! {
    all_to_all_arrives_and_nobody_sends_in_a_foreign_slot,
    hosts_that_were_idle_are_asked_again,
    lost_signals_cost_slots_and_no_byte,
    signals_that_come_again_are_known,
    a_killed_controller_mutes_nobody_for_good,
    a_standby_takes_over with standby,
    the_slots_of_a_killed_host_go_to_others,
}
