//! Helpers that several test files share.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use timeplane_model::{Bytes, Duration, Fabric, Framing, LinkSpec, Rate, Switch};
use timeplane_scenario::{CoflowTrace, PacketMix, Pattern, Poisson, Sizes, Workload};
use timeplane_workload::{Source, WorkloadError};

pub const MTU: Bytes = Bytes::new(1500);

/// 10 Gb/s Ethernet under one switch.
pub fn fabric(hosts: u32) -> Fabric {
    let link = LinkSpec {
        rate: Rate::gbps(10),
        propagation: Duration::from_us(1),
        framing: Framing::Ethernet,
        bit_error: 0.0,
    };
    Fabric::single_switch(hosts, Switch::default(), link).unwrap()
}

pub fn poisson(load: f64, pattern: Pattern, sizes: Sizes, packets: PacketMix) -> Workload {
    Workload::Poisson(Poisson { load, pattern, sizes, packets })
}

pub fn trace(file: &str) -> CoflowTrace {
    CoflowTrace {
        file: file.to_owned(),
        max_flows: None,
        time_scale: 1.0,
        byte_scale: 1.0,
        jitter: Duration::ZERO,
        blocks: Some(1),
    }
}

pub fn load(workload: &Workload, hosts: u32) -> Result<Source, WorkloadError> {
    Source::load(workload, Path::new(env!("CARGO_TARGET_TMPDIR")), &fabric(hosts), MTU)
}

/// Writes a file of this content to the tests' folder, in which [`load`] looks.
pub fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}
