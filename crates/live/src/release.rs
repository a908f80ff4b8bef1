//! Removes the gates that agents have left on this machine, in all network namespaces.
//!
//! Gates of running agents stay.

use crate::daemons::Failure;
use crate::lock::{Lock, LockError};
use std::path::{Path, PathBuf};

/// Removes every gate below the folder `pins` whose agent has ended. `locks` is the folder of the
/// files that running agents hold. Other things pinned there, such as circuit switches, stay.
///
/// Returns the names of the released gates, `NAMESPACE-INDEX-INTERFACE`, in order. Without the
/// folder `pins` there are none.
///
/// # Errors
/// Names each gate that stays because its agent runs or a file cannot be removed. All others are
/// released.
pub fn release_all(pins: &Path, locks: &Path) -> Result<Vec<String>, Failure> {
    let (mut released, mut failed) = (Vec::new(), Vec::new());
    for (folder, name) in gates(pins).map_err(|e| format!("{}: {e}", pins.display()))? {
        match release_one(&folder, &locks.join(lock_name(&name))) {
            Ok(()) => released.push(name),
            Err(e) => failed.push(e),
        }
    }
    if failed.is_empty() { Ok(released) } else { Err(failed.join("; ").into()) }
}

/// Folders of gates and their names, in order.
fn gates(pins: &Path) -> std::io::Result<Vec<(PathBuf, String)>> {
    let entries = match std::fs::read_dir(pins) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut gates = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_gate(&name) && entry.file_type()?.is_dir() {
            gates.push((entry.path(), name));
        }
    }
    gates.sort();
    Ok(gates)
}

/// Whether a name is `NAMESPACE-INDEX-INTERFACE`, with two numbers.
fn is_gate(name: &str) -> bool {
    let mut parts = name.splitn(3, '-');
    let mut number = || parts.next().is_some_and(|p| p.parse::<u64>().is_ok());
    number() && number() && parts.next().is_some_and(|interface| !interface.is_empty())
}

/// The agent's lock has no index, as it also holds while the interface is removed.
fn lock_name(gate: &str) -> String {
    let mut parts = gate.splitn(3, '-');
    let (namespace, interface) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
    format!("{namespace}-{interface}")
}

fn release_one(folder: &Path, lock: &Path) -> Result<(), String> {
    // Held until the gate is gone, so that no agent starts meanwhile.
    let _lock = Lock::take(lock).map_err(|e| match e {
        LockError::Held { .. } => format!("{}: its agent runs: {e}; stop it first", folder.display()),
        LockError::File { .. } => e.to_string(),
    })?;
    crate::gate::release(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gates_have_names_of_gates() {
        for gate in ["1-2-eth0", "18446744073709551615-7-br-lan"] {
            assert!(is_gate(gate), "{gate}");
        }
        for other in ["circuits", "1-2", "1-2-", "a-2-eth0", "1-eth0", ""] {
            assert!(!is_gate(other), "{other}");
        }
        assert_eq!(lock_name("12-3-br-lan"), "12-br-lan");
    }
}
