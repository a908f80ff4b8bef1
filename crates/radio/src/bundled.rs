//! Data compiled into the library.
//!
//! `data/README.md` lists sources and licenses.

use crate::antenna::{Antenna, PatternTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::Named;

macro_rules! data {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/radio/", $file))
    };
}

/// Measured narrow and wide beam of flyways: columns `narrow_beam_dBi` and `wide_beam_dBi`.
pub const ANTENNA_MEASURED: &str = data!("antenna_measured.csv");
/// The antenna of Geo-fencing: column `gain_dBi`.
pub const ANTENNA_GEOFENCING: &str = data!("antenna_geofencing.csv");

/// Bundled antenna.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr, EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AntennaName {
    /// Horn with the narrow beam of the flyways measurements.
    NarrowBeam,
    /// Horn with the wide beam of the flyways measurements.
    WideBeam,
    /// Antenna of the Geo-fencing measurements.
    Geofencing,
}

impl AntennaName {
    /// Makes the antenna.
    pub fn antenna(self) -> Antenna {
        match self {
            Self::NarrowBeam | Self::WideBeam => measured("antenna_measured.csv", ANTENNA_MEASURED, Some(self.name())),
            Self::Geofencing => measured("antenna_geofencing.csv", ANTENNA_GEOFENCING, None),
        }
    }
}

/// The antenna of a bundled table with one column, or of its column `name`.
fn measured(file: &str, text: &str, name: Option<&str>) -> Antenna {
    Antenna::Table(PatternTable::parse(file, text, name).expect("a bundled table is valid"))
}

impl Named for AntennaName {
    const KIND: &'static str = "antenna";
}

/// Mutual information per coded bit by Es/N0, BPSK to 64-QAM.
pub const MMIB_CURVES: &str = data!("mmib_curves.csv");
/// X1 and X2 of the codeword error rate per MCS, from a decoder simulation.
pub const MMIB_FITS: &str = data!("mmib_fits.csv");
/// Codeword error rates of that simulation, point by point.
pub const LDPC_BLER: &str = data!("ldpc_bler.csv");
/// The proxy's thresholds per codeword at 500 MHz.
pub const PROXY_THRESHOLDS: &str = data!("proxy_thresholds.csv");

/// Positions of 160 racks in clusters of ten: `rack,x_ft,y_ft`.
pub const RACKS_160: &str = data!("racks_160.csv");

/// Rays between the nodes of NIST's data center.
pub const NIST_RAYS: &str = data!("nist-datacenter/qdOutput.json");
/// Position of the NIST sender.
pub const NIST_SENDER: &str = data!("nist-datacenter/NodePosition0.dat");
/// Positions of the NIST receivers; the rays are those of the first.
pub const NIST_RECEIVERS: &str = data!("nist-datacenter/NodePosition1.dat");
/// Reflection losses and cluster statistics by material.
pub const NIST_MATERIALS: &str = data!("nist-datacenter/materialLibraryDataCenter.csv");

/// Logs of iperf3 over a 60 GHz link, by name. `outside_two_persons` is empty, so reading it is an
/// error.
pub const IPERF_LOGS: [(&str, &str); 12] = [
    ("free", data!("mikrotik/ControlIperf3.txt")),
    ("one_person", data!("mikrotik/1PersonBlockingServersideIperf3-600MB.txt")),
    ("two_persons", data!("mikrotik/2PersonBlockingServersideIperf3-400MB.txt")),
    ("foil", data!("mikrotik/AluminumFoil1SideIperf3-500MB.txt")),
    ("one_paper", data!("mikrotik/1PiecePaperIperf3-1GB.txt")),
    ("two_papers", data!("mikrotik/2PiecePaperIperf3-1GB.txt")),
    ("one_cardboard", data!("mikrotik/1PieceCardboardIperf3-600MB.txt")),
    ("two_cardboards", data!("mikrotik/2PieceCardboardIperf3-1GB.txt")),
    ("wall", data!("mikrotik/WallBlockingIperf3-500MB.txt")),
    ("outside_free", data!("mikrotik/OutsideControlIperf.txt")),
    ("outside_one_person", data!("mikrotik/OutsideIperf1Person.txt")),
    ("outside_two_persons", data!("mikrotik/OutsideIperf2Person.txt")),
];
