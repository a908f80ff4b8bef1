//! The machine that runs: how much memory it has left. A container's limit counts, where there is
//! one.

use sysinfo::{MemoryRefreshKind, System};
use timeplane_model::Bytes;

/// The memory that this process can still take without swapping. `None` where the system does not
/// tell.
pub fn free_memory() -> Option<Bytes> {
    let mut system = System::new();
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    // Without /proc, as in an empty root. The library then has no limits either, and panics.
    if system.total_memory() == 0 {
        return None;
    }
    let free = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory).min(system.available_memory());
    (free > 0).then(|| Bytes::new(free))
}
