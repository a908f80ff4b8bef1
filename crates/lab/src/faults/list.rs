//! The faults that a bed goes through.
//!
//! Each of them is named, carried out and repaired here.

use crate::bed::Bed;
use crate::disturbance::{Disturbance, Shares};
use crate::fabric::{CONTROLLER_PORT, host_port};
use std::time::Duration as Wait;
use timeplane_live::daemons::Failure;
use timeplane_protocol::wire::PORT;

/// Which hosts a fault silences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affected {
    /// Every host, as faults of controllers do.
    All,
    /// One host, by its number.
    Host(u16),
}

impl Affected {
    /// Whether a host is affected.
    pub fn has(self, host: u16) -> bool {
        self == Self::All || self == Self::Host(host)
    }
}

/// From when on a silence is that of the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// From the last frame before the fault.
    Strike,
    /// From the beginning of its repair, as no host can send before.
    Repair,
}

/// A change of a bed.
pub type Step = fn(&mut Bed) -> Result<(), Failure>;

/// A fault, and its repair.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Name on the command line.
    pub name: &'static str,
    /// What happens.
    pub about: &'static str,
    /// Which hosts it silences.
    pub affected: Affected,
    /// From when on their silence counts.
    pub since: Since,
    /// Time from the fault to its repair.
    pub lasts: Wait,
    /// Once for a bed.
    pub begin: Step,
    /// Before each round.
    pub prepare: Step,
    /// The fault.
    pub strike: Step,
    /// Undoes the fault, and returns once daemons have started.
    pub repair: Step,
}

/// The host that faults of a single host happen to.
const ONE: u16 = 1;

fn nothing(_: &mut Bed) -> Result<(), Failure> {
    Ok(())
}

const fn fault(name: &'static str, about: &'static str, lasts_ms: u64, strike: Step, repair: Step) -> Fault {
    Fault {
        name,
        about,
        affected: Affected::All,
        since: Since::Strike,
        lasts: Wait::from_millis(lasts_ms),
        begin: nothing,
        prepare: nothing,
        strike,
        repair,
    }
}

impl Fault {
    const fn of_one_host(self) -> Self {
        Self { affected: Affected::Host(ONE), ..self }
    }
    const fn since_repair(self) -> Self {
        Self { since: Since::Repair, ..self }
    }
    const fn after(self, prepare: Step) -> Self {
        Self { prepare, ..self }
    }
    const fn on(self, begin: Step) -> Self {
        Self { begin, ..self }
    }
}

/// In the order of the table. Names are unique.
pub const FAULTS: &[Fault] = &[
    fault("leader-killed", "SIGKILL of the controller that leads; back after 0.6 s", 600, kill_leader, start_missing),
    fault("leader-stopped", "SIGTERM of the controller that leads; back after 0.6 s", 600, stop_leader, start_missing),
    fault("leader-returns", "a killed controller is started while the other one leads", 600, start_missing, nothing)
        .after(lose_leader),
    fault("leader-frozen", "SIGSTOP of the controller that leads for 0.5 s", 500, freeze_leader, thaw_controllers),
    fault("leader-slow", "SIGSTOP of the controller that leads for 50 ms", 50, freeze_leader, thaw_controllers),
    fault("standby-killed", "SIGKILL of the standby; back after 0.6 s", 600, kill_standby, start_missing),
    fault(
        "controllers-away",
        "SIGKILL of both controllers; both back after 4 s",
        4000,
        kill_controllers,
        start_missing,
    )
    .since_repair(),
    fault("agent-killed", "SIGKILL of an agent; back after 0.5 s", 500, kill_agent, start_agent)
        .of_one_host()
        .since_repair(),
    fault(
        "agent-restarted-alone",
        "an agent is killed and started while controllers are away for 4 s",
        4000,
        restart_alone,
        start_missing,
    )
    .since_repair(),
    fault("agent-frozen", "SIGSTOP of an agent for 0.5 s", 500, freeze_agent, thaw_agent).of_one_host().since_repair(),
    fault("interface-down", "the interface of a host is down for 0.5 s", 500, interface_down, interface_up)
        .of_one_host()
        .since_repair(),
    fault("mtu-shrinks", "the MTU of a host is 1400 B for 0.5 s", 500, mtu_1400, mtu_1500).of_one_host(),
    fault("cut-from-one", "no frame between controllers and a host for 1 s", 1000, cut_one, mend_switch)
        .of_one_host()
        .since_repair(),
    fault("cut-from-all", "no frame between controllers and hosts for 1 s", 1000, cut_all, mend_switch).since_repair(),
    fault("channel-cut", "no TCP between the controller that leads and a host for 1 s", 1000, cut_channel, mend_host)
        .of_one_host(),
    fault("controllers-cut", "no TCP between the controllers for 3 s", 3000, cut_controllers, mend_controllers),
    fault("peers-missing", "controllers without `[[peers]]`, for 3 s", 3000, nothing, nothing).on(forget_peers),
    fault("frames-lost", "5 % of all frames are lost for 2 s", 2000, lose_frames, calm).on(disturb),
    fault("frames-doubled", "30 % of all frames arrive twice for 2 s", 2000, double_frames, calm).on(disturb),
    fault("frames-reordered", "10 % of all frames are up to 5 ms late for 2 s", 2000, reorder_frames, calm).on(disturb),
    fault(
        "disk-full",
        "the disk of all daemons is full for 1 s",
        1000,
        |bed| bed.fill_disk(true),
        |bed| bed.fill_disk(false),
    ),
    fault(
        "disk-full-leader-killed",
        "the leading controller is killed while the disk is full",
        600,
        kill_on_full_disk,
        start_on_free_disk,
    ),
];

pub(crate) fn kill_leader(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.kill_controller(bed.leader());
    Ok(())
}

fn stop_leader(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.stop_controller(bed.leader());
    Ok(())
}

fn kill_standby(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.kill_controller(1 - bed.leader());
    Ok(())
}

pub(crate) fn kill_controllers(bed: &mut Bed) -> Result<(), Failure> {
    (0..bed.hosts.controllers()).for_each(|place| bed.hosts.kill_controller(place));
    Ok(())
}

/// Kills the leader, so that the other controller leads alone.
fn lose_leader(bed: &mut Bed) -> Result<(), Failure> {
    kill_leader(bed)
}

/// Starts every controller that does not run.
fn start_missing(bed: &mut Bed) -> Result<(), Failure> {
    let missing: Vec<usize> = (0..bed.hosts.controllers()).filter(|p| !bed.hosts.has_controller(*p)).collect();
    missing.iter().try_for_each(|place| bed.hosts.begin_controller(*place))?;
    // Each listens before the next round.
    Ok(missing.iter().try_for_each(|place| bed.hosts.await_controller(*place))?)
}

fn freeze_leader(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.freeze_controller(bed.leader(), true);
    Ok(())
}

fn thaw_controllers(bed: &mut Bed) -> Result<(), Failure> {
    (0..bed.hosts.controllers()).for_each(|place| bed.hosts.freeze_controller(place, false));
    Ok(())
}

fn kill_agent(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.kill_agent(ONE.into());
    Ok(())
}

fn start_agent(bed: &mut Bed) -> Result<(), Failure> {
    Ok(bed.hosts.start_agent(ONE.into())?)
}

fn restart_alone(bed: &mut Bed) -> Result<(), Failure> {
    kill_controllers(bed)?;
    kill_agent(bed)?;
    start_agent(bed)
}

fn freeze_agent(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.freeze_agent(ONE.into(), true);
    Ok(())
}

fn thaw_agent(bed: &mut Bed) -> Result<(), Failure> {
    bed.hosts.freeze_agent(ONE.into(), false);
    Ok(())
}

fn interface(bed: &Bed, what: &str) -> Result<(), Failure> {
    let host = &bed.hosts.fabric().hosts()[usize::from(ONE)];
    Ok(host.ip(&format!("link set eth0 {what}")).map(drop)?)
}

pub(crate) fn interface_down(bed: &mut Bed) -> Result<(), Failure> {
    interface(bed, "down")
}

pub(crate) fn interface_up(bed: &mut Bed) -> Result<(), Failure> {
    interface(bed, "up")
}

pub(crate) fn mtu_1400(bed: &mut Bed) -> Result<(), Failure> {
    interface(bed, "mtu 1400")
}

pub(crate) fn mtu_1500(bed: &mut Bed) -> Result<(), Failure> {
    interface(bed, "mtu 1500")
}

/// Drops frames in the switch by these matches.
fn drop_in_switch(bed: &Bed, matches: [String; 2]) -> Result<(), Failure> {
    let chain = "add table bridge cut; add chain bridge cut drops { type filter hook forward priority 0; }";
    let rules = matches.map(|m| format!("; add rule bridge cut drops {m} drop")).concat();
    Bed::nft(bed.hosts.fabric().switch(), &format!("{chain}{rules}"))
}

fn cut_one(bed: &mut Bed) -> Result<(), Failure> {
    let (a, b) = (CONTROLLER_PORT, host_port(ONE));
    drop_in_switch(bed, [format!("iifname {a} oifname {b}"), format!("iifname {b} oifname {a}")])
}

fn cut_all(bed: &mut Bed) -> Result<(), Failure> {
    drop_in_switch(bed, [format!("iifname {CONTROLLER_PORT}"), format!("oifname {CONTROLLER_PORT}")])
}

fn mend_switch(bed: &mut Bed) -> Result<(), Failure> {
    Bed::nft(bed.hosts.fabric().switch(), "delete table bridge cut")
}

/// Drops TCP of these ports that arrives.
fn drop_tcp(of: &timeplane_live::netns::Namespace, matches: &str, ports: &str) -> Result<(), Failure> {
    let chain = "add table inet cut; add chain inet cut drops { type filter hook input priority 0; }";
    let rule = |end: &str| format!("; add rule inet cut drops {matches} tcp {end} {{ {ports} }} drop");
    Bed::nft(of, &format!("{chain}{}{}", rule("dport"), rule("sport")))
}

fn cut_channel(bed: &mut Bed) -> Result<(), Failure> {
    let port = PORT + bed.leader() as u16;
    drop_tcp(&bed.hosts.fabric().hosts()[usize::from(ONE)], "", &port.to_string())
}

fn mend_host(bed: &mut Bed) -> Result<(), Failure> {
    Bed::nft(&bed.hosts.fabric().hosts()[usize::from(ONE)], "delete table inet cut")
}

/// Both controllers are in one namespace, and reach each other over its loopback.
pub(crate) fn cut_controllers(bed: &mut Bed) -> Result<(), Failure> {
    drop_tcp(bed.hosts.fabric().controller(), "iif lo", &format!("{PORT}, {}", PORT + 1))
}

pub(crate) fn mend_controllers(bed: &mut Bed) -> Result<(), Failure> {
    Bed::nft(bed.hosts.fabric().controller(), "delete table inet cut")
}

fn forget_peers(bed: &mut Bed) -> Result<(), Failure> {
    for place in 0..bed.hosts.controllers() {
        bed.configure(&format!("controller-{place}"), |text| {
            text.split("[[peers]]").next().unwrap_or_default().to_owned()
        })?;
        bed.hosts.stop_controller(place);
        bed.hosts.start_controller(place)?;
    }
    Ok(())
}

fn disturb(bed: &mut Bed) -> Result<(), Failure> {
    bed.disturbance = Some(Disturbance::start(bed.hosts.fabric())?);
    Ok(())
}

fn set(bed: &Bed, shares: Shares) -> Result<(), Failure> {
    Ok(bed.disturbance.as_ref().map_or(Ok(()), |d| d.set(shares))?)
}

fn lose_frames(bed: &mut Bed) -> Result<(), Failure> {
    set(bed, Shares { lost: 0.05, ..Shares::default() })
}

fn double_frames(bed: &mut Bed) -> Result<(), Failure> {
    set(bed, Shares { doubled: 0.3, ..Shares::default() })
}

fn reorder_frames(bed: &mut Bed) -> Result<(), Failure> {
    set(bed, Shares { reordered: 0.1, ..Shares::default() })
}

fn calm(bed: &mut Bed) -> Result<(), Failure> {
    set(bed, Shares::default())
}

fn kill_on_full_disk(bed: &mut Bed) -> Result<(), Failure> {
    bed.fill_disk(true)?;
    kill_leader(bed)
}

fn start_on_free_disk(bed: &mut Bed) -> Result<(), Failure> {
    bed.fill_disk(false)?;
    start_missing(bed)
}
