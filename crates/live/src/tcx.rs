//! Attaches programs to tcx, the kernel's list of programs at an interface's ingress and egress.
//!
//! tcx needs Linux 6.6.

use libbpf_rs::{AsRawLibbpf, Link, ProgramMut, libbpf_sys};
use std::io;
use std::ptr::{self, NonNull};

/// Attaches a program of a section `tcx/ingress` or `tcx/egress` to an interface of the calling
/// thread's network namespace, after existing programs. Dropping the link detaches it, unless the
/// link is pinned.
///
/// # Errors
/// If the interface does not exist, the process lacks CAP_NET_ADMIN, or the kernel is too old.
pub fn attach(program: &ProgramMut<'_>, interface: &str) -> io::Result<Link> {
    let index = nix::net::if_::if_nametoindex(interface)? as i32;
    // SAFETY: the program is loaded and outlives the call, and a null pointer means no options.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null()) };
    let link = NonNull::new(link).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: libbpf has just created the link, and nothing else owns it.
    Ok(unsafe { Link::from_ptr(link) })
}
