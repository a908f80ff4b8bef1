//! Expected wire bytes of a flow.
//!
//! The expectation is over its packets' sizes and its own random size.

use crate::numbers::{exp_minus, one_minus_exp};
use crate::packets::{Rule, WHOLE, largest_payload};
use timeplane_model::{Bytes, Framing};
use timeplane_scenario::PacketMix;

/// Length of a table of random packet sizes, in bytes of a flow. Beyond it, the function continues
/// with its mean slope.
const TABLE: usize = 1 << 20;

/// `w(s)`: expected wire bytes of a flow of `s` bytes. A table holds it up to some size; beyond,
/// `w(s + period) = w(s) + slope`.
///
/// It is exact for packets of one size. For random sizes, `w` is solved packet by packet (the first
/// packet's size, then a smaller flow) up to 1 MiB. Beyond that, the slope comes from the renewal
/// theorem. The pattern of the first packets has then faded to less than a packet's overhead: 1e-4
/// of a flow.
#[derive(Debug)]
pub(crate) struct FlowWire {
    w: Vec<f64>,
    /// Cumulative sums of `w` by size.
    sums: Vec<f64>,
    period: usize,
    slope: f64,
}

impl FlowWire {
    pub(crate) fn new(mix: &PacketMix, mtu: Bytes, headers: u32, framing: Framing) -> Self {
        let wire = |payload: u32| f64::from(framing.wire(payload + headers));
        match Rule::new(mix, mtu, headers) {
            // One packet per flow: linear from the minimum frame on.
            Rule::Even(WHOLE) => Self::of(std::iter::once(0.0).chain((1..=128).map(wire)).collect(), 1, 1.0),
            Rule::Even(p) => Self::of(std::iter::once(0.0).chain((1..=p).map(wire)).collect(), p as usize, wire(p)),
            Rule::Turns(sizes) => {
                let largest = largest_payload(mtu, headers);
                let turns = sizes.map(|size| size.saturating_sub(headers).clamp(1, largest));
                let first = (1..=turns[0]).map(wire);
                let second = (1..=turns[1]).map(|p| wire(turns[0]) + wire(p));
                let slope = wire(turns[0]) + wire(turns[1]);
                Self::of(
                    std::iter::once(0.0).chain(first).chain(second).collect(),
                    (turns[0] + turns[1]) as usize,
                    slope,
                )
            }
            Rule::Random(pieces) => {
                let largest = largest_payload(mtu, headers);
                // The pieces in payload bytes: clamping splits off atoms at 1 B and at the largest
                // payload.
                let mut parts: Vec<(u32, u32, f64)> = Vec::new();
                let mut before = 0;
                for piece in pieces.iter() {
                    let each =
                        (piece.below - before) as f64 / (1u64 << 32) as f64 / f64::from(piece.most - piece.least + 1);
                    before = piece.below;
                    let clamped = |size: u32| size.saturating_sub(headers).clamp(1, largest);
                    let mut size = piece.least;
                    while size <= piece.most {
                        let from = clamped(size);
                        // A run of sizes whose payloads count up by one, or are all clamped to the
                        // same value.
                        let run_end = if size <= headers {
                            piece.most.min(headers)
                        } else if from < largest {
                            piece.most.min(largest - 1 + headers)
                        } else {
                            piece.most
                        };
                        let probability = each * f64::from(run_end - size + 1);
                        parts.push((from, clamped(run_end), probability));
                        size = run_end + 1;
                    }
                }
                Self::random(&parts, largest as usize, wire)
            }
        }
    }

    /// Wire bytes equal to sizes: gives mean sizes where others give mean wire bytes.
    pub(crate) fn identity() -> Self {
        Self::of(vec![0.0, 1.0], 1, 1.0)
    }

    fn of(w: Vec<f64>, period: usize, slope: f64) -> Self {
        let mut sum = 0.0;
        let sums = w.iter().map(|&x| {
            sum += x;
            sum
        });
        Self { sums: sums.collect(), w, period, slope }
    }

    fn random(parts: &[(u32, u32, f64)], largest: usize, wire: impl Fn(u32) -> f64) -> Self {
        // Sums of wire bytes over payloads 1..=x.
        let mut wires = vec![0.0; largest + 1];
        for x in 1..=largest {
            wires[x] = wires[x - 1] + wire(x as u32);
        }
        let (mut w, mut sums) = (Vec::with_capacity(TABLE + 1), Vec::with_capacity(TABLE + 1));
        w.push(0.0);
        sums.push(0.0);
        for s in 1..=TABLE {
            let alone = if s <= largest { wire(s as u32) } else { 0.0 };
            let mut expected = 0.0;
            for &(from, to, probability) in parts {
                let (from, to) = (from as usize, to as usize);
                let each = probability / (to - from + 1) as f64;
                // First packets of these sizes leave something to send.
                let last = to.min(s - 1);
                if last >= from {
                    let rest = sums[s - from] - if s > last { sums[s - last - 1] } else { 0.0 };
                    expected += each * (wires[last] - wires[from - 1] + rest);
                }
                let alone_from = from.max(s);
                if to >= alone_from {
                    expected += each * (to - alone_from + 1) as f64 * alone;
                }
            }
            w.push(expected);
            sums.push(sums[s - 1] + expected);
        }
        let mean_wire: f64 =
            parts.iter().map(|&(a, b, p)| p * (wires[b as usize] - wires[a as usize - 1]) / f64::from(b - a + 1)).sum();
        let mean_payload: f64 = parts.iter().map(|&(a, b, p)| p * 0.5 * (f64::from(a) + f64::from(b))).sum();
        let period = TABLE / 2;
        Self { w, sums, period, slope: period as f64 * mean_wire / mean_payload }
    }

    fn table(&self) -> usize {
        self.w.len() - 1
    }

    /// Expected wire bytes of a flow of `size` bytes.
    pub(crate) fn at(&self, size: u64) -> f64 {
        let (table, period) = (self.table() as u64, self.period as u64);
        if size <= table {
            return self.w[size as usize];
        }
        let periods = (size - table).div_ceil(period);
        self.w[(size - periods * period) as usize] + periods as f64 * self.slope
    }

    /// The sum of `w` over the sizes 1 to `size`.
    fn sum(&self, size: u64) -> f64 {
        let (table, period) = (self.table(), self.period as u64);
        if size <= table as u64 {
            return self.sums[size as usize];
        }
        let first = table - self.period;
        let block = self.sums[table] - self.sums[first];
        let (whole, rest) = ((size - table as u64) / period, (size - table as u64) % period);
        let (whole_f, rest_f) = (whole as f64, rest as f64);
        let partial = self.sums[first + rest as usize] - self.sums[first] + rest_f * (whole_f + 1.0) * self.slope;
        self.sums[table] + whole_f * block + self.slope * period as f64 * whole_f * (whole_f + 1.0) / 2.0 + partial
    }

    /// The integral of `w(rounded t)` for `t` from 0 to `x`; sizes round to the nearest, halves up,
    /// at least to 1.
    fn integral(&self, x: f64) -> f64 {
        let n = (x + 0.5).floor();
        if n < 1.0 {
            return self.at(1) * x;
        }
        let n_u = n as u64;
        0.5 * self.at(1) + self.sum(n_u - 1) + (x - (n - 0.5)) * self.at(n_u)
    }

    /// Mean for sizes uniform between `a` and `b` (`a <= b`), rounded to whole bytes, at least 1.
    pub(crate) fn mean_uniform(&self, a: f64, b: f64) -> f64 {
        if b - a <= 1e-7 * b {
            return self.at(((0.5 * (a + b) + 0.5) as u64).max(1));
        }
        (self.integral(b) - self.integral(a)) / (b - a)
    }

    /// Mean for exponential sizes of this mean, rounded to whole bytes, at least 1: the sum over
    /// `s` of `(w(s) - w(s - 1)) P(size >= s)`.
    pub(crate) fn mean_exponential(&self, mean: f64) -> f64 {
        let increase = |s: u64| self.at(s) - self.at(s - 1);
        let table = self.table() as u64;
        let factor = exp_minus(1.0 / mean);
        let mut reached = exp_minus(1.5 / mean);
        let mut total = self.at(1);
        for s in 2..=table {
            total += increase(s) * reached;
            reached *= factor;
        }
        let mut tail = 0.0;
        for s in table + 1..=table + self.period as u64 {
            tail += increase(s) * reached;
            reached *= factor;
        }
        total + tail / one_minus_exp(self.period as f64 / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed forms against plain sums over every size.
    #[test]
    fn means_are_sums() {
        let mixes = [PacketMix::Mtu, PacketMix::Fixed(Bytes::new(90)), PacketMix::Single, PacketMix::Bimodal];
        for (mix, framing) in mixes.iter().flat_map(|m| [(m, Framing::Ethernet), (m, Framing::Ppp)]) {
            let wire = FlowWire::new(mix, Bytes::new(576), 28, framing);
            let sum: f64 = (1..=5_000).map(|s| wire.at(s)).sum();
            assert!((wire.sum(5_000) / sum - 1.0).abs() < 1e-12, "{mix:?}");
            // Sizes 3 to 4,000, of which the ends weigh half.
            let inner: f64 = (4..4_000).map(|s| wire.at(s)).sum();
            let uniform = (inner + 0.5 * (wire.at(3) + wire.at(4_000))) / 3_997.0;
            assert!((wire.mean_uniform(3.0, 4_000.0) / uniform - 1.0).abs() < 1e-12, "{mix:?}");
            for mean in [1.0f64, 30.0, 900.0] {
                let reached = |s: u64| if s == 1 { 1.0 } else { (-(s as f64 - 0.5) / mean).exp() };
                let exact: f64 = (1..40_000).map(|s| wire.at(s) * (reached(s) - reached(s + 1))).sum();
                assert!((wire.mean_exponential(mean) / exact - 1.0).abs() < 1e-9, "{mix:?} {mean}");
            }
        }
        assert_eq!(FlowWire::identity().mean_uniform(10.0, 20.0), 15.0);
        assert!((FlowWire::identity().mean_exponential(1e9) / 1e9 - 1.0).abs() < 1e-9);
    }

    /// Random sizes: a flow that always takes one packet, a flow that may take one or two, and the
    /// end of the table.
    #[test]
    fn random_packets_are_counted_exactly() {
        let wire = FlowWire::new(&PacketMix::Bimodal, Bytes::new(1500), 28, Framing::Ethernet);
        assert_eq!(wire.at(12), 84.0);
        // 100 B: small packets until a large one takes the rest.
        let (mut expected, mut likely) = (0.0, 1.0);
        for sent in 0..9 {
            let left = 100 - 12 * sent;
            let small: f64 = if left <= 12 { 1.0 } else { 0.4 };
            expected += likely * (small * 84.0 + (1.0 - small) * (f64::from(left) + 66.0).max(84.0));
            likely *= 0.4;
        }
        assert!((wire.at(100) - expected).abs() < 1e-6, "{} {expected}", wire.at(100));
        let seam = TABLE as u64;
        let slope = wire.at(seam + 1_000_000) - wire.at(seam);
        assert!((slope / (1e6 * (0.6 * 1538.0 + 0.4 * 84.0) / (0.6 * 1472.0 + 0.4 * 12.0)) - 1.0).abs() < 2e-4);
    }
}
