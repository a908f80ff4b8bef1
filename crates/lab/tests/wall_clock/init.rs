//! `timeplane live init`: daemons start with what it writes, in namespaces, and agents join both
//! controllers.

use crate::common::{scenario, until};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration as Wait;
use timeplane_lab::fabric::{Fabric, FabricParameters, INTERFACE, controller_ip};
use timeplane_live::netns::Namespace;

const PROGRAM: &str = env!("CARGO_BIN_EXE_timeplane-lab");

/// A daemon, ended and waited for when it is dropped.
struct Daemon(Child);

impl Daemon {
    fn start(namespace: &Namespace, kind: &str, file: &Path) -> Self {
        // Several machines are one here, so they must not share the usual folder.
        let folder = file.parent().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let run = folder.join("run");
        std::fs::write(file, format!("runtime = {run:?}\nreal_time = false\n{text}")).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = namespace.command(PROGRAM);
        let child = command.arg(kind).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.0.id() as i32), nix::sys::signal::Signal::SIGTERM);
        let _ = self.0.wait();
    }
}

/// Runs `init` in a folder; its standard output, or its error.
fn init(folder: &Path, hosts: u32) -> Result<String, String> {
    let ip = controller_ip();
    let (first, standby) = (format!("{ip}:51208"), format!("{ip}:51209"));
    let output = Command::new(PROGRAM)
        .current_dir(folder)
        .args(["init", "fabric", "--scenario", "two.toml", "--scheme", "slots", "--interface", INTERFACE])
        .args(["--controller", &first, "--standby", &standby, "--tun", "10.99.0.0"])
        .args(["--hosts", &hosts.to_string()])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn daemons_start_with_what_init_writes() {
    let _turn = crate::turn();
    let name = format!("tpinit{}", std::process::id());
    let folder = std::env::temp_dir().join(&name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("two.toml"), scenario(2, 10, true)).unwrap();
    let refused = init(&folder, 3).unwrap_err();
    assert!(refused.contains("--hosts 3: expected 2, as two.toml has"), "{refused}");
    assert!(!folder.join("fabric").exists());
    let said = init(&folder, 2).unwrap();
    assert!(said.contains("fabric/host-1: copy its content to /etc/timeplane on host 1"), "{said}");

    let fabric = Fabric::start(&FabricParameters { name, hosts: 2, mtu: 1500, limit: None }).unwrap();
    let mut daemons = Vec::new();
    for place in 0..2 {
        let file = folder.join(format!("fabric/controller-{place}/controller.toml"));
        if place == 1 {
            // Both controllers are in one namespace, so their pages need two ports.
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace("127.0.0.1:9464", "127.0.0.1:9466")).unwrap();
        }
        daemons.push(Daemon::start(fabric.controller(), "controller", &file));
    }
    for (host, namespace) in fabric.hosts().iter().enumerate() {
        let file = folder.join(format!("fabric/host-{host}/host-{host}.toml"));
        daemons.push(Daemon::start(namespace, "agent", &file));
    }
    let joined = |host: u32| std::fs::read_to_string(folder.join(format!("fabric/host-{host}/run/joined")));
    until("both agents know both hosts", Wait::from_secs(60), || {
        (0..2).all(|h| joined(h).is_ok_and(|t| t.trim() == "2"))
    });
    drop(daemons);
    drop(fabric);
    std::fs::remove_dir_all(&folder).unwrap();
}
