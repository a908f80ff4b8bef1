//! Digests the sources and data that a run's result depends on, and asks git for the commit. Both
//! end up in the environment of the compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates whose code decides what a simulated run results in.
const ENGINE: [&str; 11] = [
    "assembly",
    "experiment",
    "model",
    "protocol",
    "radio",
    "results",
    "scenario",
    "schedule",
    "sim",
    "transport",
    "workload",
];

fn main() {
    let root = Path::new("../..");
    let sources = ENGINE.iter().map(|name| root.join("crates").join(name).join("src"));
    let mut files = vec![root.join("Cargo.lock")];
    println!("cargo:rerun-if-changed={}", files[0].display());
    for folder in sources.chain([root.join("data")]) {
        println!("cargo:rerun-if-changed={}", folder.display());
        list(&folder, &mut files);
    }
    files.sort();
    let mut hash = blake3::Hasher::new();
    // A package comes without the other crates: its version says the rest.
    for (file, content) in files.iter().filter_map(|file| Some((file, fs::read(file).ok()?))) {
        let name = file.to_string_lossy().replace('\\', "/");
        hash.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hash.update(&(content.len() as u64).to_le_bytes()).update(&content);
    }
    println!("cargo:rustc-env=TIMEPLANE_SOURCES={}", &hash.finalize().to_hex()[..16]);
    println!("cargo:rustc-env=TIMEPLANE_COMMIT={}", commit().unwrap_or_default());
}

/// All files below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The commit that is checked out, with `-dirty` where tracked files differ from it.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    // In a package inside another repository, that repository's commit says nothing.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize("../..").ok()? != fs::canonicalize(top).ok()? {
        return None;
    }
    // Asked only when the sources change: a commit alone does not build everything again.
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}
