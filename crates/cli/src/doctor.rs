//! `doctor`: which features work on this machine. Simulations work everywhere; `timeplane-live
//! doctor` tries out what real hosts need.

use crate::fail::Failure;
use crate::live::program;
use crate::{DoctorArgs, output};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program that clang compiles if it supports BPF and finds the kernel's headers.
const PROBE: &str = "#include <linux/bpf.h>\nint probe(void *context) { return (int)(long)context; }\n";

/// Something that is needed to build `timeplane-live`.
struct Part {
    what: &'static str,
    /// Its version or place, or why it is missing.
    found: Result<String, String>,
}

pub fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = parts();
    let live = program();
    let mut command = Command::new(&live);
    command.arg("doctor").args(args.json.then_some("--json")).stdin(Stdio::null()).stderr(Stdio::inherit());
    let examined = command.output().map_err(|e| format!("cannot start `{}`: {e}", live.display()));
    let works = examined.as_ref().is_ok_and(|o| o.status.success());
    if args.json {
        let trials = examined.as_ref().ok().and_then(|o| serde_json::from_slice::<Value>(&o.stdout).ok());
        let part = |p: &Part| {
            let found = p.found.as_ref().unwrap_or_else(|e| e);
            json!({ "what": p.what, "works": p.found.is_ok(), "found": found })
        };
        output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "cores": cores,
            "build": parts.iter().map(part).collect::<Vec<_>>(),
            "live": { "works": works, "trials": trials, "error": examined.as_ref().err() },
        }))?;
    } else {
        let mut text = format!(
            "timeplane {}: simulations work, on {}\n\n",
            env!("CARGO_PKG_VERSION"),
            output::count(cores as u64, "core")
        );
        text += "To build timeplane-lab and timeplane-live (on Debian, `bash install.sh` installs what is missing):\n";
        for part in &parts {
            let (mark, found) = match &part.found {
                Ok(found) => ("works", found),
                Err(why) => ("MISSING", why),
            };
            text += &format!("{mark:<8} {:<32} {found}\n", part.what);
        }
        text += "\nTo run it:\n";
        text += &match &examined {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(e) => {
                format!("MISSING  timeplane-lab: {e}; run `cargo install --path crates/lab` in a clone\n")
            }
        };
        output::text(&text)?;
    }
    if works { Ok(()) } else { Err(Failure::Silent(timeplane_experiment::ExitCode::Failed)) }
}

fn parts() -> Vec<Part> {
    let header = |what, path: &str| {
        let there = Path::new(path).exists();
        Part { what, found: if there { Ok(path.to_owned()) } else { Err(format!("{path} does not exist")) } }
    };
    vec![
        Part { what: "clang for BPF", found: clang() },
        header("libelf", "/usr/include/libelf.h"),
        header("zlib", "/usr/include/zlib.h"),
        Part { what: "iproute2", found: said("ip", &["-V"]).and_then(|ip| said("tc", &["-V"]).map(|_| ip)) },
    ]
}

/// Compiles a program for BPF: some builds of clang cannot.
fn clang() -> Result<String, String> {
    let multiarch = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let mut child = Command::new("clang")
        .args(["-target", "bpf", "-O2", &multiarch, "-x", "c", "-c", "-", "-o", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("clang: {e}"))?;
    // If clang ends before it has read everything, its message says why.
    let _ = child.stdin.take().map(|mut input| input.write_all(PROBE.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("clang: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("clang cannot compile for BPF: {}", said.lines().next().unwrap_or("no message")));
    }
    said("clang", &["--version"])
}

/// The first line that a program prints.
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or(program).to_owned())
}
