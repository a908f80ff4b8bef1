//! Errors of the times that hosts take, and of their pauses, with their locations.
//! They are readable golden texts, as those of all other keys.

use crate::messages::{Answers, GOOD, RADIO, SLOTS, load};

#[test]
fn hosts() {
    let mut a = Answers::default();
    let mut one = |host: &str| a.with(GOOD, "[scheme.cubic]\n", &format!("[scheme.cubic]\nhost{host}\n"));
    one(".latency = \"kernal\"");
    one(".latency = \"5 us\"");
    one(".latencies = \"kernel\"");
    one(".latency.times = { send_least = \"1 us\", send_most = \"2 us\" }");
    let times = |times: [&str; 4]| {
        let [a, b, c, d] = times;
        format!(
            ".latency.times = {{ send_least = \"{a}\", send_most = \"{b}\", receive_least = \"{c}\", receive_most = \"{d}\" }}"
        )
    };
    one(&times(["-1 us", "2 us", "3 us", "-3 us"]));
    one(&times(["3 us", "2 us", "4 us", "1 h"]));
    let taking = GOOD.replacen("[scheme.cubic]\n", "[scheme.cubic]\nhost.latency = \"kernel\"\n", 1);
    assert_eq!(load(&taking, &[]).unwrap(), [""; 0]);
    let plain = "buffer.per_port = \"300 kB\"";
    a.with(&taking, plain, "pfc = { pause_at = \"20 kB\", resume_at = \"10 kB\" }");
    let failing = "[[failure]]\nelement = { host = 1 }\nat = \"1 ms\"\nuntil = \"2 ms\"\n[window]";
    a.with(&taking, "[window]", failing);
    a.with(RADIO, "[scheme.it]\n", "[scheme.it]\nhost.latency = \"bypass\"\n");
    let slots = "[scheme.slots]\n";
    a.with(SLOTS, slots, "[scheme.slots]\nhost.latency = \"kernels\"\n");
    // It changes what the guard time has to cover.
    let spread = SLOTS.replacen(slots, "[scheme.slots]\nhost.latency = \"kernel\"\n", 1);
    a.warns(&spread, &[]);
    let constant = SLOTS.replacen(slots, "[scheme.slots]\nhost.latency = \"bypass\"\n", 1);
    assert_eq!(load(&constant, &[]).unwrap(), [""; 0]);
    insta::assert_snapshot!(a.0);
}

#[test]
fn bursts() {
    let mut a = Answers::default();
    let mut one = |nic: &str| a.with(GOOD, "[scheme.cubic]\n", &format!("[scheme.cubic]\nnic = {{ {nic} }}\n"));
    one("burst = \"64 kB\", discipline = \"control_first\"");
    one("burst = \"100 B\", discipline = \"control_fist\"");
    insta::assert_snapshot!(a.0);
}

#[test]
fn pauses() {
    let mut a = Answers::default();
    let mut one = |pause: &str| a.with(GOOD, "[window]", &format!("[[pause]]\n{pause}\n[window]"));
    one("what = \"acks\"\nclosed = \"1 ms\"");
    one("what = \"aknowledgements\"\nclosed = \"1 ms\"");
    one("what = \"data\"\nclose = \"1 ms\"");
    one("what = \"data\"");
    one("closed = \"1 ms\"");
    one("what = \"data\"\nclosed = \"0 ms\"");
    one("what = \"data\"\nclosed = \"-1 ms\"\nat = \"-1 ms\"\nopen = \"10 ns\"");
    one("what = \"data\"\nclosed = \"1 ms\"\nopen = \"100 h\"");
    one("what = \"data\"\nclosed = \"1 ms\"\nhosts = []");
    one("what = \"data\"\nclosed = \"1 ms\"\nhosts = [7, 8]");
    one("what = \"data\"\nclosed = \"1 ms\"\nhosts = \"all\"");
    let pausing = GOOD.replacen("[window]", "[[pause]]\nwhat = \"acknowledgements\"\nclosed = \"1 ms\"\n[window]", 1);
    assert_eq!(load(&pausing, &[]).unwrap(), [""; 0]);
    a.with(&pausing, "[scheme.cubic]", "[scheme.cubic]\nplan.rates = {}");
    let tcp = "[scheme.cubic]\ntransport.tcp = { congestion = \"cubic\", min_rto = \"10 ms\" }";
    a.with(&pausing, tcp, "[scheme.cubic]\ntransport.raw = {}");
    let no_tcp = pausing.replacen(
        "transport.tcp = { congestion = \"dctcp\", min_rto = \"10 ms\" }",
        "transport.datagrams = {}",
        1,
    );
    a.with(&no_tcp, tcp, "[scheme.cubic]\ntransport.datagrams = {}");
    let with_radio = RADIO.replacen("[scheme", "[[pause]]\nwhat = \"data\"\nclosed = \"1 ms\"\n[scheme", 1);
    a.with(&with_radio, "closed = \"1 ms\"", "closed = \"2 ms\"");
    insta::assert_snapshot!(a.0);
}
