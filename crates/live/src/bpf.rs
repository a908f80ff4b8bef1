//! The compiled programs of `bpf/`, and how they are attached and pinned.
//!
//! Programs need Linux 6.6 or newer.

use libbpf_rs::{Object, ProgramMut};
use std::path::Path;

/// The folder of this machine's pinned gates and circuit switches.
pub const PINS: &str = "/run/timeplane/bpf";
/// XDP parser of control frames, and the gate's tc egress program.
pub(crate) const GATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gate.o"));

/// Why a program cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// The interface does not exist.
    #[error("unknown interface `{0}`")]
    Interface(String),
    /// The kernel refuses the operation.
    #[error("{what}: {source}; BPF needs Linux 6.6 or newer and the capabilities BPF, NET_ADMIN and PERFMON")]
    Refused {
        /// The failed operation.
        what: String,
        /// The message of libbpf.
        source: libbpf_rs::Error,
    },
    /// The folder for pinned programs cannot be created.
    #[error("{path}: {source}")]
    Pin {
        /// Path of the folder.
        path: String,
        /// The system's message.
        source: std::io::Error,
    },
}

impl BpfError {
    /// Wraps an error of libbpf; `what` was tried.
    pub fn refused(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Self {
        let what = what.into();
        move |source| Self::Refused { what, source }
    }
}

/// The number of an interface in the network namespace of this thread.
///
/// # Errors
/// If the interface does not exist.
pub fn interface_index(name: &str) -> Result<i32, BpfError> {
    nix::net::if_::if_nametoindex(name).map(|i| i as i32).map_err(|_| BpfError::Interface(name.to_owned()))
}

/// A program of an object, by its function's name.
pub fn program<'o>(object: &'o Object, name: &str) -> ProgramMut<'o> {
    object
        .progs_mut()
        .find(|p| p.name() == name)
        .unwrap_or_else(|| panic!("`{name}` is in the object it was compiled from"))
}

/// Creates a folder for pinned programs and maps, in a BPF file system that is mounted if there is
/// none.
///
/// # Errors
/// If the folder can neither be found nor created.
pub fn pin_folder(root: &Path, name: &str) -> Result<std::path::PathBuf, BpfError> {
    let pin = |source| BpfError::Pin { path: root.display().to_string(), source };
    std::fs::create_dir_all(root).map_err(pin)?;
    let is_bpf = nix::sys::statfs::statfs(root).is_ok_and(|s| s.filesystem_type() == nix::sys::statfs::BPF_FS_MAGIC);
    if !is_bpf {
        nix::mount::mount(Some("bpf"), root, Some("bpf"), nix::mount::MsFlags::empty(), Some("mode=0700"))
            .map_err(|e| pin(e.into()))?;
    }
    let folder = root.join(name);
    std::fs::create_dir_all(&folder).map_err(pin)?;
    Ok(folder)
}

/// tcx programs that watch a switch's ports for frames outside of their slots.
pub mod observer {
    include!(concat!(env!("OUT_DIR"), "/observer.skel.rs"));
}

/// A congestion control whose window is set by socket.
pub mod window {
    include!(concat!(env!("OUT_DIR"), "/window.skel.rs"));
}

/// tc egress program that sends acknowledgements out of another interface.
pub mod acks {
    include!(concat!(env!("OUT_DIR"), "/acks.skel.rs"));
}
