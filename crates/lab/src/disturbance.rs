//! Wires that lose, double and reorder frames of all kinds: signals, data, repairs and TCP.
//!
//! The kernel of a lab need not have netem. A program at the switch's ports loses and doubles
//! frames, and diverts some to a virtual interface (`bpf/disturb.bpf.c`). A thread sends those on
//! later, so that others overtake them.

use crate::fabric::{CONTROLLER_PORT, Fabric, controller_mac, host_mac, host_port};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, ObjectBuilder};
use nix::sys::socket::{setsockopt, sockopt::Mark};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_live::bpf::{self, BpfError};
use timeplane_live::netns::{self, NetError};
use timeplane_live::packet_socket::{ALL_ETHER_TYPES, Frames, PacketSocket};
use timeplane_live::tcx;
use timeplane_model::Duration;
use timeplane_protocol::wire::MacAddress;

/// Shares of frames, 0 to 1 each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Frames that are lost.
    pub lost: f64,
    /// Frames that arrive twice.
    pub doubled: f64,
    /// Frames that are held back for up to [`HELD`].
    pub reordered: f64,
}

/// The longest time that a frame is held back.
pub const HELD: Wait = Wait::from_millis(5);

/// The mark of frames that pass undisturbed, as in the program.
const MARK: u32 = 0x7470;

/// Why frames cannot be disturbed.
#[derive(Debug, thiserror::Error)]
pub enum DisturbanceError {
    /// The program cannot be loaded or attached.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The virtual interface cannot be made.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A socket failed.
    #[error("a socket of the disturbance: {0}")]
    Socket(#[from] io::Error),
}

/// Disturbs frames at all ports of a switch. Dropping the value ends it.
#[derive(Debug)]
pub struct Disturbance {
    rules: MapHandle,
    divert_to: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _links: Vec<Link>,
}

impl Disturbance {
    /// Attaches to all ports of a fabric, once in its life. Nothing is disturbed until
    /// [`set`](Self::set).
    ///
    /// # Errors
    /// If an interface or a socket cannot be made, or the kernel refuses the program.
    pub fn start(fabric: &Fabric) -> Result<Self, DisturbanceError> {
        let switch = fabric.switch();
        switch.ip("link add wn type veth peer name wf")?;
        switch.ip("link set wn up")?;
        switch.ip("link set wf up")?;
        let forwards = || Ok(switch.ip("link show wf")?.contains("LOWER_UP"));
        netns::until(forwards, &format!("wf of {}", switch.name()))?;
        let hosts = fabric.parameters().hosts;
        let stations = (0..hosts).map(|h| (host_mac(h), host_port(h)));
        let stations: Vec<_> = stations.chain([(controller_mac(), CONTROLLER_PORT.to_owned())]).collect();
        switch.enter(|| Self::attach(&stations))?
    }

    /// In the switch's namespace.
    fn attach(stations: &[(MacAddress, String)]) -> Result<Self, DisturbanceError> {
        let loading = || BpfError::refused("loading the disturbance of frames");
        let object =
            ObjectBuilder::default().open_memory(crate::bpf::DISTURB).and_then(|o| o.load()).map_err(loading())?;
        let rules = object.maps().find(|m| m.name() == "rules").expect("a map of the object it was compiled from");
        let rules = MapHandle::try_from(&rules).map_err(loading())?;
        let attach = |(_, port): &(MacAddress, String)| {
            let link = tcx::attach(&bpf::program(&object, "disturb"), port);
            link.map_err(|e| BpfError::refused(format!("disturbing frames at {port}"))(e.into()))
        };
        let _links = stations.iter().map(attach).collect::<Result<_, _>>()?;
        let divert_to = nix::net::if_::if_nametoindex("wn").map_err(io::Error::from)?;
        let takes = PacketSocket::open("wf", ALL_ETHER_TYPES)?;
        let gives = |(mac, port): &(MacAddress, String)| {
            let socket = PacketSocket::open(port, ALL_ETHER_TYPES)?;
            setsockopt(&socket.as_fd(), Mark, &MARK)?;
            Ok((*mac, socket))
        };
        let gives = stations.iter().map(gives).collect::<io::Result<Vec<_>>>()?;
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || hold(&takes, &gives, &stopped)));
        Ok(Self { rules, divert_to, stop, thread, _links })
    }

    /// Sets the shares of frames to disturb from now on.
    ///
    /// # Errors
    /// If the kernel refuses the change.
    pub fn set(&self, shares: Shares) -> Result<(), DisturbanceError> {
        let below = |share: f64| ((share.clamp(0.0, 1.0) * (u64::from(u32::MAX) + 1) as f64) as u64).to_ne_bytes();
        let [lost, doubled, reordered] = self.counts().map(u64::to_ne_bytes);
        let mut to = [0; 8];
        to[..4].copy_from_slice(&self.divert_to.to_ne_bytes());
        let [lose, double, divert] = [shares.lost, shares.doubled, shares.reordered].map(below);
        let value = [lose, double, divert, to, lost, doubled, reordered].concat();
        Ok(self.rules.update(&[0; 4], &value, MapFlags::ANY).map_err(BpfError::refused("setting the disturbance"))?)
    }

    /// Numbers of frames that were lost, doubled and held back.
    pub fn counts(&self) -> [u64; 3] {
        let value = self.rules.lookup(&[0; 4], MapFlags::ANY).ok().flatten().unwrap_or_default();
        let number =
            |at: usize| value.get(at..at + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        [number(32), number(40), number(48)]
    }
}

impl Drop for Disturbance {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // One that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Sends on what was diverted, each frame after a time of its own.
fn hold(takes: &PacketSocket, gives: &[(MacAddress, PacketSocket)], stop: &AtomicBool) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut frames, mut held) = (Frames::new(9014), Vec::<(Instant, Vec<u8>)>::new());
    while !stop.load(Relaxed) {
        let most = if held.is_empty() { Wait::from_millis(20) } else { Wait::from_micros(200) };
        if takes.wait(Duration::from_ns(most.as_nanos() as i64)).is_err() {
            return;
        }
        while takes.receive_batch(&mut frames).is_ok_and(|count| count > 0) {
            let due = |random: u64| Instant::now() + HELD.mul_f64(random as f64 / u64::MAX as f64);
            held.extend(frames.iter().map(|frame| (due(random.next_u64()), frame.to_vec())));
        }
        let now = Instant::now();
        held.retain(|(due, frame)| {
            let to = gives.iter().find(|(mac, _)| frame[..6] == mac.0);
            if let Some((_, socket)) = to.filter(|_| *due <= now) {
                // A port that is down loses it, as a wire would.
                let _ = socket.send(frame);
            }
            *due > now
        });
    }
}
