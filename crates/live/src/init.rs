//! The command `timeplane live init`: configurations and keys for a fabric, one folder per machine.
//!
//! Everything is written into a new folder, completely or not at all. The folder of a machine is
//! what the services of `crates/live/systemd` read from `/etc/timeplane`.

use crate::daemons::Failure;
use crate::keys::{Authority, files};
use clap::Args;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use timeplane_protocol::wire::PORT;

/// Where a machine's files belong.
const TARGET: &str = "/etc/timeplane";

/// What to write for which machines.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// The folder to make
    pub dir: PathBuf,
    /// Number of hosts of the scenario
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub hosts: u32,
    /// The interface of each host that is gated
    #[arg(long, value_parser = interface)]
    pub interface: String,
    /// Address of the controller for connections of hosts; the port is 51208 unless given
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    pub controller: SocketAddr,
    /// Address of a second controller, which takes over if the first one fails
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    pub standby: Option<SocketAddr>,
    /// The interface of controllers for signals [default: as that of hosts]
    #[arg(long, value_name = "INTERFACE", value_parser = interface)]
    pub controller_interface: Option<String>,
    /// A network for unmodified programs: host n has its address n + 1; the prefix is 16 unless
    /// given
    #[arg(long, value_name = "NETWORK[/PREFIX]")]
    pub tun: Option<Network>,
    /// The scenario, a file that is copied for controllers
    #[arg(long, value_name = "FILE")]
    pub scenario: PathBuf,
    /// The scheme of the scenario that controllers run
    #[arg(long)]
    pub scheme: String,
}

/// An IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: Ipv4Addr,
    prefix: u8,
}

impl std::str::FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, prefix) = text.split_once('/').unwrap_or((text, "16"));
        let parsed = address.parse::<Ipv4Addr>().ok().zip(prefix.parse::<u8>().ok());
        match parsed.filter(|&(_, prefix)| (1..=30).contains(&prefix)) {
            Some((address, prefix)) if address.to_bits() & (u32::MAX >> prefix) == 0 => Ok(Self { address, prefix }),
            _ => Err("expected the first address of an IPv4 network, such as 10.99.0.0 or 10.99.4.0/24".to_owned()),
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    alone.or_else(|_| text.parse()).map_err(|_| "expected an address such as 10.0.0.1 or 10.0.0.1:51208".to_owned())
}

/// As Linux allows names of interfaces (`dev_valid_name` of the kernel).
fn interface(name: &str) -> Result<String, String> {
    let good = (1..=15).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace());
    if good { Ok(name.to_owned()) } else { Err("expected the name of an interface, such as eth0".to_owned()) }
}

impl InitArgs {
    /// Checks the number of hosts against the scenario, for programs that can read it.
    ///
    /// # Errors
    /// If the scenario has another number.
    pub fn check_hosts(&self, scenario: u32) -> Result<(), Failure> {
        if self.hosts == scenario {
            return Ok(());
        }
        Err(format!("--hosts {}: expected {scenario}, as {} has", self.hosts, self.scenario.display()).into())
    }

    /// Makes the folder; returns what to copy where.
    ///
    /// # Errors
    /// If the folder exists and is not empty, the arguments contradict each other, or a file cannot
    /// be read or written. Nothing is left then.
    pub fn run(&self) -> Result<String, Failure> {
        let exists = || format!("{} exists already: expected a new or an empty folder", self.dir.display());
        let scenario = self.check()?;
        if std::fs::read_dir(&self.dir).is_ok_and(|mut d| d.next().is_some()) {
            return Err(exists().into());
        }
        // Without a slash at its end.
        let mut beside = self.dir.components().as_path().as_os_str().to_owned();
        beside.push(format!(".{}.new", std::process::id()));
        let beside = PathBuf::from(beside);
        // The rename fails if somebody else has put something there in the meantime.
        let made = self.write(&beside, &scenario);
        let made = made.and_then(|()| {
            std::fs::rename(&beside, &self.dir).map_err(|e| format!("{}: {e}", self.dir.display()).into())
        });
        if let Err(e) = made {
            let _ = std::fs::remove_dir_all(&beside);
            return Err(e);
        }
        Ok(self.what_to_copy())
    }

    /// Checks what clap cannot; returns the text of the scenario.
    fn check(&self) -> Result<String, Failure> {
        if self.standby == Some(self.controller) {
            return Err(format!("--standby {}: expected another address than --controller", self.controller).into());
        }
        if let Some(Network { address, prefix }) = self.tun {
            let room = (u32::MAX >> prefix) - 1;
            if self.hosts > room {
                return Err(format!("--tun {address}/{prefix}: room for {room} hosts, not for {}", self.hosts).into());
            }
        }
        if self.scenario.file_name().is_none_or(|n| n == "controller.toml") {
            return Err(
                format!("--scenario {}: expected a file, and not controller.toml", self.scenario.display()).into()
            );
        }
        std::fs::read_to_string(&self.scenario).map_err(|e| format!("{}: {e}", self.scenario.display()).into())
    }

    /// Addresses of controllers, by place.
    fn controllers(&self) -> impl Iterator<Item = (usize, SocketAddr)> {
        std::iter::once(self.controller).chain(self.standby).enumerate()
    }

    fn write(&self, dir: &Path, scenario: &str) -> Result<(), Failure> {
        let authority = Authority::create(dir.join("authority"))?;
        let public = |path: PathBuf, text: &str| files::write(&path, files::PUBLIC, text, false);
        for (place, _) in self.controllers() {
            let folder = machine(dir, &authority, &format!("controller-{place}"))?;
            public(folder.join("controller.toml"), &self.controller_file(place))?;
            public(folder.join(self.scenario.file_name().unwrap_or_default()), scenario)?;
        }
        for host in 0..self.hosts {
            let folder = machine(dir, &authority, &format!("host-{host}"))?;
            public(folder.join(format!("host-{host}.toml")), &self.agent_file(host))?;
        }
        Ok(())
    }

    fn controller_file(&self, place: usize) -> String {
        let scenario = self.scenario.file_name().unwrap_or_default().to_string_lossy();
        let interface = self.controller_interface.as_ref().unwrap_or(&self.interface);
        let listen = self.controllers().find(|c| c.0 == place).map_or(self.controller, |c| c.1);
        let mut file = format!(
            "# The controller plans slots and signals them.\nscenario = {}\nscheme = {}\ninterface = {}\n\
             listen = \"{listen}\"\nkeys = \"keys\"\nplace = {place}\nstatus = \"127.0.0.1:9464\"\n",
            text(&scenario),
            text(&self.scheme),
            text(interface),
        );
        for (other, address) in self.controllers().filter(|c| c.0 != place) {
            // A text takes everything.
            let _ = write!(file, "\n[[peers]]\naddress = \"{address}\"\nname = \"controller-{other}\"\n");
        }
        file
    }

    fn agent_file(&self, host: u32) -> String {
        let mut file = format!(
            "# The agent keeps data until its slot.\nhost = {host}\ninterface = {}\nkeys = \"keys\"\n\
             status = \"127.0.0.1:9465\"\n",
            text(&self.interface)
        );
        for (place, address) in self.controllers() {
            let _ = write!(file, "\n[[controllers]]\naddress = \"{address}\"\nname = \"controller-{place}\"\n");
        }
        if let Some(Network { address, prefix }) = self.tun {
            let _ = write!(file, "\n[tun]\nnetwork = \"{address}\"\nprefix = {prefix}\n");
        }
        file
    }

    fn what_to_copy(&self) -> String {
        let dir = self.dir.display();
        let mut said = format!("{dir}/authority: keep it here; its ca.key issues certificates\n");
        for (place, address) in self.controllers() {
            let _ = writeln!(
                said,
                "{dir}/controller-{place}: copy its content to {TARGET} on {}, and run there: timeplane live controller {TARGET}/controller.toml",
                address.ip()
            );
        }
        for host in 0..self.hosts {
            let _ = writeln!(
                said,
                "{dir}/host-{host}: copy its content to {TARGET} on host {host}, and run there: timeplane live agent {TARGET}/host-{host}.toml"
            );
        }
        said
    }
}

/// Makes the folder of a machine with its keys.
fn machine(dir: &Path, authority: &Authority, name: &str) -> Result<PathBuf, Failure> {
    authority.issue(name)?;
    let folder = dir.join(name);
    files::folder(&folder.join("keys"))?;
    for (file, mode) in [
        ("ca.pem".to_owned(), files::PUBLIC),
        (format!("{name}.pem"), files::PUBLIC),
        (format!("{name}.key"), files::PRIVATE),
    ] {
        let content = files::read(&authority.dir().join(&file), mode == files::PRIVATE)?;
        files::write(&folder.join("keys").join(&file), mode, &content, false)?;
    }
    Ok(folder)
}

/// A string of TOML.
fn text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, AgentFile, ControllerFile};
    use crate::keys::Identity;
    use crate::scratch::Scratch;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        init: InitArgs,
    }

    fn run(scratch: &Scratch, arguments: &str) -> Result<String, String> {
        std::fs::write(scratch.join("lab.toml"), "# a scenario\n").unwrap();
        let at = |name: &str| scratch.join(name).display().to_string();
        let (dir, scenario) = (at("new"), at("lab.toml"));
        let first = ["init", &dir, "--scenario", &scenario, "--scheme", "the \"slots\""];
        let all = first.into_iter().chain(arguments.split_whitespace());
        Command::try_parse_from(all).map_err(|e| e.to_string())?.init.run().map_err(|e| e.to_string())
    }

    #[test]
    fn daemons_accept_what_is_written() {
        let scratch = Scratch::new("init");
        let said = run(&scratch, "--hosts 3 --interface eth0 --controller 10.0.0.1 --standby 10.0.0.2:7 --controller-interface eth1 --tun 10.99.4.0/24").unwrap();
        let new = scratch.join("new");
        for (place, listen, other) in [(0, "10.0.0.1:51208", "10.0.0.2:7"), (1, "10.0.0.2:7", "10.0.0.1:51208")] {
            let name = format!("controller-{place}");
            let path = new.join(&name).join("controller.toml");
            let file: ControllerFile = config::read(&path).unwrap();
            assert_eq!(
                (file.place, file.listen.to_string().as_str(), file.interface.as_str()),
                (place, listen, "eth1")
            );
            assert_eq!((file.peers.len(), file.peers[0].address.to_string().as_str()), (1, other));
            assert_eq!(
                (file.peers[0].name.clone(), file.scheme.as_str()),
                (format!("controller-{}", 1 - place), "the \"slots\"")
            );
            assert!(config::beside(&path, &file.scenario).ends_with(format!("{name}/lab.toml")));
            assert!(config::beside(&path, &file.scenario).exists());
            Identity::load(config::beside(&path, &file.keys), &name).unwrap();
            assert!(
                said.contains(&format!("{name}: copy its content to /etc/timeplane on {}", file.listen.ip())),
                "{said}"
            );
        }
        for host in 0..3 {
            let name = format!("host-{host}");
            let path = new.join(&name).join(format!("{name}.toml"));
            let file: AgentFile = config::read(&path).unwrap();
            assert_eq!((file.host, file.interface.as_str()), (host, "eth0"));
            let controllers: Vec<_> =
                file.controllers.iter().map(|c| (c.address.to_string(), c.name.clone())).collect();
            assert_eq!(
                controllers,
                [("10.0.0.1:51208".into(), "controller-0".into()), ("10.0.0.2:7".into(), "controller-1".into())]
            );
            let tun = file.tun.unwrap();
            assert_eq!((tun.network, tun.prefix), (Ipv4Addr::new(10, 99, 4, 0), 24));
            let keys = config::beside(&path, &file.keys);
            Identity::load(&keys, &name).unwrap();
            // No machine has the authority's key, or that of another one.
            assert_eq!(std::fs::read_dir(keys).unwrap().count(), 3);
        }
        // Certificates can be issued later.
        Authority::load(new.join("authority")).unwrap().issue("host-3").unwrap();
        assert!(said.contains("authority: keep it here"));
    }

    #[test]
    fn nothing_is_overwritten_and_nothing_is_left() {
        let scratch = Scratch::new("init-exists");
        let good = "--hosts 2 --interface eth0 --controller 10.0.0.1";
        for (more, words) in [
            ("--hosts 0 --interface eth0 --controller 10.0.0.1", "1..=65535"),
            ("--hosts 2 --interface a/b --controller 10.0.0.1", "name of an interface"),
            ("--hosts 2 --interface eth0 --controller here", "such as 10.0.0.1"),
            ("--hosts 2 --interface eth0 --controller 10.0.0.1 --standby 10.0.0.1", "another address"),
            ("--hosts 2 --interface eth0 --controller 10.0.0.1 --tun 10.99.0.1", "first address"),
            ("--hosts 3 --interface eth0 --controller 10.0.0.1 --tun 10.99.0.0/30", "room for 2 hosts"),
        ] {
            let message = run(&scratch, more).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        assert!(!scratch.join("new").exists());
        run(&scratch, good).unwrap();
        let before = std::fs::read(scratch.join("new/authority/ca.key")).unwrap();
        let message = run(&scratch, good).unwrap_err();
        assert!(message.contains("exists already"), "{message}");
        assert_eq!(std::fs::read(scratch.join("new/authority/ca.key")).unwrap(), before);
        // A folder that is there may be empty, and a slash may follow its name.
        let slash = scratch.join("empty/");
        std::fs::create_dir(&slash).unwrap();
        let mut command = vec!["init", slash.to_str().unwrap(), "--scheme", "s"];
        let scenario = scratch.join("lab.toml").display().to_string();
        command.extend(["--scenario", &scenario].into_iter().chain(good.split_whitespace()));
        Command::parse_from(&command).init.run().unwrap();
        assert!(slash.join("host-1/keys/host-1.key").exists());
        // A failure at the end leaves nothing: a file is no folder.
        command[1] = &scenario;
        Command::parse_from(&command).init.run().unwrap_err();
        // The scenario and the two folders.
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 3);
    }
}
