//! Flyways of a scenario: the field of its radios, their medium, and their controller.
//!
//! This module sets them up from a scenario. `links` carries packets over them.

pub(crate) mod links;

use crate::air::medium::{AirLink, Medium, MediumSpec, Way};
use crate::air::queue;
use timeplane_radio::{Dbm, FLYWAYS_NOISE, Mcs};
use timeplane_scenario::{FlywaysSpec, RadioSpec};
use timeplane_workload::Streams;

/// An idle medium: a station and a link, which is down, for each rack and channel.
pub fn medium(spec: &FlywaysSpec, racks: u32, mtu: u32, streams: &Streams) -> Medium {
    let n = racks * spec.channels;
    let slowest = Mcs::ofdm().next().expect("there are OFDM rates");
    let links = (0..n).map(|s| {
        let stream = streams.fast("air link", u64::from(s), "losses");
        AirLink::new(s, s, Way::Coded(slowest), queue(spec.queue, mtu), stream)
    });
    let medium = MediumSpec {
        mac: *spec.mac.parameters(),
        access: spec.access,
        retries: spec.retries,
        noise: FLYWAYS_NOISE.milliwatts(),
        senses: Dbm::new(RadioSpec::default().senses_dbm).milliwatts(),
        channels: (0..n).map(|s| s % spec.channels).collect(),
        powers: vec![0.0; (n * n) as usize],
    };
    let mut medium = Medium::new(
        medium,
        links.collect(),
        (0..u64::from(n)).map(|s| streams.fast("station", s, "back-off")).collect(),
    );
    (0..n).for_each(|l| medium.take_down(l));
    medium
}
