//! The circuit switch as a device: which ports it actually joins, which may differ from a schedule.
//!
//! A packet crosses it as light does, without a queue and without waiting for its end. It is lost
//! if its port is dark, or goes dark while it crosses (REACToR, section 2; Mordia, SIGCOMM 2013).

use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::collections::BTreeMap;
use timeplane_model::{Duration, Fabric, HostId, LinkId, Matching};
use timeplane_scenario::{Retune, RetuneTimes};
use timeplane_workload::Streams;

/// [`Packet::path`](crate::network::packet::Packet::path) of a packet that takes a circuit. No path
/// tag plus one equals it, as a tag names one of 255 links.
pub const CIRCUIT: u16 = u16::MAX;

/// A port towards a rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Port {
    /// The port where its light leaves, if it is joined to one.
    to: Option<u32>,
    /// Since when it is joined, or until when it is dark.
    since: SimTime,
}

#[derive(Debug)]
pub struct Circuits {
    /// By port: the link from its rack.
    up: Vec<LinkId>,
    /// By link: its port, if it comes from a rack.
    port_of: Vec<Option<u32>>,
    ports: Vec<Port>,
    /// By port: its rack switch.
    tor_of: Vec<u32>,
    /// By rack switch: its ports.
    of_tor: BTreeMap<u32, Vec<u32>>,
    /// By host: its switch.
    tor: Vec<u32>,
    /// By host: the port of its circuit, and where it leads.
    port: Vec<Option<(u32, HostId)>>,
    /// Ports whose wires are known to be dead.
    dead: Vec<bool>,
    times: RetuneTimes,
    retune: Retune,
    draws: Xoshiro256PlusPlus,
    /// How often it was retuned.
    pub retunes: u64,
}

impl Circuits {
    /// A switch with all ports dark, if the fabric has one.
    pub fn new(fabric: &Fabric, retune: Retune, times: RetuneTimes, streams: &Streams) -> Option<Self> {
        let switch = fabric.circuit_switch()?;
        let links = fabric.links().iter().enumerate().filter(|(_, l)| l.to == switch);
        let up: Vec<LinkId> = links.map(|(i, _)| LinkId(i as u32)).collect();
        let mut of_tor: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut port_of = vec![None; fabric.links().len()];
        for (port, &link) in up.iter().enumerate() {
            port_of[link.index()] = Some(port as u32);
            of_tor.entry(fabric.link(link).from.0).or_default().push(port as u32);
        }
        Some(Self {
            port_of,
            tor_of: up.iter().map(|&link| fabric.link(link).from.0).collect(),
            ports: vec![Port { to: None, since: SimTime::ZERO }; up.len()],
            of_tor,
            tor: (0..fabric.hosts()).map(|h| fabric.link(fabric.uplink(HostId(h))).to.0).collect(),
            port: vec![None; fabric.hosts() as usize],
            dead: vec![false; up.len()],
            up,
            times,
            retune,
            draws: streams.fast("circuits", 0, "dark times"),
            retunes: 0,
        })
    }

    /// From the next change on, uses the ports of all links but these.
    pub fn avoid(&mut self, links: &[LinkId]) {
        for (dead, up) in self.dead.iter_mut().zip(&self.up) {
            *dead = links.contains(up) || links.contains(&LinkId(up.0 ^ 1));
        }
    }

    /// Joins racks as the matching of their hosts asks, from now on. Pairs within a rack need no
    /// circuit. A host uses the port of its place in its rack if that is free, or else any other. A
    /// pair without a free port gets no circuit.
    pub fn retune(&mut self, now: SimTime, matching: &Matching) {
        let mut to = vec![None; self.ports.len()];
        let mut taken = vec![false; self.ports.len()];
        let mut port = vec![None; self.tor.len()];
        // A pair with a circuit keeps its ports, whatever the others do.
        for (source, destination) in matching.pairs() {
            if let Some((out, _)) = self.port[source.index()].filter(|p| p.1 == destination)
                && let Some(back) = self.ports[out as usize].to
                && !self.dead[out as usize]
                && !self.dead[back as usize]
            {
                to[out as usize] = Some(back);
                taken[back as usize] = true;
                port[source.index()] = Some((out, destination));
            }
        }
        for (source, destination) in matching.pairs() {
            let (a, b) = (self.tor[source.index()], self.tor[destination.index()]);
            if a == b || port[source.index()].is_some() {
                continue;
            }
            let place = |h: HostId, tor: u32| (0..h.0).rev().take_while(|&x| self.tor[x as usize] == tor).count();
            let (Some(outs), Some(ins)) = (self.of_tor.get(&a), self.of_tor.get(&b)) else { continue };
            let choose = |ports: &[u32], own: usize, is_free: &dyn Fn(u32) -> bool| {
                let own = ports.get(own % ports.len()).copied();
                own.into_iter().chain(ports.iter().copied()).find(|&p| is_free(p))
            };
            let out = choose(outs, place(source, a), &|p| to[p as usize].is_none() && !self.dead[p as usize]);
            let back = choose(ins, place(destination, b), &|p| !taken[p as usize] && !self.dead[p as usize]);
            if let (Some(out), Some(back)) = (out, back) {
                to[out as usize] = Some(back);
                port[source.index()] = Some((out, destination));
                taken[back as usize] = true;
            }
        }
        self.port = port;
        if self.ports.iter().zip(&to).all(|(p, t)| p.to == *t) {
            return;
        }
        self.retunes += 1;
        let uniform = (self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let dark = self.times.least + (self.times.most - self.times.least).scale(uniform);
        for (port, to) in self.ports.iter_mut().zip(to) {
            if self.retune == Retune::AllStop || port.to != to {
                *port = Port { to, since: now + dark };
            }
        }
    }

    /// The link from a rack that a host's circuit uses now, if it leads to the destination's rack.
    pub fn uplink(&self, source: HostId, destination: HostId) -> Option<LinkId> {
        let (port, _) = self.port.get(source.index()).copied().flatten()?;
        let to = self.ports[port as usize].to?;
        let leads = self.tor_of[to as usize] == self.tor[destination.index()];
        leads.then_some(self.up[port as usize])
    }

    /// The link on which a packet leaves. Its last bit arrives at `at`, after `line` of line time.
    /// `None` if the port was dark in that time.
    pub fn cross(&self, at: SimTime, link: u32, line: Duration) -> Option<LinkId> {
        let port = self.ports[self.port_of[link as usize]? as usize];
        let out = self.up[port.to? as usize];
        // The other direction of the wire of that port.
        (port.since <= at - line).then_some(LinkId(out.0 ^ 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeplane_model::{Framing, Hybrid, LinkSpec, Rate, Switch};

    const US: Duration = Duration::from_us(1);

    fn switch(retune: Retune) -> (Fabric, Circuits) {
        let spec =
            LinkSpec { rate: Rate::gbps(10), propagation: Duration::ZERO, framing: Framing::Ethernet, bit_error: 0.0 };
        let shape = Hybrid { tors: 4, hosts_per_tor: 1, packet_uplinks: 1, circuit_uplinks: 1 };
        let fabric = Fabric::hybrid(shape, Switch::default(), spec, spec, spec).unwrap();
        let times = RetuneTimes { least: US * 12, most: US * 12 };
        let circuits = Circuits::new(&fabric, retune, times, &Streams::new(1)).unwrap();
        (fabric, circuits)
    }
    fn matching(to: [u32; 4]) -> Matching {
        Matching::new(to.into_iter().map(|t| Some(HostId(t))).collect()).unwrap()
    }
    fn at(us: i64) -> SimTime {
        SimTime::ZERO + US * us
    }

    #[test]
    fn a_frame_crosses_whole_or_not_at_all() {
        let (fabric, mut circuits) = switch(Retune::AllStop);
        let up = fabric.circuit_uplinks(fabric.link(fabric.uplink(HostId(0))).to)[0];
        assert_eq!(circuits.cross(at(50), up.0, US), None);
        circuits.retune(at(0), &matching([1, 0, 3, 2]));
        assert_eq!(circuits.cross(at(13) - Duration::from_ps(1), up.0, US), None);
        let out = circuits.cross(at(13), up.0, US).unwrap();
        assert_eq!(fabric.link(out).to, fabric.link(fabric.uplink(HostId(1))).to);
        assert_eq!(circuits.uplink(HostId(0), HostId(1)), Some(up));
        assert_eq!(circuits.uplink(HostId(0), HostId(2)), None);
        // Setting the same matching again changes nothing.
        circuits.retune(at(20), &matching([1, 0, 3, 2]));
        assert!(circuits.cross(at(21), up.0, US).is_some() && circuits.retunes == 1);
    }

    #[test]
    fn only_moved_ports_go_dark_where_the_switch_can() {
        for (retune, stays) in [(Retune::AllStop, false), (Retune::Moved, true)] {
            let (fabric, mut circuits) = switch(retune);
            circuits.retune(at(0), &matching([1, 2, 3, 0]));
            // 0 -> 1 stays, the others move.
            circuits.retune(at(100), &matching([1, 3, 0, 2]));
            let up = |h| fabric.circuit_uplinks(fabric.link(fabric.uplink(HostId(h))).to)[0].0;
            assert_eq!(circuits.cross(at(105), up(0), US).is_some(), stays);
            assert!(circuits.cross(at(105), up(1), US).is_none() && circuits.cross(at(113), up(1), US).is_some());
        }
    }
}
