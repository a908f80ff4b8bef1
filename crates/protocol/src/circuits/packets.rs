//! Rates of packets beside circuits, for all pairs of hosts.
//!
//! Every pair without a circuit has a rate, and few have a backlog. Rates change every period, so
//! they are computed without a visit to each pair where possible, and without new memory.

use super::{CircuitController, SLACK};
use timeplane_model::{Demand, HostId, Rate};
use timeplane_schedule::circuits::Uptime;
use timeplane_schedule::rates::{AllPairs, Hosts, Levels, Offered};

/// Rates of packets by pair, zero for pairs without one.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketRates {
    hosts: usize,
    /// Row by row: a row is a source.
    rates: Vec<Rate>,
    /// By host, the sum of what it sends and of what it receives.
    sums: [Vec<Rate>; 2],
    filling: AllPairs,
    without: Vec<(u32, u32)>,
    offered: Vec<Offered>,
    /// Rates for the backlogs of the offers.
    first: Vec<f64>,
}

impl PacketRates {
    /// The rate of a pair.
    pub fn get(&self, source: HostId, destination: HostId) -> Rate {
        self.row(source)[destination.index()]
    }

    /// The rates of a source, by destination.
    pub fn row(&self, source: HostId) -> &[Rate] {
        &self.rates[source.index() * self.hosts..][..self.hosts]
    }

    /// By host, the sum of what it sends and of what it receives.
    pub fn sums(&self) -> &[Vec<Rate>; 2] {
        &self.sums
    }

    /// No rates among these hosts.
    fn clear(&mut self, hosts: usize) {
        self.hosts = hosts;
        self.rates.clear();
        self.rates.resize(hosts * hosts, Rate::ZERO);
        for sum in &mut self.sums {
            sum.clear();
            sum.resize(hosts, Rate::ZERO);
        }
    }

    /// The rates of these pairs of `hosts` hosts; those of all others are zero.
    #[cfg(test)]
    pub fn of(hosts: usize, pairs: impl Iterator<Item = (u32, u32, Rate)>) -> Self {
        let mut packets = Self::default();
        packets.clear(hosts);
        pairs.for_each(|(i, j, rate)| packets.rates[i as usize * hosts + j as usize] = rate);
        packets.add_up();
        packets
    }

    /// Computes the sums.
    fn add_up(&mut self) {
        let [sent, received] = &mut self.sums;
        let add = |a: Rate, b: Rate| Rate::bps(a.as_bps().saturating_add(b.as_bps()));
        received.fill(Rate::ZERO);
        for (row, sent) in self.rates.chunks_exact(self.hosts.max(1)).zip(sent) {
            *sent = row.iter().fold(Rate::ZERO, |sum, &rate| add(sum, rate));
            for (sum, &rate) in received.iter_mut().zip(row) {
                *sum = add(*sum, rate);
            }
        }
    }

    /// Sets the rates of all pairs: those of levels, and of offers the first ones as well.
    fn set_all(&mut self, levels: &Levels) {
        let n = self.hosts;
        let whole = |(turn, rate): (u32, f64)| (turn, Rate::bps(rate.floor() as u64));
        let receivers: Vec<(u32, Rate)> = (0..n as u32).map(|j| whole(levels.receiver(j))).collect();
        for (i, row) in (0..).zip(self.rates.chunks_exact_mut(n.max(1))) {
            let sender = whole(levels.sender(i));
            for (rate, receiver) in row.iter_mut().zip(&receivers) {
                *rate = if sender.0 < receiver.0 { sender.1 } else { receiver.1 };
            }
        }
        for (o, first) in self.offered.iter().zip(&self.first) {
            let rate = (first + levels.rate(o.source, o.destination)).floor();
            self.rates[o.source as usize * n + o.destination as usize] = Rate::bps(rate as u64);
        }
        for host in 0..n {
            self.rates[host * n + host] = Rate::ZERO;
        }
        for &(i, j) in &self.without {
            self.rates[i as usize * n + j as usize] = Rate::ZERO;
        }
    }
}

impl CircuitController {
    /// Rates of pairs without a circuit in this period. The backlog is spread over the period. All
    /// pairs get equal parts of a share of the rest, as future demand is unknown.
    pub(super) fn set_packet_rates(&self, packets: &mut PacketRates, demand: &Demand, ups: &[Uptime]) {
        let c = &self.config;
        let hosts = c.racks.len();
        packets.clear(hosts);
        let capacity = c.circuits.packet.as_bps() as f64 * (1.0 - c.acknowledgements);
        if capacity < 1.0 {
            return;
        }
        packets.without.clear();
        packets.without.extend(ups.iter().map(|up| (up.source.0, up.destination.0)));
        if !self.dead.is_empty() {
            let all = (0..hosts as u32).flat_map(|i| (0..hosts as u32).map(move |j| (i, j)));
            packets.without.extend(all.filter(|&(i, j)| i != j && !self.has_packets(HostId(i), HostId(j))));
        }
        packets.without.sort_unstable();
        packets.without.dedup();
        let seconds = c.circuits.window.as_secs_f64();
        packets.offered.clear();
        for (source, row) in (0..).zip(demand.rows()) {
            for entry in row.entries() {
                let destination = entry.destination.0;
                if packets.without.binary_search(&(source, destination)).is_err() {
                    let rate = entry.bytes.get() as f64 * 8.0 / seconds;
                    packets.offered.push(Offered { source, destination, rate });
                }
            }
        }
        packets.filling.leave_out(hosts as u32, &packets.without);
        let all = vec![capacity; hosts];
        let (mut send, mut receive) = (all.clone(), all.clone());
        packets.filling.demanded(&Hosts::new(all.clone(), all), &packets.offered, &mut packets.first);
        for (o, rate) in packets.offered.iter().zip(&packets.first) {
            send[o.source as usize] = (send[o.source as usize] - rate).max(0.0);
            receive[o.destination as usize] = (receive[o.destination as usize] - rate).max(0.0);
        }
        for left in send.iter_mut().chain(&mut receive) {
            *left *= c.unreported;
        }
        let mut filling = std::mem::take(&mut packets.filling);
        packets.set_all(filling.unlimited(&Hosts::new(send, receive)));
        packets.filling = filling;
        packets.add_up();
    }

    /// The rates of each host's circuits beside its packets: to send, and to receive.
    pub(super) fn limits(&self, packets: &PacketRates) -> [Vec<Rate>; 2] {
        let c = &self.config;
        let reserved = c.reserved(c.acknowledgements + SLACK);
        let room = |sum: &Rate| {
            let used = reserved + if c.limits { sum.as_bps() } else { 0 };
            Rate::bps(c.line.as_bps().saturating_sub(used).min(c.circuit.as_bps()))
        };
        packets.sums().each_ref().map(|side| side.iter().map(room).collect())
    }
}
