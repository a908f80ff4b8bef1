//! The interfaces of all hosts, in one of three forms.
//!
//! A plain host queues flows and hands packets to its link first come, first served. A host with a
//! [`FairQueue`] serves flows in turn. A queued host has a [`Nic`], where gates, priorities or
//! pauses decide what is sent; flows of a queue may take turns there too. Interfaces know the link
//! that they send on, not the network behind it.

use crate::engine::event::EventKind;
use crate::engine::time::SimTime;
use crate::hosts::endpoints::{Endpoints, FlowQueue, Offer, Service};
use crate::hosts::fair_queue::FairQueue;
use crate::hosts::nic::{Bucket, GateOpening, Nic, QueueId, RateUpdate};
use crate::hosts::pauses::Pauses;
use crate::hosts::receive::ReceiveBuffer;
use crate::hosts::turns::Quanta;
use crate::network::News;
use crate::network::packet::Packet;
use crate::network::wires::Wires;
use timeplane_assembly::QueueWatch;
use timeplane_model::{Backlog, Duration, Rate};
use timeplane_protocol::Detail;
use timeplane_scenario::Nic as NicSpec;

/// The form of all hosts' interfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum InterfaceForm {
    /// First come, first served.
    #[default]
    Plain,
    /// A [`Nic`], gated or not.
    Queued {
        /// Order of its queues.
        spec: NicSpec,
        /// Whether it sends only while a gate is open.
        gated: bool,
        /// The turns of flows within a queue; first come, first served where `None`.
        turns: Option<Quanta>,
    },
    /// A [`FairQueue`] with these turns, or in the order of arrival if they are [`Quanta::WHOLE`].
    Fair(Quanta),
}

/// The interfaces of all hosts.
pub struct Interfaces {
    /// By host, flows that wait for its link; used where `nics` is not.
    pub(crate) flow_queues: Vec<FlowQueue>,
    /// Flows in all of these queues.
    pub(crate) queued_flows: u32,
    /// Interfaces with a queue for each destination, by host.
    pub(crate) nics: Option<Vec<Nic>>,
    /// Interfaces that serve flows in turn, by host.
    pub(crate) fair: Option<Vec<FairQueue>>,
    /// Whether flows of a queue take turns, where `nics` is used.
    turns: bool,
    /// Which changes of queues agents learn of.
    pub watch: QueueWatch,
    /// By host, where receive buffers are bounded.
    pub(crate) receive: Vec<ReceiveBuffer>,
    /// Pauses of hosts, where there are any.
    pub pauses: Option<Box<Pauses>>,
    /// A buffer for new rates.
    buckets: Vec<Bucket>,
}

impl Interfaces {
    /// Empty interfaces of this form.
    pub(crate) fn new(hosts: u32, form: InterfaceForm) -> Self {
        let (mut nics, mut fair, mut turns) = (None, None, None);
        match form {
            InterfaceForm::Plain => {}
            InterfaceForm::Queued { spec, gated, turns: quanta } => {
                nics = Some((0..hosts).map(|_| Nic::new(spec, gated, quanta)).collect());
                turns = quanta;
            }
            InterfaceForm::Fair(quanta) => fair = Some((0..hosts).map(|_| FairQueue::new(quanta)).collect()),
        }
        Self {
            flow_queues: (0..hosts).map(|_| FlowQueue::default()).collect(),
            queued_flows: 0,
            nics,
            fair,
            turns: turns.is_some(),
            watch: QueueWatch::Never,
            receive: Vec::new(),
            pauses: None,
            buckets: Vec::new(),
        }
    }

    /// Whether hosts hand packets over first come, first served.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.nics.is_none() && self.fair.is_none()
    }

    pub(crate) fn push_flow(&mut self, host: u32, key: u32, since: SimTime) {
        self.flow_queues[host as usize].push(key, since);
        self.queued_flows += 1;
    }

    pub(crate) fn pop_flow(&mut self, host: u32) {
        self.flow_queues[host as usize].pop();
        self.queued_flows -= 1;
    }

    /// Takes out all flows that wait at a plain host.
    pub(crate) fn take_flows(&mut self, host: u32) -> FlowQueue {
        let queue = std::mem::take(&mut self.flow_queues[host as usize]);
        self.queued_flows -= queue.iter().count() as u32;
        queue
    }

    pub(crate) fn note_arrival(&self, host: u32, was_empty: bool, news: &mut News) {
        let notifies = match self.watch {
            QueueWatch::Never => false,
            QueueWatch::Arrivals | QueueWatch::Everything => true,
            QueueWatch::Transitions => was_empty,
        };
        if notifies {
            news.queues_changed(host);
        }
    }

    pub(crate) fn note_departure(&self, host: u32, empty: bool, news: &mut News) {
        if empty && matches!(self.watch, QueueWatch::Transitions | QueueWatch::Everything) {
            news.queues_changed(host);
        }
    }

    /// Serves a queued or fair interface as soon as its link is free.
    pub(crate) fn wake(&mut self, wires: &mut Wires, now: SimTime, host: u32) {
        let free = wires.uplink(host).free_at();
        self.serve_at(wires, now.max(free), host);
    }

    /// Serves a queued or fair interface at `at` unless it is served earlier; a later event becomes
    /// stale.
    pub(crate) fn serve_at(&mut self, wires: &mut Wires, at: SimTime, host: u32) {
        let armed = match (&mut self.fair, &mut self.nics) {
            (Some(fair), _) => &mut fair[host as usize].armed,
            (None, Some(nics)) => &mut nics[host as usize].armed,
            (None, None) => return,
        };
        if at < *armed {
            *armed = at;
            wires.calendar.push(at, EventKind::Serve { sender: host }.key());
        }
    }

    /// How a host's interface takes the segments of TCP. One that is stopped takes and loses them.
    #[inline(always)]
    pub(crate) fn service(&self, host: u32) -> Service {
        match (&self.fair, &self.nics) {
            (Some(fair), _) if !fair[host as usize].is_stopped() && !fair[host as usize].at_once => Service::InTurn,
            (None, Some(nics)) if self.turns && !nics[host as usize].is_stopped() => Service::BehindGates,
            _ => Service::AtOnce,
        }
    }

    /// A flow has segments for an interface that serves flows in turn.
    pub(crate) fn offer(&mut self, wires: &mut Wires, news: &mut News, now: SimTime, offer: &Offer) {
        let host = offer.host as usize;
        if let Some(fair) = &mut self.fair {
            fair[host].flows.join(now, offer.flow, offer.class, offer.credit);
        } else if let Some(nics) = &mut self.nics {
            let was_empty = nics[host].push_offer(now, offer);
            self.note_arrival(offer.host, was_empty, news);
        }
        self.wake(wires, now, offer.host);
    }

    /// A flow that waits behind a gate has more segments, or other ones: the next one may now fit.
    pub(crate) fn grow(&mut self, wires: &mut Wires, news: &mut News, now: SimTime, host: u32) {
        self.note_arrival(host, false, news);
        self.wake(wires, now, host);
    }

    /// A flow that waits behind a gate has no segments any more. Returns its credit. The segment of
    /// the flow behind it may fit where its own did not.
    pub(crate) fn retract(&mut self, wires: &mut Wires, news: &mut News, now: SimTime, offer: &Offer) -> Option<i64> {
        let nic = &mut self.nics.as_mut()?[offer.host as usize];
        let (credit, empty) = nic.remove((offer.destination, offer.class), offer.flow);
        self.note_departure(offer.host, empty, news);
        self.wake(wires, now, offer.host);
        credit
    }

    /// A flow holds bytes for a queue of its host.
    pub(crate) fn queue_flow(
        &mut self,
        wires: &mut Wires,
        news: &mut News,
        now: SimTime,
        flow: QueuedFlow,
        ends: &mut Endpoints,
    ) {
        let Some(nics) = &mut self.nics else { return };
        let QueuedFlow { host, destination, key } = flow;
        let was_empty = nics[host as usize].push_flow(now, destination, key, wires.uplink(host), ends);
        self.note_arrival(host, was_empty, news);
        self.wake(wires, now, host);
    }

    /// Whether an acknowledgement need not wait for an event that serves a fair interface: nothing
    /// waits there, and acknowledgements go before all that may still come at this instant.
    #[inline]
    pub(crate) fn sends_at_once(&self, wires: &Wires, now: SimTime, host: u32) -> bool {
        let idle = |fair: &Vec<FairQueue>| fair[host as usize].is_idle();
        self.pauses.is_none() && self.fair.as_ref().is_some_and(idle) && wires.uplink(host).free_at() <= now
    }

    /// A packet joins a queue of its host; it comes back where the interface is stopped.
    pub(crate) fn queue_packet(
        &mut self,
        wires: &mut Wires,
        news: &mut News,
        now: SimTime,
        host: u32,
        packet: Packet,
    ) -> Result<(), Packet> {
        if let Some(fair) = &mut self.fair {
            let queue = &mut fair[host as usize];
            if queue.is_stopped() {
                return Err(packet);
            }
            queue.push_packet(packet);
            self.wake(wires, now, host);
            return Ok(());
        }
        let Some(nics) = &mut self.nics else { return Ok(()) };
        if nics[host as usize].is_stopped() {
            return Err(packet);
        }
        let was_empty = nics[host as usize].push_packet(now, packet, wires.uplink(host));
        self.note_arrival(host, was_empty, news);
        self.wake(wires, now, host);
        Ok(())
    }

    /// A queued or fair interface stops: the packets that it loses, and its flows if they `leave`.
    pub(crate) fn stop(&mut self, host: u32, leave: bool) -> (Vec<Packet>, Vec<u32>) {
        let mut flows = Vec::new();
        let mut lost = Vec::new();
        if let Some(nics) = &mut self.nics {
            lost = nics[host as usize].stop();
            if leave {
                flows = nics[host as usize].take_flows();
            }
        } else if let Some(fair) = &mut self.fair {
            let queue = &mut fair[host as usize];
            lost = queue.stop().into();
            if leave {
                flows = queue.flows.take().collect();
            }
        }
        (lost, flows)
    }

    /// Tells an interface what it may not start at `now`. Returns when to ask again if it then
    /// sends nothing; `MAX` where it is not in a pause.
    #[inline(always)]
    pub(crate) fn obey_pauses(&mut self, now: SimTime, host: u32) -> SimTime {
        if self.pauses.is_none() { SimTime::MAX } else { self.obey_own_pauses(now, host) }
    }

    #[inline(never)]
    fn obey_own_pauses(&mut self, now: SimTime, host: u32) -> SimTime {
        let Some(pauses) = &self.pauses else { return SimTime::MAX };
        let (held, until) = pauses.at(host, now);
        if let Some(fair) = &mut self.fair {
            fair[host as usize].held = held;
        } else if let Some(nics) = &mut self.nics {
            nics[host as usize].held = held;
        }
        until
    }

    /// A gate of a host opens. Adds the openings that have ended to `ended`, which is empty.
    pub(crate) fn open(
        &mut self,
        wires: &mut Wires,
        now: SimTime,
        host: u32,
        opening: GateOpening,
        ended: &mut Vec<GateOpening>,
    ) {
        let Some(nics) = &mut self.nics else { return };
        nics[host as usize].open(now, opening, ended);
        self.wake(wires, now, host);
    }

    /// Replaces rates of a host's queues, in the order of queues.
    pub(crate) fn pace(
        &mut self,
        wires: &mut Wires,
        now: SimTime,
        host: u32,
        updates: impl ExactSizeIterator<Item = RateUpdate> + Clone,
    ) {
        let Some(nics) = &mut self.nics else { return };
        nics[host as usize].pace(now, updates, &mut self.buckets);
        self.wake(wires, now, host);
    }

    /// A gate of a host closes at `at`.
    pub(crate) fn close(&mut self, at: SimTime, host: u32, queue: QueueId) {
        if let Some(nics) = &mut self.nics {
            nics[host as usize].close(at, queue);
        }
    }

    /// Moves the openings of a host that ended by `now` to `ended`.
    pub fn expire(&mut self, now: SimTime, host: u32, ended: &mut Vec<GateOpening>) {
        if let Some(nics) = &mut self.nics {
            nics[host as usize].expire(now, ended);
        }
    }

    /// The backlog of a host by destination, in this detail; its clock is `ahead` of
    /// the truth.
    pub(crate) fn backlog(
        &self,
        wires: &Wires,
        now: SimTime,
        host: u32,
        ahead: Duration,
        detail: Detail,
        ends: &Endpoints,
    ) -> Backlog {
        let of = |nics: &Vec<Nic>| nics[host as usize].backlog(now, wires.uplink(host), ahead, detail, ends);
        let mut backlog = self.nics.as_ref().map_or_else(Backlog::default, of);
        backlog.room = self.receive.get(host as usize).map(|buffer| buffer.room(now));
        backlog
    }

    /// Lets all interfaces send background flows outside of the gates, at this rate.
    pub fn set_background(&mut self, rate: Rate) {
        self.nics.iter_mut().flatten().for_each(|nic| nic.set_background(rate));
    }

    /// Leaves the backlog of a class out of all reports.
    pub fn leave_unreported(&mut self, class: u8) {
        self.nics.iter_mut().flatten().for_each(|nic| nic.leave_unreported(class));
    }

    /// Lets flows of a pair send in the order of what they hold.
    pub fn shortest_first(&mut self) {
        self.nics.iter_mut().flatten().for_each(Nic::shortest_first);
    }

    /// Gives the buckets of rates a depth of this many packets; at least 1.
    pub fn deepen(&mut self, packets: u32) {
        self.nics.iter_mut().flatten().for_each(|nic| nic.deepen(packets));
    }

    /// Makes all interfaces count the bytes that arrive.
    pub fn count_arrivals(&mut self) {
        self.nics.iter_mut().flatten().for_each(Nic::count_arrivals);
    }

    /// Packets in the queues of all interfaces.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let fair = self.fair.iter().flatten().flat_map(FairQueue::packets);
        self.nics.iter().flatten().flat_map(Nic::packets).chain(fair)
    }
}

/// A flow that joins a queue of its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedFlow {
    pub host: u32,
    pub destination: u32,
    pub key: u32,
}
