//! Agents without a controller: one that is started twice leaves the first one's gate, folder and
//! socket alone, and one whose interface is removed gates it again when it is back.

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_live::client::Agent;
use timeplane_live::daemons;
use timeplane_live::keys::Authority;
use timeplane_live::netns::{Namespace, veth};
use timeplane_live::service::Stop;

/// A host whose agent waits for a controller that never comes.
struct Host {
    namespace: Namespace,
    other: Namespace,
    folder: PathBuf,
}

impl Host {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tp-agents-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Authority::create(folder.join("keys")).unwrap().issue("host-0").unwrap();
        let [namespace, other] =
            ["h", "o"].map(|end| Namespace::create(&format!("tpa{name}{}{end}", std::process::id())).unwrap());
        let host = Self { namespace, other, folder };
        host.connect("02:00:00:00:00:01");
        host
    }

    /// Makes the interface, with an address.
    fn connect(&self, mac: &str) {
        veth((&self.namespace, "eth0", mac), (&self.other, "eth0", "02:00:00:00:00:02")).unwrap();
    }

    /// A configuration with a folder for the agent's files.
    fn config(&self, name: &str) -> PathBuf {
        let file = self.folder.join(format!("{name}.toml"));
        let runtime = self.folder.join(name);
        let text = format!(
            "host = 0\ninterface = \"eth0\"\nkeys = \"keys\"\nruntime = {runtime:?}\nreal_time = false\n\
             controllers = [{{ address = \"127.0.0.1:9\" }}]\n"
        );
        std::fs::write(&file, text).unwrap();
        file
    }

    fn agent(&self, config: &Path, stop: &Stop) -> Result<(), String> {
        self.namespace.enter(|| daemons::agent(config, stop).map_err(|e| e.to_string())).unwrap()
    }

    /// The settings of the gate in the kernel, which begin with its key; `None` without a gate.
    fn settings(&self) -> Option<Vec<u8>> {
        let (root, name) = self.namespace.enter(|| daemons::pin_of("eth0").unwrap()).unwrap();
        let map = MapHandle::from_pinned_path(root.join(name).join("settings")).ok()?;
        map.lookup(&[0; 4], MapFlags::ANY).unwrap()
    }

    /// The number of an agent's start, as it tells programs.
    fn epoch(&self, name: &str) -> serde_json::Value {
        Agent::new(self.folder.join(name).join("agent.sock")).status().unwrap()["epoch"].clone()
    }
}

/// The gates that are kept for a host's network namespace.
fn gates(host: &Host) -> Vec<String> {
    let (root, name) = host.namespace.enter(|| daemons::pin_of("eth0").unwrap()).unwrap();
    let of_namespace = format!("{}-", name.split('-').next().unwrap());
    let all = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    all.filter(|name| name.starts_with(&of_namespace)).collect()
}

/// Waits for what has to come, unless the agent ends before.
fn until<T>(running: &ScopedJoinHandle<'_, T>, what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(!running.is_finished() && began.elapsed() < Wait::from_secs(60), "{what}");
        std::thread::sleep(Wait::from_millis(5));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Ends an agent, however the test does.
struct Ending<'s>(&'s Stop);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[test]
fn a_second_agent_ends_and_the_first_goes_on() {
    let host = Host::new("tw");
    let (stop, first) = (Stop::default(), host.config("first"));
    let runtime = host.folder.join("first");
    std::thread::scope(|scope| {
        let ends = Ending(&stop);
        let running = scope.spawn(|| host.agent(&first, &stop));
        until(&running, "it starts", || runtime.join("ready").exists());
        let starts = || std::fs::read_to_string(runtime.join("epoch")).unwrap();
        let state = || (host.settings().expect("a gate"), starts(), host.epoch("first"));
        let before = state();

        let mine = std::process::id();
        let again = host.agent(&first, &Stop::default()).unwrap_err();
        let folder = runtime.display();
        let expected = format!(
            "another agent runs in {folder}: {folder}/agent.lock is held by process {mine}; stop it first, or set another `runtime`"
        );
        assert_eq!(again, expected);
        let elsewhere = host.agent(&host.config("second"), &Stop::default()).unwrap_err();
        assert!(elsewhere.starts_with("another agent gates eth0: "), "{elsewhere}");
        assert!(elsewhere.ends_with(&format!("is held by process {mine}; stop it first")), "{elsewhere}");
        // The key of the gate, the number of starts, and the socket are the first one's.
        assert_eq!(state(), before);
        drop(ends);
        assert_eq!(running.join().unwrap(), Ok(()));
    });
    // An agent that has ended is in nobody's way.
    let stop = Stop::default();
    stop.set();
    assert_eq!(host.agent(&first, &stop), Ok(()));
    assert_eq!(host.agent(&host.config("second"), &stop), Ok(()));
}

#[test]
fn an_interface_that_is_removed_and_back_is_gated_again() {
    let host = Host::new("rm");
    let (stop, config) = (Stop::default(), host.config("agent"));
    std::thread::scope(|scope| {
        let _ends = Ending(&stop);
        let running = scope.spawn(|| host.agent(&config, &stop));
        until(&running, "it starts", || host.folder.join("agent/ready").exists());
        let (settings, epoch) = (host.settings().expect("a gate"), host.epoch("agent"));
        host.namespace.ip("link del eth0").unwrap();
        host.connect("02:00:00:00:00:01");
        let again = || host.settings().filter(|again| again[16..] == settings[16..]);
        until(&running, "another gate, with the same settings", || again().is_some());
        // The key is new, as the new gate does not know the signals of before.
        assert_ne!(again().unwrap()[..16], settings[..16]);
        assert_eq!(host.epoch("agent"), epoch, "the same agent");
        // With another address it would not be the host that others know.
        host.namespace.ip("link del eth0").unwrap();
        host.connect("02:00:00:00:00:07");
        let ended = running.join().unwrap();
        assert!(gates(&host).is_empty(), "no gate of an interface that is gone stays");
        let why = "interface eth0 is back with the address 02:00:00:00:00:07 instead of 02:00:00:00:00:01: start the agent again";
        assert_eq!(ended, Err(why.to_owned()));
    });
}
