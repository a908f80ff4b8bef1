//! Presets of measured latencies: what they replace, and what is refused.

use timeplane_model::Duration;
use timeplane_scenario::{HostTimes, Loaded, Preset};

const PRESET: &str = "control_latency = \"150 us\"\n[host.latency.times]\nsend_least = \"20 us\"\n\
                      send_most = \"30 us\"\nreceive_least = \"40 us\"\nreceive_most = \"50 us\"\n";
const TIMES: HostTimes = HostTimes {
    send_least: Duration::from_us(20),
    send_most: Duration::from_us(30),
    receive_least: Duration::from_us(40),
    receive_most: Duration::from_us(50),
};

fn file(name: &str, text: &str) -> std::path::PathBuf {
    let file = std::env::temp_dir().join(format!("tp-preset-{}-{name}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    file
}

fn scenario(topology: &str, schemes: &str) -> String {
    format!("[fabric]\ntopology.{topology}\nrate = \"1 Gb/s\"\n[workload.shuffle]\nbytes = \"1 kB\"\n{schemes}")
}

#[test]
fn a_preset_replaces_the_latencies_of_every_scheme_and_overrides_replace_it() {
    let text = scenario(
        "single_switch.hosts = 4",
        "[scheme.slots]\ntransport.raw = {}\nhost.latency = \"kernel\"\nplan.tdma.control_latency = \"1 ms\"\n\
         [scheme.plain]\ntransport.tcp = {}\n",
    );
    let (file, preset) = (file("all", &text), Preset::from_str(PRESET, "machine.toml").unwrap());
    assert_eq!(preset, Preset::new(Duration::from_us(150), TIMES));
    let loaded = Loaded::with_preset(&file, &preset, &[]).unwrap_or_else(|e| panic!("{e}"));
    let schemes = &loaded.scenario.scheme;
    assert!(schemes.values().all(|s| s.host_latency().times() == Some(TIMES)));
    assert_eq!(schemes["slots"].plan.as_ref().unwrap().control_latency(), Duration::from_us(150));
    // What it has replaced is told as overrides are, so that results can be repeated.
    assert_eq!(loaded.overrides().count(), 3);
    let mine = [("scheme.slots.plan.tdma.control_latency".to_owned(), vec!["2 ms".to_owned()])];
    let loaded = Loaded::with_preset(&file, &preset, &mine).unwrap();
    assert_eq!(loaded.scenario.scheme["slots"].plan.as_ref().unwrap().control_latency(), Duration::from_ms(2));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn circuits_get_the_latency_of_the_control_channel_only() {
    let text = scenario(
        "hybrid = { tors = 4, hosts_per_tor = 1, packet_rate = \"100 Mb/s\", dark.fixed = \"10 us\" }",
        "[scheme.circuits]\ntransport.raw = {}\nplan.circuits = {}\n",
    );
    let (file, preset) = (file("circuits", &text), Preset::from_str(PRESET, "machine.toml").unwrap());
    let loaded = Loaded::with_preset(&file, &preset, &[]).unwrap_or_else(|e| panic!("{e}"));
    std::fs::remove_file(file).unwrap();
    let scheme = &loaded.scenario.scheme["circuits"];
    assert_eq!(scheme.host_latency().times(), None);
    assert_eq!(scheme.plan.as_ref().unwrap().control_latency(), Duration::from_us(150));
}

#[test]
fn what_is_no_preset_is_refused_with_its_line() {
    for (from, to, said) in [
        ("send_most", "send_mots", "machine.toml:4:1"),
        ("send_most", "send_mots", "did you mean `send_most`"),
        ("\"30 us\"", "30", "machine.toml:4:13"),
        ("control_latency = \"150 us\"\n", "", "control_latency"),
        ("[host.latency.times]", "[host.latency.times", "machine.toml:2"),
    ] {
        let error = Preset::from_str(&PRESET.replace(from, to), "machine.toml").unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let error = Preset::from_file("no/such/preset.toml").unwrap_err().to_string();
    assert!(error.contains("no/such/preset.toml"), "{error}");
    assert!(Preset::from_file("/").unwrap_err().to_string().contains("not a file"));
}
