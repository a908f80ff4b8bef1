//! Presets of `transport.tcp`: the defaults that each sets, and keys that override them.

use proptest::prelude::*;
use serde_json::{Value, json};
use timeplane_model::Duration;
use timeplane_scenario::{Algorithms, CongestionKind, Loaded, RtoRule, Tcp, TcpPreset};
use timeplane_transport::TcpConfig;

const GOOD: &str = include_str!("../files/load_sweep.toml");

fn config(table: Value) -> TcpConfig {
    let tcp: Tcp = serde_json::from_value(table).unwrap();
    tcp.config(1_460)
}

/// What validation says of the scenario with this table.
fn answer(table: &str) -> Result<Vec<String>, String> {
    let text = GOOD.replacen("{ congestion = \"dctcp\", min_rto = \"10 ms\" }", table, 1);
    assert_ne!(text, GOOD);
    let loaded = Loaded::from_str(&text, "a.toml", ".", &[]).map_err(|e| e.to_string())?;
    let warnings = loaded.validate(&Algorithms::built_in()).map_err(|e| e.to_string())?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// The preset `rfc` has nothing beyond the RFCs.
#[test]
fn linux_is_the_default() {
    assert_eq!(config(json!({})), linux());
    let plain = TcpConfig { handshake: true, ..TcpConfig::default() };
    assert_eq!(config(json!({ "preset": "rfc" })), plain);
    assert_eq!(serde_json::to_value(Tcp::default()).unwrap().get("preset"), None);
}

fn linux() -> TcpConfig {
    TcpConfig {
        handshake: true,
        rto: RtoRule::Linux,
        hystart: true,
        limited_growth: true,
        byte_counting: true,
        w_max_from_cwnd: true,
        prr: true,
        f_rto: true,
        rack: true,
        tail_loss_probe: true,
        receive_window: Some(3_000_000),
        window_growth: true,
        ..TcpConfig::default()
    }
}

#[test]
fn presets_set_what_they_say() {
    assert_eq!(config(json!({ "preset": "linux" })), linux());
    let datacenter = TcpConfig { min_rto: Duration::from_ms(5), ecn: true, ..linux() };
    assert_eq!(config(json!({ "preset": "datacenter" })), datacenter);
    let bbr = TcpConfig { congestion: CongestionKind::Bbr, ecn: false, ..datacenter };
    assert_eq!(config(json!({ "preset": "datacenter", "congestion": "bbr" })), bbr, "version 1 ignores marks");
    let bbr3 = TcpConfig { congestion: CongestionKind::Bbr3, ..datacenter };
    assert_eq!(config(json!({ "preset": "datacenter", "congestion": "bbr3" })), bbr3, "version 3 does not");
    let plain = TcpConfig { sack: false, prr: false, rack: false, tail_loss_probe: false, ..linux() };
    assert_eq!(config(json!({ "preset": "linux", "sack": false })), plain, "three of them need SACK");
}

/// Packets of the MTU have less payload with timestamps.
#[test]
fn timestamps_take_room_for_payload() {
    for (timestamps, header) in [(false, 40), (true, 52)] {
        for preset in ["rfc", "linux", "datacenter"] {
            let table = json!({ "preset": preset, "timestamps": timestamps });
            let tcp: Tcp = serde_json::from_value(table.clone()).unwrap();
            assert_eq!((tcp.header_bytes(), config(table).header_bytes()), (header, header));
        }
    }
    assert!([TcpPreset::Rfc, TcpPreset::Linux, TcpPreset::Datacenter].iter().all(|&preset| {
        let tcp = Tcp { preset: Some(preset), ..Tcp::default() };
        !tcp.config(1_460).timestamps
    }));
}

#[test]
fn a_key_beside_a_preset_wins() {
    let linux = linux();
    for (key, value, expected) in [
        ("min_rto", json!("1 s"), TcpConfig { min_rto: Duration::from_secs(1), ..linux }),
        ("rto", json!("rfc"), TcpConfig { rto: RtoRule::Rfc, ..linux }),
        ("timestamps", json!(true), TcpConfig { timestamps: true, ..linux }),
        ("ecn", json!(true), TcpConfig { ecn: true, ..linux }),
        ("hystart", json!(false), TcpConfig { hystart: false, ..linux }),
        ("limited_growth", json!(false), TcpConfig { limited_growth: false, ..linux }),
        ("byte_counting", json!(false), TcpConfig { byte_counting: false, ..linux }),
        ("w_max_from_cwnd", json!(false), TcpConfig { w_max_from_cwnd: false, ..linux }),
        ("prr", json!(false), TcpConfig { prr: false, ..linux }),
        ("f_rto", json!(false), TcpConfig { f_rto: false, ..linux }),
        ("rack", json!(false), TcpConfig { rack: false, tail_loss_probe: false, ..linux }),
        ("tail_loss_probe", json!(false), TcpConfig { tail_loss_probe: false, ..linux }),
        ("receive_window", json!("1 MB"), TcpConfig { receive_window: Some(1_000_000), ..linux }),
        ("window_growth", json!(false), TcpConfig { window_growth: false, receive_window: None, ..linux }),
    ] {
        let mut table = json!({ "preset": "linux" });
        table[key] = value;
        assert_eq!(config(table), expected, "{key}");
    }
}

#[test]
fn contradictions_are_refused_and_presets_contradict_nothing() {
    let error = answer("{ prr = true, sack = false }").unwrap_err();
    assert!(error.contains("transport.tcp.prr: proportional rate reduction without SACK: expected `sack = true`"));
    let error = answer("{ rack = true, sack = false }").unwrap_err();
    assert!(error.contains("transport.tcp.rack: RACK without SACK: expected `sack = true`"), "{error}");
    let error = answer("{ preset = \"rfc\", tail_loss_probe = true }").unwrap_err();
    assert!(error.contains("transport.tcp.tail_loss_probe: tail loss probes without RACK"), "{error}");
    for table in [
        "{ preset = \"linux\", sack = false }",
        "{ preset = \"linux\", congestion = \"bbr\" }",
        "{ preset = \"datacenter\", congestion = \"bbr\" }",
        "{ preset = \"datacenter\", congestion = \"bbr3\" }",
        "{ preset = \"datacenter\", congestion = \"new_reno\", min_rto = \"200 ms\" }",
        "{ preset = \"datacenter\", ecn = false }",
    ] {
        assert_eq!(answer(table), Ok(vec![]), "{table}");
    }
    let error = answer("{ preset = \"windows\" }").unwrap_err();
    assert!(error.contains("expected one of: rfc, linux, datacenter"), "{error}");
}

/// Packets of one flow on several paths arrive out of order.
#[test]
fn spraying_without_rack_is_warned_of() {
    let dctcp = "{ congestion = \"dctcp\", min_rto = \"10 ms\", rack = RACK }\necmp = \"packet\"";
    assert_eq!(answer(&dctcp.replace("RACK", "true")), Ok(vec![]));
    let warnings = answer(&dctcp.replace("RACK", "false")).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("ecmp: packets overtake each other, and TCP without RACK"), "{warnings:?}");
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(some: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Option<T>> {
    prop::option::of(some).boxed()
}

proptest! {
    /// A table that is written and read again is the same, so that a manifest says what was run.
    #[test]
    fn tables_survive_json(
        preset in maybe(prop::sample::select(vec![TcpPreset::Rfc, TcpPreset::Linux, TcpPreset::Datacenter])),
        min_rto in maybe((1i64..10_000).prop_map(Duration::from_us)),
        rto in maybe(prop::sample::select(vec![RtoRule::Rfc, RtoRule::Linux])),
        switches in prop::collection::vec(maybe(any::<bool>()), 10),
        timestamps: bool,
    ) {
        let tcp = Tcp {
            preset,
            min_rto,
            rto,
            ecn: switches[0],
            hystart: switches[1],
            limited_growth: switches[2],
            w_max_from_cwnd: switches[3],
            prr: switches[4],
            f_rto: switches[5],
            rack: switches[6],
            tail_loss_probe: switches[7],
            window_growth: switches[8],
            byte_counting: switches[9],
            timestamps,
            ..Tcp::default()
        };
        let json = serde_json::to_value(tcp).unwrap();
        let read: Tcp = serde_json::from_value(json).unwrap();
        prop_assert_eq!(read, tcp);
        prop_assert_eq!(read.config(1_460), tcp.config(1_460));
    }
}
