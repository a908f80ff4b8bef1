//! Random loss of control frames on their way to hosts.
//!
//! A program at the switch's ports drops a share of the signals (`bpf/loss.bpf.c`).

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, ObjectBuilder};
use timeplane_live::bpf::{self, BpfError};
use timeplane_live::tcx;

/// Drops a share of the signals that leave through some ports. Dropping the value ends it.
#[derive(Debug)]
pub struct Loss {
    losses: MapHandle,
    _links: Vec<Link>,
}

impl Loss {
    /// Attaches the program to ports of the calling thread's network namespace, with a share of 0.
    /// Signals are dropped independently of each other.
    ///
    /// # Errors
    /// If a port does not exist, or the kernel refuses the program.
    pub fn attach<S: AsRef<str>>(ports: &[S]) -> Result<Self, BpfError> {
        let loading = || BpfError::refused("loading the loss of signals");
        let object = ObjectBuilder::default().open_memory(crate::bpf::LOSS).and_then(|o| o.load()).map_err(loading())?;
        let losses = object.maps().find(|m| m.name() == "losses").expect("a map of the object it was compiled from");
        let losses = MapHandle::try_from(&losses).map_err(loading())?;
        let attach = |port: &S| {
            let link = tcx::attach(&bpf::program(&object, "lose"), port.as_ref());
            link.map_err(|e| BpfError::refused(format!("losing signals at {}", port.as_ref()))(e.into()))
        };
        let _links = ports.iter().map(attach).collect::<Result<_, _>>()?;
        Ok(Self { losses, _links })
    }

    /// Sets the share of signals to drop, 0 to 1.
    ///
    /// # Errors
    /// If the kernel refuses the change.
    pub fn set(&self, share: f64) -> Result<(), BpfError> {
        let (lost, passed) = self.counts();
        let below = (share.clamp(0.0, 1.0) * (u64::from(u32::MAX) + 1) as f64) as u64;
        let value = [below, lost, passed].map(u64::to_ne_bytes).concat();
        self.losses.update(&[0; 4], &value, MapFlags::ANY).map_err(BpfError::refused("setting the loss"))
    }

    /// Numbers of dropped and of passed signals.
    pub fn counts(&self) -> (u64, u64) {
        let value = self.losses.lookup(&[0; 4], MapFlags::ANY).ok().flatten().unwrap_or_default();
        let number =
            |at: usize| value.get(at..at + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()));
        (number(8), number(16))
    }
}
