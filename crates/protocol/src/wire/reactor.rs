//! REACToR's host control protocol: two UDP packets per period.
//!
//! In "Circuit switching under the radar with REACToR" (NSDI 2014), section 3.4 and "host control
//! protocol" of section 4, the first packet has the schedule of the coming period, and the second
//! one starts the period. Hosts send their demand in a [`BacklogReport`](crate::BacklogReport), and
//! PFC frames gate the classes. The paper leaves the layout and a part of the contents open. Here:
//!
//! - A schedule is one host's view of it: per configuration the destination of its circuit, its
//!   class, its rate and its duration.
//! - Times count from the heartbeat, as clocks of hosts and switches differ. A host that misses the
//!   heartbeat opens no circuit.
//! - Every [`PeriodSchedule`] satisfies the class constraints and limits of the paper's sections
//!   3.2 and 3.3. An invalid one is refused as a whole.
//! - Traffic that arrives during a period for an unlisted destination uses the packet network,
//!   within [`HostPeriod::others`].

use super::bytes::Reader;
use super::control::{HEARTBEAT, SCHEDULE};
use super::datagram::{Body, Header, within};
use super::error::{EncodeError, WireError};
use super::extended::PfcClass;
use std::collections::BTreeMap;
use timeplane_model::{Duration, HostId, Rate, Time};

/// The network of a host's line-rate traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// The optical circuit switch.
    Circuit,
    /// A port of the same rack.
    RackLocal,
}

/// What a host may send at (nearly) line rate during a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// The network to use.
    pub via: Via,
    /// The receiver.
    pub destination: HostId,
    /// The class that PFC frames open for it.
    pub class: PfcClass,
    /// The rate on the wire that the receiver's port has left beside the packet network; not zero.
    pub rate: Rate,
}

/// A configuration of the circuit switch, as a host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// How long it is up, without dark time; positive.
    pub duration: Duration,
    /// Whether the switch is dark before it; not if the circuit already stands.
    pub retunes: bool,
    /// What the host may send; `None` if its circuit port is idle.
    pub circuit: Option<Circuit>,
}

/// What a host may send to one destination over the packet network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpsShare {
    /// The receiver.
    pub destination: HostId,
    /// The class of its frames.
    pub class: PfcClass,
    /// The rate on the wire.
    pub rate: Rate,
}

/// The fields of a period; [`PeriodSchedule::new`] checks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPeriod {
    /// Counts the starts of the REACToR.
    pub epoch: u32,
    /// Counts its periods; the heartbeat of this number starts it.
    pub period: u64,
    /// The planned start by the REACToR's clock; hosts start at the heartbeat.
    pub planned: Time,
    /// The length of the period.
    pub length: Duration,
    /// How long the circuit switch is dark when it retunes.
    pub dark: Duration,
    /// The most that the host may send to the packet network.
    pub eps_rate: Rate,
    /// The class that always uses the packet network, and its rate.
    pub eps_class: (PfcClass, Rate),
    /// The rate of all unlisted destinations together over the packet network.
    pub others: Rate,
    /// Configurations in order.
    pub configurations: Vec<Configuration>,
    /// Destinations without a circuit in this period, in the order of their numbers.
    pub eps: Vec<EpsShare>,
}

/// The rule that a period violates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleFault {
    /// A configuration or the period has no length, or a dark time is negative.
    #[error("{what} of {span}")]
    Span {
        /// The name of the duration.
        what: &'static str,
        /// The duration found.
        span: Duration,
    },
    /// Configurations and dark times exceed the period's length (section 3.1).
    #[error("configurations and dark times take {needed} of a period of {length}")]
    Overfull {
        /// The sum of both.
        needed: Duration,
        /// The length of the period.
        length: Duration,
    },
    /// A circuit has rate zero.
    #[error("configuration {index} has a circuit at rate zero")]
    NoRate {
        /// The configuration's index, from 0.
        index: usize,
    },
    /// Limits to the packet network exceed its rate (fifth class constraint).
    #[error("limits towards the packet network are {sum} bit/s of {rate}")]
    EpsOverload {
        /// The sum of limits.
        sum: u128,
        /// The rate of the packet network.
        rate: Rate,
    },
    /// A class has two destinations, or a destination has two classes.
    #[error("class {class} and host {host} are not only each other's", class = class.get(), host = destination.0)]
    ClassShared {
        /// The number of the class.
        class: PfcClass,
        /// The number of the destination.
        destination: HostId,
    },
    /// A destination has a circuit and a share of the packet network in one period (third class
    /// constraint), or two shares.
    #[error("host {} is named for the packet network, but has a circuit or another share in this period", destination.0)]
    OnBoth {
        /// The number of the destination.
        destination: HostId,
    },
    /// Shares of the packet network are not in the order of destinations.
    #[error("shares of the packet network are out of order at host {}", destination.0)]
    Disordered {
        /// The later destination.
        destination: HostId,
    },
}

/// The schedule of a host for the coming period. It satisfies the class constraints of REACToR's
/// section 3.2.
///
/// Header: kind 4, the period, and its planned start. Then, big-endian:
///
/// | length | field |
/// | --- | --- |
/// | 8 | length of the period in picoseconds |
/// | 8 | dark time in picoseconds |
/// | 6 | rate towards the packet network in bit/s |
/// | 6 | rate of destinations that are not named |
/// | 2 + 6 | class that always goes to the packet network, and its rate |
/// | 2 | how many configurations |
/// | 18 each | destination 4 (bit 31: a circuit, bit 30: rack-local, neither: idle and zero); class 2 (bit 15: it stands already, no dark time before it; 11 bits class); duration 6 in picoseconds; rate 6 |
/// | 12 each | to the end: destination 4, class 2, rate 6 over the packet network |
///
/// One datagram holds 75 configurations and five shares, or 21 and 86; more need several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodSchedule(HostPeriod);

/// Numbers of six bytes: 281 s in picoseconds, 281 Tb/s.
const SIX: u64 = (1 << 48) - 1;
const HOST: u32 = (1 << 30) - 1;
const RACK_LOCAL: u32 = 1 << 30;
const CIRCUIT: u32 = 1 << 31;
const STANDS: u16 = 1 << 15;

impl PeriodSchedule {
    /// Checks a period.
    ///
    /// # Errors
    ///
    /// If times are not positive or do not fit, limits exceed the packet network, or classes and
    /// destinations are not one to one, in order, and each on one network only.
    pub fn new(period: HostPeriod) -> Result<Self, ScheduleFault> {
        check_times(&period)?;
        check_classes(&period)?;
        let shares = period.eps.iter().map(|s| s.rate);
        let limits = shares.chain([period.eps_class.1, period.others]);
        let sum: u128 = limits.map(|r| u128::from(r.as_bps())).sum();
        if sum > u128::from(period.eps_rate.as_bps()) {
            return Err(ScheduleFault::EpsOverload { sum, rate: period.eps_rate });
        }
        Ok(Self(period))
    }
    /// The fields of the period.
    pub fn get(&self) -> &HostPeriod {
        &self.0
    }
    /// The configurations with their starts and ends, relative to the heartbeat.
    pub fn timed(&self) -> impl Iterator<Item = (Duration, Duration, &Configuration)> {
        let mut at = Duration::ZERO;
        self.0.configurations.iter().map(move |c| {
            let start = if c.retunes { at + self.0.dark } else { at };
            at = start + c.duration;
            (start, at, c)
        })
    }

    pub(super) fn encode(&self) -> Result<Vec<Vec<u8>>, EncodeError> {
        let p = &self.0;
        let rate = |r: Rate| within("a rate", r.as_bps(), SIX);
        let host = |h: HostId| within("host number", u64::from(h.0), u64::from(HOST));
        let mut body = Body::default();
        body.put(p.length.as_ps() as u64, 8);
        body.put(p.dark.as_ps() as u64, 8);
        body.put(rate(p.eps_rate)?, 6);
        body.put(rate(p.others)?, 6);
        body.put(u64::from(p.eps_class.0.get()), 2);
        body.put(rate(p.eps_class.1)?, 6);
        body.put(within("a number of configurations", p.configurations.len() as u64, u64::from(u16::MAX))?, 2);
        body.end();
        for c in &p.configurations {
            let (word, class, limit) = match c.circuit {
                None => (0, 0, 0),
                Some(Circuit { via, destination, class, rate: limit }) => {
                    let via = if via == Via::Circuit { CIRCUIT } else { RACK_LOCAL };
                    (host(destination)? | u64::from(via), class.get(), rate(limit)?)
                }
            };
            body.put(word, 4);
            body.put(u64::from(class | if c.retunes { 0 } else { STANDS }), 2);
            body.put(within("a duration in picoseconds", c.duration.as_ps() as u64, SIX)?, 6);
            body.put(limit, 6);
            body.end();
        }
        for s in &p.eps {
            body.put(host(s.destination)?, 4);
            body.put(u64::from(s.class.get()), 2);
            body.put(rate(s.rate)?, 6);
            body.end();
        }
        body.datagrams(Header::new(SCHEDULE, p.epoch, p.period, p.planned))
    }

    pub(super) fn decode(header: &Header, body: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let (length, dark) = (Duration::from_ps(r.i64()?), Duration::from_ps(r.i64()?));
        let (eps_rate, others) = (read_rate(&mut r)?, read_rate(&mut r)?);
        let eps_class = (read_class(&mut r)?, read_rate(&mut r)?);
        let number = r.u16()?;
        let configurations = (0..number).map(|_| read_configuration(&mut r)).collect::<Result<_, _>>()?;
        let mut eps = Vec::new();
        while !r.is_empty() {
            let at = r.at();
            let word = r.u32()?;
            if word > HOST {
                return Err(WireError::Reserved { at });
            }
            eps.push(EpsShare { destination: HostId(word), class: read_class(&mut r)?, rate: read_rate(&mut r)? });
        }
        let (epoch, period, planned) = (header.epoch, header.number, header.time);
        let all = HostPeriod { epoch, period, planned, length, dark, eps_rate, eps_class, others, configurations, eps };
        Ok(Self::new(all)?)
    }
}

fn read_rate(r: &mut Reader<'_>) -> Result<Rate, WireError> {
    Ok(Rate::bps(r.number(6)?))
}

fn read_class(r: &mut Reader<'_>) -> Result<PfcClass, WireError> {
    let at = r.at();
    PfcClass::new(r.u16()?).ok_or(WireError::Reserved { at })
}

fn read_configuration(r: &mut Reader<'_>) -> Result<Configuration, WireError> {
    let at = r.at();
    let (word, bits) = (r.u32()?, r.u16()?);
    let class = PfcClass::new(bits & !STANDS).ok_or(WireError::Reserved { at: at + 4 })?;
    let (duration, rate) = (Duration::from_ps(r.number(6)? as i64), read_rate(r)?);
    let destination = HostId(word & HOST);
    let of = |via| Some(Circuit { via, destination, class, rate });
    let circuit = match word & !HOST {
        CIRCUIT => of(Via::Circuit),
        RACK_LOCAL => of(Via::RackLocal),
        0 if word == 0 && class.get() == 0 && rate == Rate::ZERO => None,
        0 => return Err(WireError::Reserved { at }),
        _ => return Err(WireError::Value { at, what: "a circuit that is also rack-local" }),
    };
    Ok(Configuration { duration, retunes: bits & STANDS == 0, circuit })
}

fn check_times(p: &HostPeriod) -> Result<(), ScheduleFault> {
    if p.length <= Duration::ZERO {
        return Err(ScheduleFault::Span { what: "a period", span: p.length });
    }
    if p.dark.is_negative() {
        return Err(ScheduleFault::Span { what: "a dark time", span: p.dark });
    }
    let mut needed = 0i128;
    for (index, c) in p.configurations.iter().enumerate() {
        if c.duration <= Duration::ZERO {
            return Err(ScheduleFault::Span { what: "a configuration", span: c.duration });
        }
        if c.circuit.is_some_and(|c| c.rate == Rate::ZERO) {
            return Err(ScheduleFault::NoRate { index });
        }
        needed += i128::from(c.duration.as_ps()) + if c.retunes { i128::from(p.dark.as_ps()) } else { 0 };
    }
    if needed > i128::from(p.length.as_ps()) {
        let needed = Duration::from_ps(i64::try_from(needed).unwrap_or(i64::MAX));
        return Err(ScheduleFault::Overfull { needed, length: p.length });
    }
    Ok(())
}

/// Checks that classes and destinations are one to one, no destination is on both networks, and no
/// destination has the class of the packet network.
fn check_classes(p: &HostPeriod) -> Result<(), ScheduleFault> {
    let (mut by_class, mut by_host) = (BTreeMap::new(), BTreeMap::new());
    let mut pair = |class: PfcClass, destination: HostId| {
        let one = *by_class.entry(class).or_insert(destination) == destination;
        let other = *by_host.entry(destination).or_insert(class) == class;
        let shared = !one || !other || class == p.eps_class.0;
        if shared { Err(ScheduleFault::ClassShared { class, destination }) } else { Ok(()) }
    };
    let circuits = || p.configurations.iter().filter_map(|c| c.circuit);
    circuits().try_for_each(|c| pair(c.class, c.destination))?;
    let switched: std::collections::BTreeSet<HostId> = circuits().map(|c| c.destination).collect();
    let mut last: Option<HostId> = None;
    for s in &p.eps {
        pair(s.class, s.destination)?;
        let destination = s.destination;
        if switched.contains(&destination) || last == Some(destination) {
            return Err(ScheduleFault::OnBoth { destination });
        }
        if last > Some(destination) {
            return Err(ScheduleFault::Disordered { destination });
        }
        last = Some(destination);
    }
    Ok(())
}

/// The start of a period.
///
/// It is a header only: kind 5, the period, and the REACToR's clock at the sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Counts the starts of the REACToR.
    pub epoch: u32,
    /// The number of the period. A host with another schedule, or none, opens no circuit.
    pub period: u64,
    /// When it was sent, by the REACToR's clock.
    pub sent_at: Time,
}

impl Heartbeat {
    pub(super) fn encode(&self) -> Vec<u8> {
        let header = Header::new(HEARTBEAT, self.epoch, self.period, self.sent_at);
        Header { last: true, ..header }.encode().to_vec()
    }
    pub(super) fn decode(header: &Header, body: &[u8]) -> Result<Self, WireError> {
        Reader::new(body).end()?;
        Ok(Self { epoch: header.epoch, period: header.number, sent_at: header.time })
    }
}
