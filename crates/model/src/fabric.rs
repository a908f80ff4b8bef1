//! Fabrics: switches, links, and routing tables.
//!
//! Routes are all shortest paths by hops.

use crate::grant::PathTag;
use crate::hash::ecmp_index;
use crate::ids::{HostId, LinkId, NodeId};
use crate::units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Bytes that a link layer adds to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Ethernet: 38 B (preamble 8, header 14, FCS 4, interframe space 12), at least 84 B on the
    /// wire (IEEE 802.3, clause 3).
    #[default]
    Ethernet,
    /// Ethernet frames alone, without preamble and interframe space, as htsim and others count:
    /// 18 B, at least 64 B.
    EthernetFrame,
    /// Point-to-point protocol, as ns-3's point-to-point link: 2 B.
    Ppp,
    /// None: wire bytes equal packet bytes.
    None,
}

impl Framing {
    /// Bytes added to each packet.
    pub const fn overhead(self) -> u32 {
        match self {
            Self::Ethernet => 38,
            Self::EthernetFrame => 18,
            Self::Ppp => 2,
            Self::None => 0,
        }
    }
    /// Minimum size of a packet on the wire, in bytes.
    pub const fn minimum(self) -> u32 {
        match self {
            Self::Ethernet => 84,
            Self::EthernetFrame => 64,
            Self::Ppp | Self::None => 0,
        }
    }
    /// Wire bytes of a packet of `bytes`.
    #[inline]
    pub const fn wire(self, bytes: u32) -> u32 {
        let with = bytes + self.overhead();
        if with < self.minimum() { self.minimum() } else { with }
    }
    /// Largest packet of at most `wire` wire bytes; 0 if there is none.
    pub const fn payload_within(self, wire: u64) -> u64 {
        if wire < self.minimum() as u64 {
            return 0;
        }
        wire.saturating_sub(self.overhead() as u64)
    }
}

/// When a switch starts to forward a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// After its last bit has arrived.
    #[default]
    StoreAndForward,
    /// After its first 64 B have arrived, if the outgoing link is idle and not faster than the
    /// incoming one.
    CutThrough,
}

/// Bytes that a cut-through switch reads first: preamble 8, Ethernet 14, IP and transport 42.
pub const CUT_THROUGH_HEADER: u32 = 64;

/// Where a switch queues packets, and how many wire bytes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// No limit.
    #[default]
    Unbounded,
    /// Limit of each output port.
    PerPort(Bytes),
    /// One memory for all ports. A port takes at most `alpha` times the free memory (dynamic
    /// thresholds: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
    #[serde(rename_all = "snake_case")]
    Shared {
        /// The memory of the switch.
        memory: Bytes,
        /// Multiple of the free memory that one port may take; 0.125 to 8 in hardware.
        alpha: f64,
    },
    /// Memory of each input port. A packet takes its wire bytes from its last bit in to its last
    /// bit out; without room for the whole packet it is lost (`input_full`). Each output has a
    /// queue for each input and serves them round robin, packet by packet. The crossbar never
    /// blocks: an input may send to several outputs at once. Store-and-forward only.
    PerInput(Bytes),
}

/// Priority flow control (IEEE 802.1Qbb, in 802.1Q clause 36): a switch pauses senders that exceed
/// its buffer.
///
/// A switch counts its wire bytes per input and priority, from a packet's last bit in to its last
/// bit out. If these leave no room below `pause_at` for another frame of the MTU, it sends a PFC
/// frame back. When they have fallen to `resume_at`, it sends another one. The port that receives
/// it finishes its current frame and starts no other of this priority.
///
/// Pauses last until they are revoked; real switches repeat them. PFC frames have no bit errors,
/// and links do not count their bytes. A packet's priority is its class, and the lowest class goes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Pfc {
    /// Limit of an input and priority before it is paused, in wire bytes.
    pub pause_at: Bytes,
    /// Level at which it resumes.
    pub resume_at: Bytes,
    /// Buffer above `pause_at` for frames in flight. By default it suffices on each link to lose
    /// nothing; with less, packets may be dropped (`input_full`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Time from a PFC frame's last bit until the port starts no more frames. 802.1Qbb allows 614.4
    /// ns at 10 Gb/s.
    #[serde(default = "pfc_reaction")]
    pub reaction: Duration,
}

const fn pfc_reaction() -> Duration {
    Duration::from_ps(614_400)
}

impl Pfc {
    /// Wire bytes of a PFC frame: minimum Ethernet frame, preamble and interframe space.
    pub const FRAME: u32 = 84;
    /// Number of priorities.
    pub const PRIORITIES: usize = 8;

    /// Headroom with which a link loses nothing.
    ///
    /// It covers the rate over two propagation delays and the reaction, two frames of the MTU, and
    /// the PFC frame. The PFC frame waits for one of these frames; its receiver finishes the other.
    pub fn headroom(&self, link: &LinkSpec, mtu: u32) -> Bytes {
        let time = (link.propagation * 2 + self.reaction).as_ps().max(0) as u128;
        let flying = (time * u128::from(link.rate.as_bps())).div_ceil(8_000_000_000_000);
        let frames = 2 * u64::from(link.framing.wire(mtu)) + u64::from(Self::FRAME);
        Bytes::new(u64::try_from(flying).unwrap_or(u64::MAX).saturating_add(frames))
    }
}

/// A packet switch with output queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields, default)]
pub struct Switch {
    /// Time from a packet's arrival to its place in an output queue.
    pub latency: Duration,
    /// Store-and-forward or cut-through.
    pub forwarding: Forwarding,
    /// Limit of the output queues.
    pub buffer: Buffer,
    /// Marks packets (Congestion Experienced) that find at least this many wire bytes in their
    /// output queue: DCTCP's step marking, RFC 8257 section 3.1.
    pub ecn: Option<Bytes>,
    /// Pauses senders instead of dropping packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Pfc>,
}

/// Parameters of a wire, equal in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Bits per second.
    pub rate: Rate,
    /// Time from the end of sending to the end of receiving.
    pub propagation: Duration,
    /// Framing of the link layer.
    pub framing: Framing,
    /// Probability of a bit error; frames with an error are dropped on arrival.
    pub bit_error: f64,
}

/// One direction of a wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The sending end.
    pub from: NodeId,
    /// The receiving end.
    pub to: NodeId,
    /// Rate, propagation, framing, errors.
    pub spec: LinkSpec,
}

/// A node of a fabric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// An end point.
    Host(HostId),
    /// A packet switch.
    Switch(Switch),
}

/// Nodes and links do not form a fabric.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FabricError {
    /// Fewer than two hosts.
    #[error("a fabric has at least two hosts, this one has {hosts}")]
    TooFewHosts {
        /// Number of hosts.
        hosts: u32,
    },
    /// A dimension of a topology is zero, or odd but must be even.
    #[error("{what} is {found}: {allowed}")]
    Dimension {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        found: u64,
        /// Description of valid values.
        allowed: &'static str,
    },
    /// A link names an unknown node, or joins a node to itself.
    #[error("link {link} joins node {node}, {reason}")]
    Link {
        /// Number of the wire, in input order.
        link: usize,
        /// Number of the node.
        node: u32,
        /// Violated rule.
        reason: &'static str,
    },
    /// A host has more than one wire, or none.
    #[error("host {host} has {wires} wires: a host of a packet fabric has one")]
    HostWires {
        /// Number of the host.
        host: u32,
        /// Number of its wires.
        wires: usize,
    },
    /// Some hosts cannot reach each other.
    #[error("the fabric is disconnected: host {from} cannot reach host {to}")]
    Disconnected {
        /// A host without a route.
        from: u32,
        /// A host that the other one cannot reach.
        to: u32,
    },
}

/// Hosts, switches, links and routes.
///
/// Hosts are nodes `0..hosts`, switches follow. Wire `k` is links `2k` and `2k + 1`, the first in
/// the given direction. Routes are all shortest paths by hops; hosts of one switch share their
/// routes.
#[derive(Clone, Debug)]
pub struct Fabric {
    hosts: u32,
    nodes: Vec<Node>,
    links: Vec<Link>,
    /// Per host, the link into the fabric.
    uplink: Vec<LinkId>,
    /// Per host, its switch's number (from 0), or its own group for directly joined hosts.
    group: Vec<u32>,
    groups: u32,
    /// Per switch, whether hosts are joined to it.
    has_hosts: Vec<bool>,
    /// The switch whose ports a controller joins, which no route crosses.
    circuit_switch: Option<NodeId>,
    /// How many of the last switches are rotor switches.
    pub(crate) rotors: u32,
    /// Per (switch, group): position and number of its candidates in `sets`.
    table: Vec<(u32, u32)>,
    sets: Vec<LinkId>,
    /// Per link, whether routes avoid it; empty if they avoid none.
    dead: Vec<bool>,
}

impl Fabric {
    /// A fabric of `hosts` hosts, these switches and these wires.
    ///
    /// # Errors
    /// If a link names an unknown node, a host does not have exactly one wire, or hosts cannot
    /// reach each other.
    pub fn new(hosts: u32, switches: Vec<Switch>, wires: &[(NodeId, NodeId, LinkSpec)]) -> Result<Self, FabricError> {
        Self::beside(hosts, switches, wires, None)
    }

    /// A fabric with a circuit switch, which only granted circuits cross.
    pub(crate) fn beside(
        hosts: u32,
        switches: Vec<Switch>,
        wires: &[(NodeId, NodeId, LinkSpec)],
        circuit_switch: Option<NodeId>,
    ) -> Result<Self, FabricError> {
        if hosts < 2 {
            return Err(FabricError::TooFewHosts { hosts });
        }
        let count = hosts as usize + switches.len();
        let nodes: Vec<Node> =
            (0..hosts).map(|h| Node::Host(HostId(h))).chain(switches.into_iter().map(Node::Switch)).collect();
        let mut links = Vec::with_capacity(2 * wires.len());
        let mut out: Vec<Vec<LinkId>> = vec![Vec::new(); count];
        for (k, &(a, b, spec)) in wires.iter().enumerate() {
            for node in [a, b] {
                if node.index() >= count {
                    return Err(FabricError::Link { link: k, node: node.0, reason: "which does not exist" });
                }
            }
            if a == b {
                return Err(FabricError::Link { link: k, node: a.0, reason: "to itself" });
            }
            for (from, to) in [(a, b), (b, a)] {
                out[from.index()].push(LinkId(links.len() as u32));
                links.push(Link { from, to, spec });
            }
        }
        let mut uplink = Vec::with_capacity(hosts as usize);
        for h in 0..hosts {
            match out[h as usize][..] {
                [one] => uplink.push(one),
                ref other => return Err(FabricError::HostWires { host: h, wires: other.len() }),
            }
        }
        let mut fabric = Self {
            hosts,
            nodes,
            links,
            uplink,
            group: vec![],
            groups: 0,
            has_hosts: vec![],
            circuit_switch,
            rotors: 0,
            table: vec![],
            sets: vec![],
            dead: vec![],
        };
        fabric.route(&out)?;
        Ok(fabric)
    }

    /// The same fabric with routes that avoid these links' wires: all shortest paths of the rest.
    ///
    /// Wires are avoided in both directions, whichever link is named. Each call starts from the
    /// full fabric. Pairs may lose their route, see [`reaches`](Self::reaches). Hosts of one switch
    /// still share routes: a packet to a host with a dead wire reaches its switch.
    ///
    /// # Panics
    /// If a link does not exist.
    #[must_use]
    pub fn without(&self, dead: impl IntoIterator<Item = LinkId>) -> Self {
        let mut fabric = Self {
            groups: 0,
            group: vec![],
            has_hosts: vec![],
            table: vec![],
            sets: vec![],
            dead: vec![false; self.links.len()],
            nodes: self.nodes.clone(),
            links: self.links.clone(),
            uplink: self.uplink.clone(),
            hosts: self.hosts,
            circuit_switch: self.circuit_switch,
            rotors: self.rotors,
        };
        for link in dead {
            fabric.dead[link.index()] = true;
            fabric.dead[link.index() ^ 1] = true;
        }
        let mut out: Vec<Vec<LinkId>> = vec![Vec::new(); self.nodes.len()];
        for (l, link) in self.links.iter().enumerate().filter(|(l, _)| !fabric.dead[*l]) {
            out[link.from.index()].push(LinkId(l as u32));
        }
        fabric.route(&out).expect("only a whole fabric has to be connected");
        fabric
    }

    /// The same fabric with other rates on these links. Routes do not change, because they count
    /// hops.
    ///
    /// # Panics
    /// If a link does not exist.
    #[must_use]
    pub fn with_rates(&self, rates: impl IntoIterator<Item = (LinkId, Rate)>) -> Self {
        let mut fabric = self.clone();
        for (link, rate) in rates {
            fabric.links[link.index()].spec.rate = rate;
        }
        fabric
    }

    /// The same fabric with other properties of these links. Routes do not change.
    ///
    /// # Panics
    /// If a link does not exist.
    #[must_use]
    pub fn with_specs(mut self, specs: impl IntoIterator<Item = (LinkId, LinkSpec)>) -> Self {
        for (link, spec) in specs {
            self.links[link.index()].spec = spec;
        }
        self
    }

    /// Whether routes avoid a link.
    pub fn is_dead(&self, link: LinkId) -> bool {
        self.dead.get(link.index()).is_some_and(|d| *d)
    }

    /// Whether a route exists; false only in a fabric [without](Self::without) some links.
    pub fn reaches(&self, from: HostId, to: HostId) -> bool {
        if self.dead.is_empty() {
            return true;
        }
        let uplink = self.uplink(from);
        if self.is_dead(uplink) || self.is_dead(self.downlink(to)) {
            return false;
        }
        let at = self.link(uplink).to;
        at == to.node() || self.candidates(at, to) != Candidates::Set(&[])
    }

    /// The links that begin or end at a node, by number.
    pub fn links_of(&self, node: NodeId) -> Vec<LinkId> {
        let at = |l: &Link| l.from == node || l.to == node;
        self.links.iter().enumerate().filter(|(_, l)| at(l)).map(|(l, _)| LinkId(l as u32)).collect()
    }

    /// Breadth-first search towards each group of hosts. A switch keeps every link that brings a
    /// packet nearer.
    fn route(&mut self, out: &[Vec<LinkId>]) -> Result<(), FabricError> {
        let hosts = self.hosts as usize;
        let switches = self.nodes.len() - hosts;
        // A group is the switch of its hosts. Two hosts joined by a wire have no switch and need no
        // table.
        self.groups = switches as u32;
        self.group = (0..hosts)
            .map(|h| {
                let to = self.links[self.uplink[h].index()].to.index();
                if to < hosts { u32::MAX } else { (to - hosts) as u32 }
            })
            .collect();
        self.table = vec![(0, 0); switches * switches];
        let mut occupied = vec![None; switches];
        for h in 0..hosts {
            match self.group[h] {
                u32::MAX if hosts == 2 => {}
                u32::MAX => {
                    let peer = self.links[self.uplink[h].index()].to.0;
                    let to = (0..self.hosts).find(|&x| x != h as u32 && x != peer).unwrap_or(peer);
                    return Err(FabricError::Disconnected { from: h as u32, to });
                }
                g => {
                    occupied[g as usize].get_or_insert(h as u32);
                }
            }
        }
        self.has_hosts = occupied.iter().map(Option::is_some).collect();
        let mut distance = vec![u32::MAX; switches];
        let mut queue = VecDeque::new();
        let mut scratch: Vec<LinkId> = Vec::new();
        for g in 0..switches {
            let Some(to) = occupied[g] else { continue };
            distance.fill(u32::MAX);
            distance[g] = 0;
            queue.push_back(g);
            while let Some(s) = queue.pop_front() {
                for &l in &out[hosts + s] {
                    let next = self.links[l.index()].to.index();
                    let routed = self.circuit_switch.is_none_or(|c| c.index() != next);
                    if next >= hosts && routed && distance[next - hosts] == u32::MAX {
                        distance[next - hosts] = distance[s] + 1;
                        queue.push_back(next - hosts);
                    }
                }
            }
            for s in 0..switches {
                if s == g {
                    continue;
                }
                if distance[s] == u32::MAX {
                    if let Some(from) = occupied[s].filter(|_| self.dead.is_empty()) {
                        return Err(FabricError::Disconnected { from, to });
                    }
                    continue;
                }
                scratch.clear();
                scratch.extend(out[hosts + s].iter().copied().filter(|l| {
                    let next = self.links[l.index()].to.index();
                    next >= hosts && distance[next - hosts].wrapping_add(1) == distance[s]
                }));
                let row = s * switches + g;
                // Neighboring destinations mostly share a set: reuse this switch's last one.
                let previous = if g > 0 { self.table[row - 1] } else { (0, 0) };
                let range = previous.0 as usize..(previous.0 + previous.1) as usize;
                self.table[row] = if previous.1 > 0 && self.sets[range] == scratch[..] {
                    previous
                } else {
                    let at = self.sets.len() as u32;
                    self.sets.extend_from_slice(&scratch);
                    (at, scratch.len() as u32)
                };
            }
        }
        Ok(())
    }

    /// Number of hosts.
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }
    /// All nodes: hosts, then switches.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.nodes.len() - self.hosts as usize
    }
    /// The switch at a node; `None` for hosts.
    pub fn switch(&self, node: NodeId) -> Option<&Switch> {
        match self.nodes.get(node.index()) {
            Some(Node::Switch(s)) => Some(s),
            _ => None,
        }
    }
    /// All links, two for each wire.
    pub fn links(&self) -> &[Link] {
        &self.links
    }
    /// The link with this number.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }
    /// A host's link into the fabric.
    pub fn uplink(&self, host: HostId) -> LinkId {
        self.uplink[host.index()]
    }
    /// The link that ends at a host: the other direction of its wire.
    pub fn downlink(&self, host: HostId) -> LinkId {
        LinkId(self.uplink[host.index()].0 ^ 1)
    }

    /// Links that bring a packet at switch `at` nearer to host `to`, by number, with the host's own
    /// link last.
    ///
    /// Empty without a route, in a fabric [without](Self::without) some links.
    #[inline]
    pub fn candidates(&self, at: NodeId, to: HostId) -> Candidates<'_> {
        let s = at.0 - self.hosts;
        let g = self.group[to.index()];
        if s == g {
            let link = self.downlink(to);
            return if self.is_dead(link) { Candidates::Set(&[]) } else { Candidates::Host(link) };
        }
        let (start, n) = self.table[(s * self.groups + g) as usize];
        Candidates::Set(&self.sets[start as usize..(start + n) as usize])
    }

    /// The link that switch `at` takes for a packet of hash `hash` to host `to`.
    ///
    /// # Panics
    /// If there is no route.
    #[inline]
    pub fn next_link(&self, at: NodeId, to: HostId, hash: u32) -> LinkId {
        match self.candidates(at, to) {
            Candidates::Host(link) => link,
            Candidates::Set([one]) => *one,
            Candidates::Set(set) => set[ecmp_index(hash, at.0, set.len() as u32) as usize],
        }
    }

    /// The links that a packet of this hash crosses, first to last.
    ///
    /// # Panics
    /// If there is no route.
    pub fn path(&self, from: HostId, to: HostId, hash: u32) -> Vec<LinkId> {
        let mut path = vec![self.uplink(from)];
        loop {
            let at = self.link(path[path.len() - 1]).to;
            if at == to.node() {
                return path;
            }
            path.push(self.next_link(at, to, hash));
        }
    }

    /// The links that a packet with this tag crosses.
    ///
    /// # Panics
    /// If there is no route.
    pub fn tagged_path(&self, from: HostId, to: HostId, tag: PathTag) -> Vec<LinkId> {
        let mut path = vec![self.uplink(from)];
        loop {
            let at = self.link(path[path.len() - 1]).to;
            if at == to.node() {
                return path;
            }
            path.push(self.tagged_link(at, to, tag));
        }
    }

    /// Link that switch `at` takes for a packet with this tag, see [`PathTag`].
    ///
    /// If there are fewer paths than the tag was made for, it counts modulo their number.
    ///
    /// # Panics
    /// If there is no route.
    #[inline]
    pub fn tagged_link(&self, at: NodeId, to: HostId, tag: PathTag) -> LinkId {
        match self.candidates(at, to) {
            Candidates::Host(link) => link,
            Candidates::Set(set) => {
                let shift = if self.has_hosts[(at.0 - self.hosts) as usize] { 0 } else { 8 };
                set[usize::from(tag.0 >> shift & 0xff) % set.len()]
            }
        }
    }

    /// The circuit switch, if any.
    pub const fn circuit_switch(&self) -> Option<NodeId> {
        self.circuit_switch
    }

    /// Whether hosts are joined to a switch.
    pub fn has_hosts(&self, switch: NodeId) -> bool {
        self.has_hosts[(switch.0 - self.hosts) as usize]
    }

    /// Whether all packets between two hosts take the same links; false without a route.
    pub fn is_single_path(&self, from: HostId, to: HostId) -> bool {
        let mut at = self.link(self.uplink(from)).to;
        while at != to.node() {
            at = match self.candidates(at, to) {
                Candidates::Host(link) => self.link(link).to,
                Candidates::Set([one]) => self.link(*one).to,
                Candidates::Set(_) => return false,
            };
        }
        true
    }

    /// Load of each link relative to its rate, if each pair splits evenly over all its shortest
    /// paths.
    ///
    /// `bytes(from, to)` are wire bytes. In a single-path fabric, the most loaded link bounds any
    /// routing.
    pub fn utilization(&self, pairs: impl IntoIterator<Item = (HostId, HostId, f64)>) -> Utilization {
        let mut bytes = vec![0.0; self.links.len()];
        // Pairs of the same switches split alike: add them up first.
        let switches = self.switches();
        let mut between = vec![0.0; switches * switches];
        for (from, to, b) in pairs {
            bytes[self.uplink(from).index()] += b;
            if self.link(self.uplink(from)).to == to.node() {
                continue;
            }
            bytes[self.downlink(to).index()] += b;
            let (s, g) = (self.group[from.index()], self.group[to.index()]);
            between[s as usize * switches + g as usize] += b;
        }
        let mut at = vec![0.0; switches];
        for g in 0..switches {
            at.fill(0.0);
            let mut pending: VecDeque<usize> = VecDeque::new();
            for s in 0..switches {
                let b = between[s * switches + g];
                if b > 0.0 && s != g {
                    at[s] += b;
                    pending.push_back(s);
                }
            }
            while let Some(s) = pending.pop_front() {
                let share = std::mem::take(&mut at[s]);
                if s == g || share == 0.0 {
                    continue;
                }
                let (start, n) = self.table[s * switches + g];
                for &l in &self.sets[start as usize..(start + n) as usize] {
                    bytes[l.index()] += share / f64::from(n);
                    let next = self.link(l).to.index() - self.hosts as usize;
                    if at[next] == 0.0 {
                        pending.push_back(next);
                    }
                    at[next] += share / f64::from(n);
                }
            }
        }
        let seconds: Vec<f64> =
            bytes.iter().zip(&self.links).map(|(b, l)| b * 8.0 / l.spec.rate.as_bps() as f64).collect();
        Utilization { seconds }
    }
}

/// Where a switch may send a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Candidates<'a> {
    /// The destination is joined to this switch.
    Host(LinkId),
    /// Each of these links is on a shortest path; empty if there is no route.
    Set(&'a [LinkId]),
}

/// Time that each link needs for a demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilization {
    seconds: Vec<f64>,
}

impl Utilization {
    /// Seconds of line time, per link.
    pub fn seconds(&self) -> &[f64] {
        &self.seconds
    }
    /// The link that needs longest, and how long in seconds.
    pub fn bottleneck(&self) -> (LinkId, f64) {
        let (mut link, mut most) = (0, 0.0);
        for (l, &s) in self.seconds.iter().enumerate() {
            if s > most {
                (link, most) = (l, s);
            }
        }
        (LinkId(link as u32), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: LinkSpec =
        LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };

    #[test]
    fn framing_is_ethernets() {
        assert_eq!(Framing::Ethernet.wire(1500), 1538);
        assert_eq!(Framing::Ethernet.wire(40), 84);
        assert_eq!(Framing::Ethernet.payload_within(1538), 1500);
        assert_eq!(Framing::Ethernet.payload_within(83), 0);
        let frame = Framing::EthernetFrame;
        assert_eq!([1482, 46, 1].map(|bytes| frame.wire(bytes)), [1500, 64, 64]);
        assert_eq!((frame.payload_within(1518), frame.payload_within(63)), (1500, 0));
        assert_eq!(Framing::Ppp.wire(1498), 1500);
    }

    #[test]
    fn what_is_no_fabric_is_refused() {
        let n = NodeId;
        let sw = || vec![Switch::default()];
        let err = |hosts, sws, wires: &[(NodeId, NodeId, LinkSpec)]| Fabric::new(hosts, sws, wires).unwrap_err();
        assert_eq!(err(1, sw(), &[]), FabricError::TooFewHosts { hosts: 1 });
        assert!(matches!(err(2, sw(), &[(n(0), n(9), SPEC)]), FabricError::Link { node: 9, .. }));
        assert!(matches!(err(2, sw(), &[(n(0), n(0), SPEC)]), FabricError::Link { node: 0, .. }));
        assert_eq!(err(2, sw(), &[(n(0), n(2), SPEC)]), FabricError::HostWires { host: 1, wires: 0 });
        let two = vec![Switch::default(); 2];
        let split = [(n(0), n(2), SPEC), (n(1), n(3), SPEC)];
        assert!(matches!(err(2, two, &split), FabricError::Disconnected { .. }));
    }

    #[test]
    fn other_rates_change_no_route() {
        let n = NodeId;
        // Two paths between two switches.
        let wires = [(n(0), n(2), SPEC), (n(1), n(3), SPEC), (n(2), n(3), SPEC), (n(2), n(3), SPEC)];
        let fabric = Fabric::new(2, vec![Switch::default(); 2], &wires).unwrap();
        let slow = fabric.with_rates([(LinkId(4), Rate::mbps(1))]);
        for (l, (link, before)) in slow.links().iter().zip(fabric.links()).enumerate() {
            let rate = if l == 4 { Rate::mbps(1) } else { SPEC.rate };
            assert_eq!((link.spec.rate, link.from, link.to), (rate, before.from, before.to));
        }
        for hash in 0..50 {
            assert_eq!(slow.path(HostId(0), HostId(1), hash), fabric.path(HostId(0), HostId(1), hash));
        }
        // Links that are avoided stay so.
        assert!(fabric.without([LinkId(6)]).with_rates([(LinkId(4), Rate::mbps(1))]).is_dead(LinkId(7)));
    }

    #[test]
    fn two_hosts_on_a_wire_are_a_fabric() {
        let f = Fabric::new(2, vec![], &[(NodeId(0), NodeId(1), SPEC)]).unwrap();
        assert_eq!(f.path(HostId(0), HostId(1), 0), vec![LinkId(0)]);
        assert_eq!(f.path(HostId(1), HostId(0), 0), vec![LinkId(1)]);
    }
}
