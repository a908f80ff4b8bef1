//! The air links of a scenario, as a medium.

mod course;

pub use course::read_beams;

use crate::medium::{Access, AirLink, Medium, MediumSpec, Way};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use timeplane_model::{Duration, Fabric};
use timeplane_radio::{
    Antenna, CourseError, Db, Dbm, FLYWAYS_NOISE, InputError, LinkBudget, MatrixError, Mcs, Metres, bundled, fastest,
    sinr,
};
use timeplane_scenario::{AccessSpec, RadioLink, RadioSpec};
use timeplane_workload::Streams;

/// Why a scenario's radios cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum AirError {
    /// The antenna cannot be read.
    #[error(transparent)]
    Antenna(#[from] InputError),
    /// A file of beams cannot be read.
    #[error("{}: {source}", file.display())]
    File {
        /// Which one.
        file: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The matrices of a course make no sense.
    #[error("fabric.radio.link.{link}.course: {source}")]
    Matrix {
        /// Its place in the list.
        link: usize,
        /// Why not.
        source: MatrixError,
    },
    /// A course cannot be computed.
    #[error("fabric.radio.link.{link}.course: {source}")]
    Course {
        /// Its place in the list.
        link: usize,
        /// Why not.
        source: CourseError,
    },
    /// No rate bears a link's signal: it would never carry a packet.
    #[error("fabric.radio.link.{link}: no rate bears a signal of {level}; MCS 13 of 802.11ad needs -66 dBm")]
    Weak {
        /// Its place in the list.
        link: usize,
        /// Its signal.
        level: Dbm,
    },
    /// No rate meets its target at any time, and the run has no end of its own: it would last for ever.
    #[error(
        "fabric.radio.link.{link}.course: an outage from begin to end: no rate ever meets the target; raise `level_dbm`, or give `window` a \
         `measure` and a `drain`"
    )]
    Outage {
        /// Its place in the list.
        link: usize,
    },
    /// A rate without a sensitivity, or one that does not exist.
    #[error("fabric.radio.link.{link}: MCS {mcs} is no rate of data")]
    Rate {
        /// Its place in the list.
        link: usize,
        /// What was asked for.
        mcs: u8,
    },
}

/// A medium, and what each of its air links is in the network. The links of a [`RadioLink`] follow each other, there and back.
pub struct Air {
    /// The medium.
    pub medium: Medium,
    /// By scenario's link: the rate of data.
    pub rates: Vec<Mcs>,
}

/// Sets up the medium of a fabric for a run that lasts no longer than `length`; files are looked up in `base`.
///
/// # Errors
/// Where a link cannot carry anything, or an antenna or a file cannot be read.
pub fn set_up(radio: &RadioSpec, base: &Path, length: Option<Duration>, streams: &Streams) -> Result<Air, AirError> {
    let budget = LinkBudget::default();
    let gain = match radio.antenna {
        Some(name) => Antenna::Table(bundled::antenna(name.name())?).ahead(),
        None => Db::ZERO,
    };
    let noise = FLYWAYS_NOISE;
    let mut stations = BTreeMap::new();
    let mut channels = Vec::new();
    let mut station = |node: u32, channel: u32| {
        *stations.entry((node, channel)).or_insert_with(|| {
            channels.push(channel);
            channels.len() as u32 - 1
        })
    };
    let (mut pairs, mut ways, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for (i, link) in radio.link.iter().enumerate() {
        let level = signal(link, &budget, gain);
        pairs.push((link.nodes.map(|n| station(n, link.channel)), level));
        if let Some(spec) = &link.course {
            let states = course::states(i, spec, base, length, streams)?;
            rates.push(states.iter().filter_map(|s| s.1).map(|q| q.mcs).max_by_key(|m| m.rate()).or(Mcs::single_carrier().next_back()).expect("there are single-carrier rates"));
            ways.push(Way::Course(crate::medium::Course::new(states)));
            continue;
        }
        let mcs = match link.mcs {
            Some(mcs) => Mcs::numbered(mcs).map_err(|_| AirError::Rate { link: i, mcs })?,
            None => {
                let level = level.unwrap_or(Dbm::new(0.0));
                let sinr = sinr(level, noise, timeplane_radio::Milliwatts::ZERO);
                fastest(Mcs::ofdm(), sinr, noise).ok_or(AirError::Weak { link: i, level })?
            }
        };
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
            links.push(AirLink::new(from, to, way.clone(), stream));
        }
    }
    let spec = MediumSpec {
        mac: radio.mac.parameters(),
        access: match radio.access {
            AccessSpec::Dcf => Access::Dcf,
            AccessSpec::DcfWithoutCollisions => Access::DcfWithoutCollisions,
            AccessSpec::NoBackoff => Access::NoBackoff,
            AccessSpec::Token => Access::Token,
            AccessSpec::Planned => Access::Planned,
        },
        retries: radio.retries,
        noise: noise.milliwatts(),
        senses: Dbm::new(radio.senses_dbm).milliwatts(),
        channels,
        powers,
    };
    let backoffs = (0..n as u64).map(|s| streams.fast("station", s, "back-off")).collect();
    Ok(Air { medium: Medium::new(spec, links, backoffs), rates })
}

fn signal(link: &RadioLink, budget: &LinkBudget, gain: Db) -> Option<Dbm> {
    let by_distance = link.distance_m.map(|d| budget.signal(Metres::new(d), gain, gain));
    link.signal_dbm.map(Dbm::new).or(by_distance)
}

/// Which switch's hosts a host is one of, by host.
pub fn switches(fabric: &Fabric) -> Vec<u32> {
    (0..fabric.hosts()).map(|h| RadioSpec::switch_of(fabric, h).0).collect()
}
