//! Network namespaces and the links between them, made with iproute2.
//!
//! Hosts of labs and tests are namespaces. A namespace is removed when its value is dropped.
//! [`remove_left_over`] finds those of a killed process by their names.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Why a namespace or a link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// A program could not be started.
    #[error("cannot start `{program}`: {source}; it is part of {package}")]
    Missing {
        /// Name of the program.
        program: &'static str,
        /// Debian's package with the program.
        package: &'static str,
        /// The system's message.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{command}`: {message}")]
    Failed {
        /// The command with its arguments.
        command: String,
        /// The command's error message.
        message: String,
    },
    /// A namespace could not be entered.
    #[error("namespace {name}: {source}")]
    Enter {
        /// Name of the namespace, as in `ip netns`.
        name: String,
        /// The system's message.
        source: std::io::Error,
    },
}

/// Runs `ip` with arguments separated by spaces.
///
/// # Errors
/// If it fails, with its message.
pub fn ip(arguments: &str) -> Result<String, NetError> {
    run("ip", arguments)
}

/// Runs `tc`, as [`ip`].
///
/// # Errors
/// As [`ip`].
pub fn tc(arguments: &str) -> Result<String, NetError> {
    run("tc", arguments)
}

/// Runs `bridge`, as [`ip`].
///
/// # Errors
/// As [`ip`].
pub fn bridge(arguments: &str) -> Result<String, NetError> {
    run("bridge", arguments)
}

fn run(program: &'static str, arguments: &str) -> Result<String, NetError> {
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .map_err(|source| NetError::Missing { program, package: "iproute2", source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NetError::Failed { command: format!("{program} {arguments}"), message })
}

/// Runs `ip`, `tc` or `bridge` once with many lines of arguments, in a namespace or in that of the
/// process. It stops at the first failing line.
///
/// # Errors
/// As [`ip`]; the message names the line.
pub fn batch(program: &'static str, namespace: Option<&str>, lines: &str) -> Result<(), NetError> {
    let inside: Vec<&str> = namespace.into_iter().flat_map(|n| ["-n", n]).collect();
    let mut child = Command::new(program)
        .args(&inside)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| NetError::Missing { program, package: "iproute2", source })?;
    let failed = |message| NetError::Failed { command: format!("{program} {} -batch", inside.join(" ")), message };
    // It may end before it has read all lines; its own message is the better one.
    let _ = child.stdin.take().map(|mut input| input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(|e| failed(e.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// A network namespace whose loopback is up. Dropping it removes it with all of its interfaces.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace.
    ///
    /// # Errors
    /// If the name is taken, or the process lacks permission.
    pub fn create(name: &str) -> Result<Self, NetError> {
        ip(&format!("netns add {name}"))?;
        let namespace = Self { name: name.to_owned() };
        // No interface gets an automatic address, so that no frames are sent unasked.
        namespace
            .run("sysctl", &["-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"])?;
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }
    /// A namespace that a killed process has left behind.
    pub fn of_nobody(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
    /// Removes the namespace, and reports a failure.
    pub fn remove(self) -> Result<(), NetError> {
        let removed = ip(&format!("netns del {}", self.name)).map(drop);
        std::mem::forget(self);
        removed
    }
    /// Name of the namespace, as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Path of the namespace's file.
    pub fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }
    /// Runs `ip` in the namespace.
    ///
    /// # Errors
    /// As [`ip`].
    pub fn ip(&self, arguments: &str) -> Result<String, NetError> {
        ip(&format!("-n {} {arguments}", self.name))
    }
    /// Runs `tc` in the namespace.
    ///
    /// # Errors
    /// As [`ip`].
    pub fn tc(&self, arguments: &str) -> Result<String, NetError> {
        tc(&format!("-n {} {arguments}", self.name))
    }
    /// A command that will run in the namespace, with the file system of the calling process. Its
    /// process is the program itself.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path().display())).arg("--").arg(program);
        command
    }
    fn run(&self, program: &'static str, arguments: &[&str]) -> Result<(), NetError> {
        let output = self
            .command(program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| NetError::Missing { program: "nsenter", package: "util-linux", source })?;
        if output.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(NetError::Failed { command: format!("{program} {}", arguments.join(" ")), message })
    }
    /// Calls `f` in the namespace, on a thread of its own. Sockets and threads that `f` creates
    /// belong to the namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    ///
    /// # Panics
    /// If `f` panics.
    pub fn enter<T: Send>(&self, f: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        let enter = |source| NetError::Enter { name: self.name.clone(), source };
        let file = std::fs::File::open(self.path()).map_err(enter)?;
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).map_err(std::io::Error::from)?;
                Ok(f())
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(enter)
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The error is ignored, as no caller is left.
        let _ = ip(&format!("netns del {}", self.name));
    }
}

/// Creates a veth pair between two namespaces with the given MAC addresses. Both ends are up, and
/// offloads that make frames larger than the MTU are off.
///
/// # Errors
/// If a name is taken or longer than 15 characters.
pub fn veth(a: (&Namespace, &str, &str), b: (&Namespace, &str, &str)) -> Result<(), NetError> {
    let ((a, a_name, a_mac), (b, b_name, b_mac)) = (a, b);
    let (at, bt) = (a.name(), b.name());
    ip(&format!(
        "link add {a_name} address {a_mac} netns {at} type veth peer name {b_name} address {b_mac} netns {bt}"
    ))?;
    for (namespace, name) in [(a, a_name), (b, b_name)] {
        // Programs would count a super-frame as one frame, and it may exceed a slot.
        namespace.ip(&format!("link set {name} gso_max_segs 1 gro_max_size 1514"))?;
        namespace.ip(&format!("link set {name} up"))?;
    }
    // The second end had a carrier from the start. The first end gets its queue only once a kernel
    // worker has noticed its carrier.
    until(|| Ok(a.ip(&format!("-o link show dev {a_name}"))?.contains("state UP")), &format!("{a_name} of {at}"))
}

/// Waits until a condition of links holds, for at most 10 s. Frames sent before are lost without an
/// error.
pub fn until(ready: impl Fn() -> Result<bool, NetError>, what: &str) -> Result<(), NetError> {
    let start = Instant::now();
    while !ready()? {
        if start.elapsed().as_secs() >= 10 {
            return Err(NetError::Failed { command: "ip link set up".into(), message: format!("no carrier: {what}") });
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

/// Removes all namespaces with this prefix, which a killed process has left behind. Returns their
/// number.
///
/// # Errors
/// If the namespaces cannot be listed, or one cannot be removed.
pub fn remove_left_over(prefix: &str) -> Result<usize, NetError> {
    let list = ip("netns list")?;
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let left: Vec<&str> = names.into_iter().filter(|n| n.starts_with(prefix)).collect();
    for name in &left {
        ip(&format!("netns del {name}"))?;
    }
    Ok(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn what_is_sent_in_one_namespace_comes_out_in_the_other_and_nothing_is_left() {
        let prefix = format!("tpn{}", std::process::id());
        let names = [format!("{prefix}a"), format!("{prefix}b")];
        {
            let [a, b] = names.each_ref().map(|n| Namespace::create(n).unwrap());
            veth((&a, "eth0", "02:00:00:00:00:01"), (&b, "eth0", "02:00:00:00:00:02")).unwrap();
            a.ip("addr add 10.9.0.1/24 dev eth0").unwrap();
            b.ip("addr add 10.9.0.2/24 dev eth0").unwrap();
            let there = b.enter(|| UdpSocket::bind("10.9.0.2:7").unwrap()).unwrap();
            let here = a.enter(|| UdpSocket::bind("10.9.0.1:7").unwrap()).unwrap();
            here.send_to(b"over", "10.9.0.2:7").unwrap();
            let mut buffer = [0; 9];
            there.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
            assert_eq!(there.recv(&mut buffer).unwrap(), 4);
            let said = a.command("cat").arg("/proc/net/dev").output().unwrap();
            assert!(String::from_utf8_lossy(&said.stdout).contains("eth0"));
            // Names are taken once, and the message says what went wrong.
            let twice = Namespace::create(a.name()).unwrap_err().to_string();
            assert!(twice.contains("netns add") && twice.contains("exists"), "{twice}");
            std::mem::forget(b);
        }
        assert_eq!(remove_left_over(&prefix).unwrap(), 1);
        assert!(!ip("netns list").unwrap().contains(&prefix));
    }
}
