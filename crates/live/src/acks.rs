//! Sends TCP's acknowledgements over another wire than its data, by a program at an interface's
//! egress (`bpf/acks.bpf.c`).
//!
//! A 60 GHz link changes its direction for every acknowledgement that crosses it. With
//! `acknowledgements = "wire"` of flyways they take a wire instead. Only pure acknowledgements
//! move: segments with payload, SYN, FIN or RST stay, and so do fragments, VLANs and IPv6 with
//! extension headers.

use crate::bpf::acks::AcksSkelBuilder;
use crate::netns::{NetError, ip};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapFlags, MapHandle, Program};
use serde::Serialize;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use timeplane_protocol::wire::MacAddress;

/// Why acknowledgements cannot be redirected.
#[derive(Debug, thiserror::Error)]
pub enum AckError {
    /// An interface does not exist, or cannot be queried.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The answer of `ip` about an interface is incomplete.
    #[error("`ip -j link show dev {interface}` does not report {what}")]
    Unknown {
        /// Name of the device, as `ip` knows it.
        interface: String,
        /// What is missing.
        what: &'static str,
    },
    /// An interface whose link layer is neither Ethernet nor absent.
    #[error("interface {interface} has kind `{kind}`: expected `ether` or `none` (TUN)")]
    Kind {
        /// Name of the device.
        interface: String,
        /// Kind of the link layer.
        kind: String,
    },
    /// Packets without an Ethernet header cannot leave by an interface that needs one.
    #[error("packets of {from} have no Ethernet header, but {to} needs one: specify the MAC address of the next hop")]
    NextHop {
        /// Interface that acknowledgements come from.
        from: String,
        /// Interface that they are redirected to.
        to: String,
    },
    /// The kernel refuses the program.
    #[error("program for acknowledgements: {0}; it needs Linux 6.6, CAP_BPF and CAP_NET_ADMIN")]
    Bpf(#[from] libbpf_rs::Error),
}

/// Outcomes of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AckCounters {
    /// Acknowledgements redirected to the other interface.
    pub redirected: u64,
    /// Packets that stayed at their interface.
    pub passed: u64,
    /// Acknowledgements lost as there was no memory for a header.
    pub failed: u64,
}

impl fmt::Display for AckCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { redirected, passed, failed } = self;
        write!(f, "{redirected} acknowledgements redirected, {passed} packets passed as before, {failed} lost")
    }
}

/// A program that redirects acknowledgements. Dropping it detaches the program.
#[derive(Debug)]
pub struct AckRedirect {
    counters: MapHandle,
    /// Keeps the program attached.
    _link: Link,
}

/// Properties of an interface.
struct Interface {
    index: u32,
    ethernet: bool,
    address: [u8; 6],
}

impl Interface {
    fn of(name: &str) -> Result<Self, AckError> {
        let json: serde_json::Value =
            serde_json::from_str(&ip(&format!("-j link show dev {name}"))?).unwrap_or_default();
        let link = &json[0];
        let unknown = |what| AckError::Unknown { interface: name.to_owned(), what };
        let index = link["ifindex"].as_u64().and_then(|i| u32::try_from(i).ok()).ok_or(unknown("its number"))?;
        let ethernet = match link["link_type"].as_str() {
            Some("ether") => true,
            Some("none") => false,
            kind => {
                let kind = kind.unwrap_or_default().to_owned();
                return Err(AckError::Kind { interface: name.to_owned(), kind });
            }
        };
        let address = link["address"].as_str().and_then(|a| a.parse::<MacAddress>().ok());
        let address = match (ethernet, address) {
            (true, None) => return Err(unknown("its address")),
            (_, address) => address.map_or([0; 6], |a| a.0),
        };
        Ok(Self { index, ethernet, address })
    }
}

impl AckRedirect {
    /// Redirects acknowledgements that would leave by `from` to `to`, both in the calling thread's
    /// network namespace. `next_hop` is their new destination address; without it, Ethernet headers
    /// stay unchanged.
    ///
    /// # Errors
    /// If an interface does not exist or is neither Ethernet nor TUN, a needed header is missing,
    /// or the kernel refuses the program.
    pub fn attach(from: &str, to: &str, next_hop: Option<MacAddress>) -> Result<Self, AckError> {
        let (here, there) = (Interface::of(from)?, Interface::of(to)?);
        if there.ethernet && !here.ethernet && next_hop.is_none() {
            return Err(AckError::NextHop { from: from.to_owned(), to: to.to_owned() });
        }
        let mut object = MaybeUninit::uninit();
        let mut open = AcksSkelBuilder::default().open(&mut object)?;
        if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
            constants.to_interface = there.index;
            constants.has_ethernet = here.ethernet.into();
            constants.needs_ethernet = there.ethernet.into();
            constants.rewrites = next_hop.is_some().into();
            constants.destination = next_hop.map_or([0; 6], |a| a.0);
            constants.source = there.address;
        }
        let skeleton = open.load()?;
        let link = attach_tcx(&skeleton.progs.acknowledgements, here.index)?;
        let counters = MapHandle::try_from(&skeleton.maps.bss)?;
        Ok(Self { counters, _link: link })
    }

    /// The current counters.
    ///
    /// # Errors
    /// If the counters cannot be read.
    pub fn counters(&self) -> Result<AckCounters, AckError> {
        let bytes = self.counters.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let mut next = || words.next().unwrap_or(0);
        Ok(AckCounters { redirected: next(), passed: next(), failed: next() })
    }
}

/// Attaches a program to an interface's egress, after existing ones. The library has no function
/// for this yet.
fn attach_tcx(program: &Program<'_>, interface: u32) -> Result<Link, libbpf_rs::Error> {
    let program = program.as_libbpf_object().as_ptr();
    // SAFETY: the program is loaded and lives as long as its borrow; no options are given.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program, interface as i32, std::ptr::null()) };
    // libbpf 1 returns a null pointer on failure, with the reason in errno.
    let link = NonNull::new(link).ok_or_else(|| libbpf_rs::Error::from(std::io::Error::last_os_error()))?;
    // SAFETY: the link is new, and nothing else owns it.
    Ok(unsafe { Link::from_ptr(link) })
}
