//! Rotor switches, and the racks that send over them.
//!
//! [`Cycle`] is the schedule in time. The switches themselves follow it whatever the racks do
//! ([`fabric`]); racks follow it too, and hold packets in a queue for each circuit to come
//! ([`queues`]). With RotorLB, hosts keep their packets until racks have granted them a circuit
//! ([`grants`]).

pub(crate) mod cycle;
pub(crate) mod fabric;
pub(crate) mod grants;
pub(crate) mod queues;
pub(crate) mod service;

use crate::engine::time::SimTime;
use crate::network::Trimming;
use crate::network::packet::Packets;
use crate::rotor::cycle::Cycle;
use crate::rotor::fabric::Racks;
use crate::rotor::grants::{Grants, Lb};
use crate::rotor::queues::Queues;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use timeplane_model::{Bytes, Duration, Fabric, LinkId, Rate};
use timeplane_scenario::{BulkSpec, FabricSpec, RotorRouting, RotorRoutingSpec, RotorSpec, RotorSpecError};
use timeplane_schedule::rotor::routing::{Routing, RoutingParameters, Routings, Spread};
use timeplane_schedule::rotor::{Late, MOST_TABLE_BYTES, RotorError, RotorSchedule};

/// [`Packet::path`](crate::network::packet::Packet::path) of a packet that its rack keeps for the
/// next circuit to its destination, under RotorLB. Granted packets have their uplink plus one.
pub(crate) const RELAYED: u16 = u16::MAX;

/// The reason why a network of rotor switches cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum RotorSetupError {
    /// The schedule file cannot be read.
    #[error("the schedule file `{}`: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The schedule is impossible.
    #[error("the schedule of rotor switches: {0}")]
    Schedule(#[from] RotorSpecError),
    /// A routing cannot be computed.
    #[error("the routing `{name}` over rotor switches: {source}")]
    Routing {
        /// As scenarios name it.
        name: String,
        /// The reason.
        source: RotorError,
    },
    /// A circuit ends before it can carry a full packet.
    #[error(
        "circuits over rotor switch {switch} are open for {open}: expected at least {needed}, in which a packet of \
         the MTU gets through"
    )]
    Short {
        /// Number of the switch.
        switch: u32,
        /// The shortest time that one of its circuits is open.
        open: Duration,
        /// The least time.
        needed: Duration,
    },
    /// RotorLB grants circuits when they begin, and those of a switch never do.
    #[error(
        "rotor switch {switch} never changes, and `rotor_lb` grants circuits that begin: expected fewer switches than \
         matchings, or another routing"
    )]
    Unchanging {
        /// Number of the switch.
        switch: u32,
    },
}

/// Reads the schedule of a topology.
///
/// # Errors
/// If its file cannot be read, or if the schedule is impossible.
#[expect(clippy::disallowed_methods, reason = "it reads the schedule file")]
pub(crate) fn schedule(spec: &RotorSpec, base: &Path) -> Result<Arc<RotorSchedule>, RotorSetupError> {
    let read = |name: &str| {
        let path = base.join(name);
        std::fs::read_to_string(&path).map_err(|source| RotorSetupError::File { path, source })
    };
    let text = spec.file().map(read).transpose()?;
    Ok(Arc::new(spec.schedule(text.as_deref())?))
}

/// Checks that every circuit carries a packet of the MTU, with the way from its host if hosts wait
/// for grants.
fn check_circuits(cycle: &Cycle, of: &FabricSpec, granted: bool) -> Result<(), RotorSetupError> {
    let frame = Bytes::new(of.framing.wire(of.mtu.get() as u32).into());
    let line = of.uplink_rate.unwrap_or(of.rate).time_for(frame);
    let from_host = of.rate.time_for(frame) + of.propagation + of.switch.latency + line;
    // Hosts send while the switch is dark.
    let needed = if granted { line.max(from_host - cycle.timing().dark()) } else { line };
    for switch in 0..cycle.schedule().uplinks() {
        match cycle.shortest(switch) {
            Some(open) if open < needed => return Err(RotorSetupError::Short { switch, open, needed }),
            None if granted => return Err(RotorSetupError::Unchanging { switch }),
            _ => {}
        }
    }
    Ok(())
}

/// What messages call a routing.
fn name_of(routing: &RotorRouting) -> &str {
    routing.own().map_or_else(|| routing.name(), |own| &own.name)
}

/// A routing with its tables, and how packets draw.
struct Routed {
    spec: RotorRouting,
    routing: Box<dyn Routing>,
    /// Whether each packet draws, and not each flow.
    draws: bool,
}

impl Routed {
    fn in_turn(&self) -> bool {
        matches!(self.spec, RotorRouting::Vlb { spread: Spread::InTurn })
    }
}

/// The rotor switches and racks of a run.
pub(crate) struct Rotor {
    pub cycle: Cycle,
    racks: Racks,
    queues: Queues,
    /// The routing of flows that are not bulk, then that of bulk.
    routed: [Option<Routed>; 2],
    /// Which packets are bulk.
    bulk: Option<BulkSpec>,
    /// RotorLB, where a routing is granted.
    pub grants: Option<Box<Grants>>,
    late: Late,
    limit: Option<u64>,
    rate: Rate,
    /// The time from a rotor switch to the output queues of a rack.
    beyond: Duration,
    /// Queues of data that trim packets, where the transport wants them.
    pub trimming: Option<Trimming>,
    /// The next slice that is prepared, while anything waits.
    due: Option<i64>,
    /// Packets that asked their racks so far, where choices take turns.
    turns: Vec<u64>,
    /// By link of an uplink, packets that were late and not lost.
    late_counts: BTreeMap<u32, u64>,
    /// Uplinks that are known to be dead, by rack and uplink.
    dead: Vec<bool>,
    own: Routings,
    /// Why a routing of a program had no answer for what failures left.
    pub fault: Option<String>,
}

impl Rotor {
    /// Racks and switches of a fabric, all idle.
    ///
    /// # Errors
    /// If a file cannot be read, or a schedule or a routing is impossible.
    pub fn new(
        fabric: &Fabric,
        spec: &RotorSpec,
        of: &FabricSpec,
        routing: &RotorRoutingSpec,
        own: &Routings,
        base: &Path,
    ) -> Result<Self, RotorSetupError> {
        let schedule = schedule(spec, base)?;
        let rate = of.uplink_rate.unwrap_or(of.rate);
        let timing = spec.timing().map_err(RotorSpecError::from)?;
        let racks = Racks::new(fabric, spec.hosts_per_rack);
        let cycle = Cycle::new(Arc::clone(&schedule), timing, of.propagation);
        let bytes = Queues::bytes(schedule.racks(), cycle.holds());
        if bytes > MOST_TABLE_BYTES {
            let error = RotorError::Table { what: "queues of racks", bytes, most: MOST_TABLE_BYTES };
            return Err(RotorSpecError::from(error).into());
        }
        let parameters = RoutingParameters { schedule: Arc::clone(&schedule), slice: spec.slice, rate, whole: true };
        let routed = |choice: &RotorRouting| {
            let built = choice.build(&parameters, own);
            let routing =
                built.map_err(|source| RotorSetupError::Routing { name: name_of(choice).to_owned(), source })?;
            Ok::<_, RotorSetupError>(Some(Routed { spec: choice.clone(), draws: routing.draws_per_packet(), routing }))
        };
        let lb = routing.routings().find_map(|(_, r)| match r {
            &RotorRouting::RotorLb { relay, share, void_packets } => Some(Lb { relay, share, void_packets }),
            _ => None,
        });
        check_circuits(&cycle, of, lb.is_some())?;
        let low = routed(&routing.routing)?;
        let high = routing.bulk.as_ref().map(|b| routed(&b.routing)).transpose()?.flatten();
        Ok(Self {
            grants: lb.map(|lb| Box::new(Grants::new(fabric.hosts(), schedule.racks(), lb))),
            queues: Queues::new(&cycle),
            turns: vec![0; schedule.racks() as usize],
            dead: vec![false; (schedule.racks() * schedule.uplinks()) as usize],
            cycle,
            racks,
            routed: [low, high],
            bulk: routing.bulk.clone(),
            late: routing.late,
            limit: routing.queue.map(Bytes::get),
            rate,
            beyond: of.propagation + of.switch.latency,
            trimming: None,
            due: None,
            late_counts: BTreeMap::new(),
            own: own.clone(),
            fault: None,
        })
    }

    /// Whether a packet belongs to the bulk, of a flow of this size or at this age.
    fn is_bulk(&self, bytes: u64, age: u64) -> bool {
        self.bulk.as_ref().map_or(self.grants.is_some(), |bulk| bulk.has(bytes, age))
    }

    /// When the next slice has to be prepared, because packets or hosts wait for it.
    pub fn next_slice(&self) -> Option<SimTime> {
        self.due.map(|slice| self.cycle.start(slice))
    }

    /// Something waits from now on: the next slice is prepared. Whether that is news.
    pub fn expect_slice(&mut self, now: SimTime) -> bool {
        let news = self.due.is_none();
        if news {
            self.due = Some(self.cycle.slice_at(now) + 1);
        }
        news
    }

    /// Routes around these links from now on. A routing that cannot do so keeps its tables, and is
    /// a fault.
    pub fn avoid(&mut self, dead: &[LinkId]) {
        let uplinks = self.cycle.schedule().uplinks();
        for (place, known) in self.dead.iter_mut().enumerate() {
            *known = dead.contains(&LinkId(self.racks.uplink(place as u32 / uplinks, place as u32 % uplinks)));
        }
        let is_dead = |rack: u32, uplink: u32| self.dead[(rack * uplinks + uplink) as usize];
        let rest = Arc::new(self.cycle.schedule().without(is_dead));
        let parameters = RoutingParameters {
            schedule: rest,
            slice: self.cycle.timing().slice(),
            rate: self.rate,
            whole: dead.is_empty(),
        };
        for routed in self.routed.iter_mut().flatten() {
            match routed.spec.build(&parameters, &self.own) {
                Ok(routing) => routed.routing = routing,
                Err(e) => self.fault = Some(format!("routing `{}` after a failure: {e}", name_of(&routed.spec))),
            }
        }
    }

    /// Packets that wait at racks, and at hosts that relay them.
    pub fn packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = u32> + 'a {
        self.queues.packets(packets).chain(self.grants.iter().flat_map(|g| g.stored()))
    }

    /// Packets that were late for circuits over an uplink, and not lost.
    pub fn late_packets(&self, link: u32) -> u64 {
        self.late_counts.get(&link).copied().unwrap_or(0)
    }

    /// The longest queue for a circuit of an uplink, in wire bytes.
    pub fn longest(&self, link: u32) -> u64 {
        self.racks.place_of(link).map_or(0, |(rack, uplink)| self.queues.longest(rack, uplink))
    }

    /// Packets and wire bytes that wait for circuits of an uplink.
    pub fn waiting(&self, link: u32) -> Option<(u64, u64)> {
        let (rack, uplink) = self.racks.place_of(link)?;
        Some(self.queues.waiting(rack, uplink))
    }
}
