//! `calibrate`: what it measures of a machine whose latencies are known, and that scenarios take
//! the preset of this one.

use crate::common::place::PROGRAM;
use std::convert::Infallible;
use std::process::Command;
use timeplane_live::calibrate::{Bench, Crossing, Latencies, measure, preset};
use timeplane_model::{Duration, Time};
use timeplane_scenario::{Algorithms, HostTimes, Loaded, Preset};

/// A machine in virtual time. Each latency is uniform between two bounds, but for one in fifty,
/// which takes ten times as long.
struct Virtual {
    now: Time,
    dice: u64,
}

const WAKE: (i64, i64) = (5_000, 9_000);
const SEND: (i64, i64) = (20_000, 30_000);
const RECEIVE: (i64, i64) = (40_000, 80_000);
const ROUND_TRIP: (i64, i64) = (300_000, 500_000);

impl Virtual {
    fn draw(&mut self, (least, most): (i64, i64)) -> Duration {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = (self.dice >> 33) as i64;
        let ns = least + dice % (most - least + 1);
        Duration::from_ns(if dice / 7 % 50 == 0 { 10 * ns } else { ns })
    }
}

impl Bench for Virtual {
    type Error = Infallible;
    fn now(&mut self) -> Time {
        self.now
    }
    fn sleep_until(&mut self, time: Time) -> Result<(), Infallible> {
        self.now = time + self.draw(WAKE);
        Ok(())
    }
    fn cross(&mut self) -> Result<Crossing, Infallible> {
        let wire = self.now + self.draw(SEND);
        let read = wire + self.draw(RECEIVE);
        self.now = read;
        Ok(Crossing { wire, read })
    }
    fn ask(&mut self) -> Result<(), Infallible> {
        let drawn = self.draw(ROUND_TRIP);
        self.now += drawn;
        Ok(())
    }
    fn work(&mut self, bytes: usize) -> Result<Duration, Infallible> {
        Ok(Duration::from_ns(16 * (1000 + bytes as i64)))
    }
}

fn about() -> preset::About {
    let text = |text: &str| text.to_owned();
    preset::About {
        machine: text("one\nwith = \"two lines\""),
        kernel: text("6.6"),
        date: text("today"),
        command: text("timeplane live calibrate preset.toml"),
        load: text("0.1 0.2 0.3"),
        between: text("nothing"),
    }
}

/// Whether a time is that of a quantile, but for a histogram's error of an eighth and half of a
/// range's tenth for the dice.
fn is_about(found: Duration, (least, most): (i64, i64), share: f64) {
    let (range, at) = ((most - least) as f64, least as f64 + share * (most - least) as f64);
    let ns = found.as_ps() as f64 / 1e3;
    assert!(ns >= at - 0.05 * range && ns <= at * 1.125 + 0.05 * range, "{ns} ns, expected {at} ns");
}

fn in_order(latencies: &Latencies) {
    for q in latencies.all() {
        for (low, high) in [(q.p1, q.p50), (q.p50, q.p99), (q.p99, q.p999)] {
            assert!(low.median <= high.median && low.least <= high.least && low.most <= high.most, "{q:?}");
        }
        for spread in [q.p1, q.p50, q.p99, q.p999] {
            assert!(spread.least <= spread.median && spread.median <= spread.most, "{q:?}");
        }
    }
}

#[test]
fn the_preset_of_a_machine_has_its_latencies() {
    let mut bench = Virtual { now: Time::from_ps(1_000_000_000_000), dice: 5 };
    let Ok(latencies) = measure(&mut bench, 5, 2_000);
    in_order(&latencies);
    // Without the two in a hundred that take longer, the quantiles are a little lower.
    for (quantiles, bounds) in [
        (&latencies.wake, WAKE),
        (&latencies.send, SEND),
        (&latencies.receive, RECEIVE),
        (&latencies.round_trip, ROUND_TRIP),
    ] {
        is_about(quantiles.p1.median, bounds, 0.01);
        is_about(quantiles.p50.median, bounds, 0.51);
        assert!(quantiles.p99.median >= Duration::from_ns(10 * bounds.0), "{quantiles:?}");
        assert!(quantiles.p999.most <= Duration::from_ns(bounds.1 * 12), "{quantiles:?}");
    }
    let work: Vec<f64> = latencies.work.iter().map(|q| q.p50.median.as_ps() as f64 / 1e3).collect();
    for (found, ns) in work.iter().zip([1060.0, 1512.0, 2514.0]) {
        assert!((ns..=ns * 1.125).contains(found), "{work:?}");
    }

    let text = preset::text(&latencies, &about());
    let preset = Preset::from_str(&text, "preset.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let HostTimes { send_least, send_most, receive_least, receive_most } = preset.host.latency.times;
    is_about(preset.control_latency * 2, ROUND_TRIP, 0.51);
    for (least, most, bounds) in [(send_least, send_most, SEND), (receive_least, receive_most, RECEIVE)] {
        is_about(least, bounds, 0.01);
        // The middle is the median.
        is_about((least + most) / 2, bounds, 0.51);
    }
    for said in ["# machine: one with = ", "# kernel: 6.6", "# load: 0.1 0.2 0.3", "wake-up late", "p99.9"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn this_machine_has_a_preset_that_scenarios_take() {
    let _turn = crate::turn();
    let folder = std::env::temp_dir().join(format!("tp-calibrate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, scenario) = (folder.join("machine.toml"), folder.join("scenario.toml"));
    let out = Command::new(PROGRAM)
        .args(["calibrate", "--no-real-time", "--repeat", "2", "--samples", "30"])
        .arg(&file)
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "{}", said(&out.stderr));
    let table = said(&out.stdout);
    println!("{table}");
    assert_eq!(table.lines().count(), 8, "{table}");
    // Each row has p50, p99 and p99.9 with their ranges.
    for row in table.lines().skip(1) {
        let cells: Vec<f64> =
            row[34..].split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|n| n.parse().ok()).collect();
        let [p50, least, most, p99, .., p999, _, _] = cells[..] else { panic!("{row}") };
        assert!(least <= p50 && p50 <= most && p50 <= p99 && p99 <= p999 && p999 > 0.0, "{row}");
    }
    let preset = Preset::from_file(&file).unwrap_or_else(|e| panic!("{e}"));
    let times = preset.host.latency.times;
    assert!(times.send_least <= times.send_most && times.receive_least <= times.receive_most, "{times:?}");
    assert!(preset.control_latency > Duration::ZERO && times.send_most > Duration::ZERO, "{preset:?}");
    std::fs::write(
        &scenario,
        "[fabric]\ntopology.single_switch.hosts = 4\nrate = \"50 Mb/s\"\n[workload.shuffle]\nbytes = \"1 kB\"\n\
         [scheme.rates]\ntransport.raw = {}\nplan.rates = { report_every = \"100 ms\" }\n[scheme.plain]\ntransport.tcp = {}\n",
    )
    .unwrap();
    let loaded = Loaded::with_preset(&scenario, &preset, &[]).unwrap_or_else(|e| panic!("{e}"));
    loaded.validate(&Algorithms::built_in()).unwrap_or_else(|e| panic!("{e}"));
    let schemes = &loaded.scenario.scheme;
    assert!(schemes.values().all(|scheme| scheme.host_latency().times() == Some(times)));
    assert_eq!(schemes["rates"].plan.as_ref().unwrap().control_latency(), preset.control_latency);
    // Nothing is left, neither namespaces nor keys.
    let left = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!said(&left.stdout).contains("tpcal"), "{}", said(&left.stdout));
    std::fs::remove_dir_all(&folder).unwrap();
    // An interface that is not there is named.
    let out = Command::new(PROGRAM).args(["calibrate", "--interface", "no-such-link"]).output().unwrap();
    assert!(!out.status.success() && said(&out.stderr).contains("no-such-link"), "{}", said(&out.stderr));
}
