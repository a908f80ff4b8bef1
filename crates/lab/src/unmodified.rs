//! Unmodified programs in a lab: iperf3, curl with a web server, and an echo of two lines of
//! Python, over the kernel's TCP and the hosts' TUN interfaces.
//!
//! [`Lab`] runs the daemons under one of [`PLANS`]. Needs root, iperf3, curl and Python 3.

use crate::fabric::{FabricParameters, controller_mac};
use crate::hosts::{Hosts, HostsParameters};
use crate::plan::LivePlan;
use serde_json::Value;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Wait, Instant};
use timeplane_live::agent::Snapshot;
use timeplane_live::daemons::Failure;
use timeplane_live::netns::Namespace;
use timeplane_live::observer::Observer;
use timeplane_scenario::Loaded;

/// The plans under which programs run.
pub const PLANS: [&str; 3] = ["slots", "rates", "circuits"];
/// Hosts of a lab. Programs run between the first two.
pub const HOSTS: u16 = 4;
/// Least length of the headers of IPv4 and TCP with timestamps, which Linux uses by default.
pub const HEADERS: u64 = 52;
const PORT: u16 = 7000;
const PATIENCE: Wait = Wait::from_secs(90);

/// A server of two lines that returns what it receives.
const ECHO: &str = "import socket; c, _ = socket.create_server(('', 7000)).accept()\n\
    for d in iter(lambda: c.recv(65536), b''): c.sendall(d)";
/// A client that sends bytes of every value, reads them back, and prints how many are the same.
const ASK: &str = "import os, socket, sys, threading\n\
    n, sent = int(sys.argv[2]), os.urandom(int(sys.argv[2]))\n\
    c = socket.create_connection((sys.argv[1], 7000), 60)\n\
    threading.Thread(target=c.sendall, args=(sent,)).start()\n\
    back = bytearray()\n\
    while len(back) < n: back += c.recv(65536) or sys.exit('closed')\n\
    print(sum(a == b for a, b in zip(sent, back)))";

fn scenario(plan: &str) -> String {
    let (topology, keys) = match plan {
        "slots" => (
            "single_switch = { hosts = 4 }",
            "tdma = { slot = \"10 ms\", guard = \"1 ms\", round_slots = 3, control_latency = \"2 ms\", \
             compute_time = \"200 us\", signals = { hold = \"15 ms\", reaction.times = { off_least = \"1 us\", \
             off_most = \"500 us\", on_least = \"10 us\", on_most = \"500 us\" } } }",
        ),
        "rates" => (
            "single_switch = { hosts = 4 }",
            "rates = { control_latency = \"2 ms\", compute_time = \"100 us\", every = \"2 ms\", report_every = \"10 ms\" }",
        ),
        _ => (
            "hybrid = { tors = 4, hosts_per_tor = 1, packet_rate = \"5 Mb/s\", dark.fixed = \"2 ms\", \
             multiplexer_frames = 4 }",
            "circuits = { period = \"120 ms\", dark = \"10 ms\", least_open = \"20 ms\", control_latency = \"6 ms\", \
             compute_time = \"1 ms\", signals.reaction.times = { off_least = \"1 us\", off_most = \"30 us\", \
             on_least = \"10 us\", on_most = \"110 us\" } }",
        ),
    };
    format!(
        "[fabric]\ntopology.{topology}\nrate = \"50 Mb/s\"\n[workload.shuffle]\nbytes = \"1 kB\"\n\
         [scheme.{plan}]\ntransport.raw.header = \"38 B\"\nplan.{keys}\n"
    )
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct Done {
    /// Name of the program.
    pub program: &'static str,
    /// Bytes that the receiving program has read.
    pub bytes: u64,
    /// Time from the client's start to its end, or iperf3's own.
    pub seconds: f64,
    /// Segments that the kernel's TCP sent again, where the program says so.
    pub retransmissions: Option<u64>,
}

/// Daemons with TUN interfaces under a plan. Dropping it ends them and removes its files.
#[derive(Debug)]
pub struct Lab {
    /// The daemons.
    pub hosts: Hosts,
    /// At the switch, where hosts send in slots.
    pub observer: Option<Observer>,
    folder: PathBuf,
}

impl Lab {
    /// Starts daemons of `program` under one of [`PLANS`]. Namespaces begin with `name`.
    ///
    /// # Errors
    /// If a daemon or the observer does not start.
    pub fn start(program: &Path, name: &str, plan: &str) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        let file = folder.join("scenario.toml");
        std::fs::write(&file, scenario(plan))?;
        let live = LivePlan::new(&Loaded::from_file(&file, &[])?.scenario, plan)?;
        let parameters = HostsParameters {
            tun: true,
            real_time: false,
            circuits: live.circuits().copied(),
            ..HostsParameters::new(program, &folder, &file, plan)
        };
        let fabric = FabricParameters { name: name.to_owned(), hosts: HOSTS, mtu: 1500, limit: None };
        let hosts = Hosts::start(parameters, &fabric)?;
        let ports = hosts.fabric().ports();
        let attach = || Observer::attach(&ports, controller_mac());
        let observer = (plan == "slots").then(|| hosts.fabric().switch().enter(attach)).transpose()?.transpose()?;
        Ok(Self { hosts, observer, folder })
    }

    /// The counters of a host's agent, once it has shown all that has happened.
    ///
    /// # Errors
    /// If the agent has ended.
    pub fn settled(&self, host: usize) -> Result<Snapshot, Failure> {
        // Agents show themselves five times a second.
        std::thread::sleep(Wait::from_millis(450));
        self.hosts.snapshot(host).ok_or_else(|| format!("the agent of host {host} has ended").into())
    }

    /// iperf3 from host 0 to host 1, and what it printed in JSON. Its client ends with the last
    /// write, and the bytes are those that the server has read by then.
    ///
    /// # Errors
    /// If it is missing, fails or takes too long.
    pub fn iperf3(&self, bytes: u64) -> Result<(Done, Value), Failure> {
        let (client, server) = (&self.hosts.fabric().hosts()[0], &self.hosts.fabric().hosts()[1]);
        let _server = Server::start(server, server.command("iperf3").args(["-s", "-1", "-p", "7000"]))?;
        let (said, _) = run(client, &["iperf3", "-c", "10.99.0.2", "-p", "7000", "-J", "-n", &bytes.to_string()])?;
        let json: Value = serde_json::from_slice(&said)?;
        let missing = |what| format!("iperf3 says no {what}: {json}");
        let (sent, received) = (&json["end"]["sum_sent"], &json["end"]["sum_received"]);
        let done = Done {
            program: "iperf3",
            bytes: received["bytes"].as_u64().ok_or_else(|| missing("bytes"))?,
            seconds: received["seconds"].as_f64().ok_or_else(|| missing("seconds"))?,
            retransmissions: sent["retransmits"].as_u64(),
        };
        Ok((done, json))
    }

    /// curl at host 0 reads a file of a web server at host 1. Also returns whether the file that
    /// arrived has the digest of the one that was sent.
    ///
    /// # Errors
    /// If a program is missing, fails or takes too long.
    pub fn curl(&self, bytes: u64) -> Result<(Done, bool), Failure> {
        let (client, server) = (&self.hosts.fabric().hosts()[0], &self.hosts.fabric().hosts()[1]);
        let site = self.folder.join("site");
        std::fs::create_dir_all(&site)?;
        let (offered, arrived) = (site.join("file"), self.folder.join("arrived"));
        let mut content = Vec::new();
        std::fs::File::open("/dev/urandom")?.take(bytes).read_to_end(&mut content)?;
        std::fs::write(&offered, content)?;
        let web = ["-m", "http.server", "7000", "--directory"];
        let _server = Server::start(server, server.command("python3").args(web).arg(&site))?;
        let output = arrived.to_string_lossy();
        let (_, seconds) = run(client, &["curl", "-sSf", "-o", &output, "http://10.99.0.2:7000/file"])?;
        let whole = digest(&offered)? == digest(&arrived)?;
        let bytes = std::fs::metadata(&arrived)?.len();
        Ok((Done { program: "curl", bytes, seconds, retransmissions: None }, whole))
    }

    /// An echo of two lines of Python at host 1, asked from host 0. The bytes count that came back
    /// as they were sent.
    ///
    /// # Errors
    /// If a program is missing, fails or takes too long.
    pub fn echo(&self, bytes: u64) -> Result<Done, Failure> {
        let (client, server) = (&self.hosts.fabric().hosts()[0], &self.hosts.fabric().hosts()[1]);
        let _server = Server::start(server, server.command("python3").args(["-c", ECHO]))?;
        let (said, seconds) = run(client, &["python3", "-c", ASK, "10.99.0.2", &bytes.to_string()])?;
        let bytes = String::from_utf8_lossy(&said).trim().parse()?;
        Ok(Done { program: "python", bytes, seconds, retransmissions: None })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn digest(file: &Path) -> Result<String, Failure> {
    let said = Command::new("sha256sum").arg(file).output()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text.split_whitespace().next().ok_or("sha256sum says nothing")?.to_owned())
}

/// Runs a command in a namespace. Returns its standard output and how long it took in seconds.
fn run(at: &Namespace, command: &[&str]) -> Result<(Vec<u8>, f64), Failure> {
    let began = Instant::now();
    let limit = PATIENCE.as_secs().to_string();
    let out = at.command("timeout").arg(limit).args(command).stdin(Stdio::null()).output()?;
    if out.status.success() {
        return Ok((out.stdout, began.elapsed().as_secs_f64()));
    }
    let (said, error) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(format!("{}: {}: {said}{error}", command.join(" "), out.status).into())
}

/// A server's process. It ends when dropped.
struct Server(Child);

impl Server {
    /// Starts it, and waits until it listens at the port of all servers here.
    fn start(at: &Namespace, command: &mut Command) -> Result<Self, Failure> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self(quiet.spawn()?);
        let began = Instant::now();
        while !at.enter(listens)? {
            if began.elapsed() > PATIENCE || server.0.try_wait()?.is_some() {
                return Err(format!("{:?} does not listen at port {PORT}", command.get_args()).into());
            }
            std::thread::sleep(Wait::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _: Result<(), Error> = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a socket of this thread's namespace listens at [`PORT`].
fn listens() -> bool {
    let listening = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().is_some_and(|w| w.ends_with(&format!(":{PORT:04X}")));
        local && words.nth(1) == Some("0A")
    };
    let read = |table| std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
    ["tcp", "tcp6"].into_iter().any(|table| read(table).lines().any(listening))
}
