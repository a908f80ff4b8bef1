//! Radio links: the medium of a scenario, with antennas, link traces, handovers and flyways.
//!
//! This module reads a scenario's radios and sets up their medium. It does not move packets; the
//! network does.

pub(crate) mod flyways;
pub(crate) mod handover;
mod link_trace;
pub(crate) mod links;
pub mod medium;
pub(crate) mod rows;

pub use handover::{Handover, HandoverRules, Level, associate};
pub use link_trace::read_beams;

use crate::air::medium::{AirLink, Interference, Medium, MediumSpec, Way};
use crate::engine::time::SimTime;
use crate::hosts::discipline::{Discipline, Limit, QueueState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timeplane_assembly::flyways::FieldError;
use timeplane_model::{Duration, Fabric, Rate};
use timeplane_protocol::LinkSample;
use timeplane_radio::{Dbm, FLYWAYS_NOISE, InputError, LinkTraceError, MatrixError, Mcs};
use timeplane_scenario::{AirQueue, NoRate, RadioSpec};
use timeplane_workload::Streams;

/// The reason why a scenario's radios cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum AirError {
    /// The antenna cannot be read.
    #[error(transparent)]
    Antenna(#[from] InputError),
    /// The field of flyways cannot be computed.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A file of beams cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// The path as it was opened.
        file: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The matrices of a link trace are invalid.
    #[error("fabric.radio.link.{link}.trace: {source}")]
    Matrix {
        /// The link's place in the list.
        link: usize,
        /// The first invalid entry.
        source: MatrixError,
    },
    /// A link trace cannot be computed.
    #[error("fabric.radio.link.{link}.trace: {source}")]
    LinkTrace {
        /// The link's place in the list.
        link: usize,
        /// The reason.
        source: LinkTraceError,
    },
    /// No rate suits the signal of a link, so it would never carry a packet.
    #[error(
        "fabric.radio.link.{link}: no rate suits a signal of {level}: expected -66 dBm or more, which MCS 13 of 802.11ad needs"
    )]
    Weak {
        /// The link's place in the list.
        link: usize,
        /// The signal.
        level: Dbm,
    },
    /// No rate meets the target of a link at any time, and the run has no end of its own.
    #[error(
        "fabric.radio.link.{link}.trace: no rate ever meets the target: expected a higher `level_dbm`, or a \
         `window` with a `measure` and a `drain`"
    )]
    NoRate {
        /// The link's place in the list.
        link: usize,
    },
    /// A rate that does not exist or has no sensitivity.
    #[error("fabric.radio.link.{link}: invalid MCS {mcs}: expected a data rate of 802.11ad")]
    Rate {
        /// The link's place in the list.
        link: usize,
        /// The rate that was asked for.
        mcs: u8,
    },
}

/// A medium, and the meaning of its air links in the network. Each link of the scenario has two
/// consecutive air links, there and back.
pub struct Air {
    /// The stations with their air links, idle.
    pub medium: Medium,
    /// By the scenario's link: its data rate; the fastest one of a link trace.
    pub rates: Vec<Mcs>,
    /// What access points know of links with a trace.
    pub traces: LinkTraces,
    /// Devices with several access points.
    pub devices: Vec<DeviceTrace>,
}

/// The access points of a device over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTrace {
    /// The switch of the device.
    pub node: u32,
    /// The air links to it, one from each access point. The link back has the next number.
    pub links: Vec<u32>,
    /// The place of the first link in use.
    pub first: usize,
    /// Its handovers, in order of time.
    pub handovers: Vec<Handover>,
}

/// What access points know of their links over time. The access point of a link is its first node.
#[derive(Clone, Debug, Default)]
pub struct LinkTraces {
    /// Each air link with what its access point sees, in order of time.
    pub samples: Vec<(u32, Vec<(SimTime, LinkSample)>)>,
    /// All rates that links may have.
    pub rates: Vec<Rate>,
}

/// Sets up the medium of a fabric for a run that lasts up to `length`. Files are looked up in
/// `base`.
///
/// # Errors
///
/// If a link cannot carry anything, or an antenna or a file cannot be read.
pub fn set_up(
    radio: &RadioSpec,
    mtu: u32,
    base: &Path,
    length: Option<Duration>,
    streams: &Streams,
) -> Result<Air, AirError> {
    let noise = FLYWAYS_NOISE;
    let mut stations = BTreeMap::new();
    let mut channels = Vec::new();
    let mut station = |node: u32, channel: u32| {
        *stations.entry((node, channel)).or_insert_with(|| {
            channels.push(channel);
            channels.len() as u32 - 1
        })
    };
    let (mut pairs, mut ways, mut rates, mut traces) = (Vec::new(), Vec::new(), Vec::new(), LinkTraces::default());
    let mut errors = Vec::new();
    for (i, link) in radio.link.iter().enumerate() {
        let level = radio.signal(link);
        pairs.push((link.nodes.map(|n| station(n, link.channel)), level));
        if let Some(spec) = &link.trace {
            let followed = link_trace::follow(i, spec, base, length, streams)?;
            let carried = followed.states.iter().filter_map(|s| s.1).map(|q| q.mcs);
            rates
                .push(carried.max_by_key(|m| m.rate()).or(Mcs::single_carrier().next_back()).expect("there are rates"));
            ways.push(Way::LinkTrace(crate::air::medium::LinkTrace::new(followed.states)));
            traces.samples.push((2 * i as u32, followed.samples));
            traces.rates.extend(followed.rates);
            errors.extend([Some(Arc::clone(&followed.errors)), Some(followed.errors)]);
            continue;
        }
        errors.extend([None, None]);
        let mcs = radio.mcs(link).map_err(|reason| match reason {
            NoRate::Weak(level) => AirError::Weak { link: i, level },
            NoRate::Unknown(mcs) => AirError::Rate { link: i, mcs },
        })?;
        rates.push(mcs);
        ways.push(Way::Coded(mcs));
    }
    let n = channels.len();
    let mut powers = vec![0.0; n * n];
    let mut links = Vec::new();
    for (&([a, b], level), way) in pairs.iter().zip(&ways) {
        let power = level.unwrap_or(Dbm::new(0.0)).milliwatts().get();
        powers[a as usize * n + b as usize] = power;
        powers[b as usize * n + a as usize] = power;
        for (from, to) in [(a, b), (b, a)] {
            let stream = streams.fast("air link", links.len() as u64, "losses");
            links.push(AirLink::new(from, to, way.clone(), queue(radio.queue, mtu), stream));
        }
    }
    let spec = MediumSpec {
        mac: *radio.mac.parameters(),
        access: radio.access,
        retries: radio.retries,
        noise: noise.milliwatts(),
        senses: Dbm::new(radio.senses_dbm).milliwatts(),
        channels,
        powers,
    };
    let disturb = disturbances(radio, &stations, n);
    let backoffs = (0..n as u64).map(|s| streams.fast("station", s, "back-off")).collect();
    let mut medium = Medium::new(spec, links, backoffs);
    if let Some(powers) = disturb {
        medium.disturb(Interference::new(powers, errors));
    }
    let devices = devices(radio, &traces);
    Ok(Air { medium, rates, traces, devices })
}

/// The interference between stations in mW, by sender and then by receiver; `None` if there is
/// none.
fn disturbances(radio: &RadioSpec, stations: &BTreeMap<(u32, u32), u32>, n: usize) -> Option<Vec<f64>> {
    let mut powers = vec![0.0; n * n];
    for pair in &radio.interference {
        let power = Dbm::new(pair.level_dbm).milliwatts().get();
        let [a, b] = pair.nodes;
        for (&(_, channel), &from) in stations.iter().filter(|s| s.0.0 == a) {
            if let Some(&to) = stations.get(&(b, channel)) {
                powers[from as usize * n + to as usize] = power;
                powers[to as usize * n + from as usize] = power;
            }
        }
    }
    (!radio.interference.is_empty()).then_some(powers)
}

/// The access points of devices, chosen by the levels that access points see.
fn devices(radio: &RadioSpec, traces: &LinkTraces) -> Vec<DeviceTrace> {
    let Some(spec) = radio.handover else { return Vec::new() };
    let rules = HandoverRules {
        hysteresis_cdb: (spec.hysteresis_db * 100.0).round() as i32,
        trigger: spec.trigger,
        delay: spec.delay,
    };
    let levels = |link: u32| -> Vec<Level> {
        let of_link = traces.samples.iter().filter(|s| s.0 == link).flat_map(|s| &s.1);
        of_link.map(|&(at, sample)| (at, sample.level_cdbm)).collect()
    };
    let device = |(node, links): (u32, Vec<usize>)| {
        let links: Vec<u32> = links.into_iter().map(|l| 2 * l as u32).collect();
        let all: Vec<Vec<Level>> = links.iter().map(|&l| levels(l)).collect();
        let (first, handovers) = associate(&all, rules);
        DeviceTrace { node, links, first, handovers }
    };
    radio.devices().into_iter().map(device).collect()
}

pub(crate) fn queue(queue: Option<AirQueue>, mtu: u32) -> QueueState {
    let limit = |packets: Option<u32>| Limit::Packets(packets.map_or(u64::MAX, u64::from));
    let discipline = match queue.unwrap_or(AirQueue::DropTail { packets: None }) {
        AirQueue::DropTail { packets } => Discipline::DropTail { limit: limit(packets) },
        AirQueue::Ecn { mark_at, packets } => {
            Discipline::EcnThreshold { packets: u64::from(mark_at), limit: limit(packets) }
        }
        AirQueue::CoDel { target, interval, ecn, packets } => {
            Discipline::CoDel { target, interval, ecn, limit: limit(packets) }
        }
    };
    QueueState::new(discipline, u64::from(mtu))
}

/// By host, the switch above it.
pub fn switches(fabric: &Fabric) -> Vec<u32> {
    (0..fabric.hosts()).map(|h| RadioSpec::switch_of(fabric, h).0).collect()
}
