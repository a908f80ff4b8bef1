//! The preset of a machine: keys of a scenario, with all that was measured as comments.
//!
//! The comments say where and when the figures are valid.

use super::Latencies;
use super::machine::MachineConfig;
use super::measure::Quantiles;
use std::fmt::Write as _;
use timeplane_model::Duration;

/// Where, when and how something was measured.
#[derive(Clone, Debug)]
pub struct About {
    /// Name and processors of the machine.
    pub machine: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Day and time of the measurement.
    pub date: String,
    /// The command with its arguments.
    pub command: String,
    /// The machine's load over 1, 5 and 15 minutes.
    pub load: String,
    /// Between what it was measured.
    pub between: String,
}

impl About {
    /// This machine, now.
    pub fn this_machine(config: &MachineConfig) -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let processors = read("/proc/cpuinfo");
        let mut models = processors.lines().filter_map(|l| l.strip_prefix("model name")?.split_once(": "));
        let count = std::thread::available_parallelism().map_or(0, usize::from);
        let model = models.next().map_or("processors", |(_, model)| model);
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let priority = if config.real_time { "real-time priority" } else { "no real-time priority" };
        let at = config.interface.as_ref().map_or(String::new(), |i| format!(", sending times at {i}"));
        Self {
            machine: format!("{}, {count} x {model}", read("/proc/sys/kernel/hostname")),
            kernel: read("/proc/sys/kernel/osrelease"),
            date: x509_parser::time::ASN1Time::now().to_string(),
            command: format!("timeplane live {}", arguments.join(" ")),
            load: read("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" "),
            between: format!("two namespaces joined by a veth pair, {priority}{at}"),
        }
    }
}

/// Bounds of a time whose middle is the median: from the quantile 0.01 to as far beyond the median.
/// A scenario draws times uniformly, so the long tail would make all of them longer.
fn bounds(of: &Quantiles) -> (Duration, Duration) {
    let least = of.p1.median.min(of.p50.median);
    (least, of.p50.median * 2 - least)
}

/// The preset as TOML.
pub fn text(latencies: &Latencies, about: &About) -> String {
    let mut text = String::from("# Latencies of a machine, as `timeplane live calibrate` has measured them.\n");
    let About { machine, kernel, date, command, load, between } = about;
    let lines = [
        ("machine", machine),
        ("kernel", kernel),
        ("date", date),
        ("command", command),
        ("load", load),
        ("between", between),
    ];
    for (name, value) in lines {
        // A name with a line feed must not become a key.
        let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(text, "# {name}: {value}");
    }
    for line in latencies.table().lines() {
        let _ = writeln!(text, "# {}", line.trim_end());
    }
    let ns = |time: Duration| format!("\"{} ns\"", time.as_ps() / 1000);
    let ((send_least, send_most), (receive_least, receive_most)) =
        (bounds(&latencies.send), bounds(&latencies.receive));
    let _ = write!(
        text,
        "# Half of the median round trip.\ncontrol_latency = {}\n\n[host.latency.times]\n\
         # From the quantile 0.01 to as far beyond the median.\n\
         send_least = {}\nsend_most = {}\nreceive_least = {}\nreceive_most = {}\n",
        ns(latencies.round_trip.p50.median / 2),
        ns(send_least),
        ns(send_most),
        ns(receive_least),
        ns(receive_most),
    );
    text
}
