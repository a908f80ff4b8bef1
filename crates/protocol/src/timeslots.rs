//! The controller of timeslots: it gives each packet a timeslot and a path.
//!
//! It works as Fastpass (Perry et al., SIGCOMM 2014), and as SYN in the comparison of synchronous
//! with asynchronous central control.

use crate::agent::{Address, Agent, Event, Input, Output};
use crate::batch::{GrantBatch, Timeslot};
use crate::host::{Detail, Reporting};
use crate::inbox::{Inbox, ReportCounters};
use crate::live::Live;
use crate::message::{BacklogReport, Message};
use std::collections::VecDeque;
use std::sync::Arc;
use timeplane_model::{Bytes, Class, ClosError, Duration, Fabric, HostId, Round, Time};
use timeplane_schedule::{Order, PacketSlot, PathColoring, SlotFill, TimeslotAllocator};

/// Configuration of a [`TimeslotController`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeslotControllerConfig {
    /// Counts the controller's starts.
    pub epoch: u32,
    /// The start of the first slot.
    pub start: Time,
    /// The length of a slot. A gate is open for all of it.
    pub slot: Duration,
    /// Bytes on the wire per slot.
    pub slot_bytes: Bytes,
    /// What a slot may carry.
    pub fill: SlotFill,
    /// How paths are found.
    pub coloring: PathColoring,
    /// Slots that are allocated together, and granted to each of their senders in one message; at
    /// least 1.
    pub batch: u32,
    /// The time from the allocation of a batch to its first slot. If it is too short to compute and
    /// to send grants, these come late.
    pub ahead: Duration,
    /// How long the allocation of a batch takes. Batches are computed in a pipeline.
    pub compute_time: Duration,
    /// A host reports this long after its last report or message at the latest, which reveals
    /// losses.
    pub fallback: Duration,
}

impl TimeslotControllerConfig {
    /// What hosts report: flows and changes, so that the controller knows every queued packet.
    pub fn reporting(&self) -> Reporting {
        Reporting {
            detail: Detail::Bursts,
            on_change: true,
            after_grants: self.fill != SlotFill::Packet,
            ..Reporting::default()
        }
    }
}

/// Counts since a controller's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeslotControllerCounters {
    /// Slots allocated.
    pub slots: u64,
    /// Packets that got a slot.
    pub allocations: u64,
}

/// Gives each queued packet a timeslot and a path.
///
/// A report is the whole backlog of a host at one moment. Packets that are granted for that moment
/// or later are subtracted. Earlier grants have taken effect: their packets are in the report or
/// not. A lost report, a lost grant or an unused slot thus costs time until the next report, and
/// strands no packet.
///
/// Demand whose route is known to be [down](Input::Down) gets no slots. It returns with its host's
/// first report after the route does, at most [`fallback`](TimeslotControllerConfig::fallback)
/// later.
#[derive(Debug)]
pub struct TimeslotController {
    config: TimeslotControllerConfig,
    allocator: TimeslotAllocator,
    live: Live,
    inbox: Inbox,
    /// By host, the starts and queues of granted slots that not all reports reflect yet.
    granted: Vec<VecDeque<(Time, HostId, Class)>>,
    /// The start of the next slot that is not allocated.
    next: Time,
    round: Round,
    /// Allocated batches whose computation has not ended, with the times of their sending.
    computing: VecDeque<(Time, GrantBatch)>,
    /// The slot that is being allocated.
    allocations: Vec<PacketSlot>,
    /// The timeslots of its batch, in the order of slots.
    timeslots: Vec<Timeslot>,
    /// By host; used to put them in the order of hosts.
    counts: Vec<u32>,
    counters: TimeslotControllerCounters,
}

impl TimeslotController {
    /// A controller that knows of no packet, and gives slots to pairs in this order.
    ///
    /// # Errors
    ///
    /// If the fabric's paths cannot be colored.
    pub fn new(
        config: TimeslotControllerConfig,
        order: impl Into<Order>,
        fabric: &Arc<Fabric>,
    ) -> Result<Self, ClosError> {
        let allocator = TimeslotAllocator::new(fabric, order, config.coloring, config.fill, config.slot_bytes)?;
        let hosts = fabric.hosts();
        Ok(Self {
            allocator,
            live: Live::new(Arc::clone(fabric)),
            inbox: Inbox::new(hosts),
            granted: vec![VecDeque::new(); hosts as usize],
            next: config.start,
            round: Round(0),
            computing: VecDeque::new(),
            allocations: Vec::new(),
            timeslots: Vec::new(),
            counts: vec![0; hosts as usize],
            counters: TimeslotControllerCounters::default(),
            config,
        })
    }

    /// Counts since the start.
    pub fn counters(&self) -> &TimeslotControllerCounters {
        &self.counters
    }

    /// Counts of received inputs since the start.
    pub fn heard(&self) -> &ReportCounters {
        self.inbox.counters()
    }

    fn report(&mut self, now: Time, from: Address, report: &BacklogReport) {
        let Some(host) = self.inbox.take(from, report) else { return };
        // A clock that is far ahead must not hide granted packets.
        let taken_at = report.taken_at.min(now + self.config.ahead);
        let idle = self.allocator.is_empty();
        let bursts = report.backlog.bursts.iter().filter(|b| self.live.reaches(host, b.destination));
        self.allocator.set(host, now, bursts.copied());
        let granted = &mut self.granted[host.index()];
        while granted.front().is_some_and(|g| g.0 < taken_at) {
            granted.pop_front();
        }
        for &(_, destination, class) in granted.iter() {
            self.allocator.discount(host, destination, class);
        }
        if idle {
            // The first packet of an idle network waits for the next slot instead of a past one.
            self.next = self.first_slot(now);
        }
    }

    /// The start of the first slot that can still be allocated at `now`.
    fn first_slot(&self, now: Time) -> Time {
        let earliest = (now + self.config.ahead).max(self.next);
        let since = (earliest - self.config.start).as_ps();
        let slot = self.config.slot.as_ps();
        self.config.start + Duration::from_ps((since + slot - 1).div_euclid(slot) * slot)
    }

    /// When the next batch is allocated.
    fn allocate_at(&self) -> Option<Time> {
        (!self.allocator.is_empty()).then(|| self.next - self.config.ahead)
    }

    /// Allocates the next batch. Called late, it skips slots whose grants would come too late.
    fn allocate(&mut self, now: Time, out: &mut Vec<Output>) {
        let c = self.config;
        let first = self.first_slot(now);
        self.round = Round(self.round.0 + 1);
        let (epoch, round, packets) = (c.epoch, self.round, (c.fill == SlotFill::Packet).then_some(1));
        let mut batch = GrantBatch { epoch, round, effective: first, slot: c.slot, packets, timeslots: Vec::new() };
        for index in 0..c.batch.max(1) {
            let start = batch.start(index);
            self.allocations.clear();
            if let Err(fault) = self.allocator.allocate(start, &mut self.allocations) {
                out.push(Output::Log(Event::PlanRefused { round, fault: fault.into() }));
            }
            self.counters.slots += 1;
            self.counters.allocations += self.allocations.len() as u64;
            for &PacketSlot { source, destination, class, path } in &self.allocations {
                self.timeslots.push(Timeslot { host: source, destination, index, path, class });
                self.granted[source.index()].push_back((start, destination, class));
            }
        }
        self.next = batch.start(c.batch.max(1));
        batch.add(&self.timeslots, &mut self.counts);
        self.timeslots.clear();
        self.computing.push_back((now + c.compute_time, batch));
    }
}

impl Agent for TimeslotController {
    fn deadline(&self) -> Option<Time> {
        let sending = self.computing.front().map(|c| c.0);
        sending.into_iter().chain(self.allocate_at()).min()
    }

    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Due => {}
            Input::Message { from, message: Message::Report(report) } => return self.report(now, from, &report),
            Input::Down(links) => {
                self.live.set_down(links);
                self.allocator.retain(|source, destination| self.live.reaches(source, destination));
                return;
            }
            // Rates of links change under plans of slots only.
            Input::Rates(..) => return,
            Input::Message { .. } | Input::Backlog(_) | Input::Changed => {
                self.inbox.malformed();
                return;
            }
        }
        // Reports alone allocate nothing: all that arrive at the deadline count.
        if self.allocate_at().is_some_and(|t| t <= now) {
            self.allocate(now, out);
        }
        while self.computing.front().is_some_and(|c| c.0 <= now) {
            out.extend(self.computing.pop_front().map(|(_, batch)| Output::Grants(batch)));
        }
    }
}
