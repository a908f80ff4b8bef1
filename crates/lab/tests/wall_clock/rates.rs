//! Central rates on real interfaces: agents keep to the controller's rates, and all traffic
//! arrives.

use std::io::{Read, Write};
use std::time::{Duration as Wait, Instant};
use timeplane_lab::fabric::FabricParameters;
use timeplane_lab::hosts::{Hosts, HostsParameters};
use timeplane_model::HostId;

const SCENARIO: &str = r#"
[fabric]
topology.single_switch = { hosts = 3 }
rate = "40 Mb/s"
[workload.shuffle]
bytes = "1 kB"
[scheme.rates]
transport.raw = {}
[scheme.rates.plan.rates]
control_latency = "2 ms"
compute_time = "100 us"
every = "2 ms"
report_every = "10 ms"
"#;

/// Two hosts send to a third one: each gets half of its link.
#[test]
fn two_senders_share_a_receiver_as_the_controller_says() {
    let _turn = crate::turn();
    let name = format!("tprates{}", std::process::id());
    let folder = std::env::temp_dir().join(&name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("scenario.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let parameters = HostsParameters {
        real_time: false,
        ..HostsParameters::new(env!("CARGO_BIN_EXE_timeplane-lab"), &folder, &file, "rates")
    };
    let hosts = Hosts::start(parameters, &FabricParameters { name, hosts: 3, mtu: 1500, limit: None }).unwrap();
    const BYTES: usize = 2_000_000;
    let receiver = hosts.client(2);
    let receiving: Vec<_> = (0..2).map(|_| receiver.receive(7).unwrap()).collect();
    let began = Instant::now();
    let senders: Vec<_> = (0..2)
        .map(|h| {
            let agent = hosts.client(h);
            std::thread::spawn(move || {
                let mut stream = agent.send(HostId(2), 7, Some(BYTES as u64)).unwrap();
                stream.write_all(&vec![h as u8 + 1; BYTES]).unwrap();
                stream.finish().unwrap();
                began.elapsed()
            })
        })
        .collect();
    for mut stream in receiving {
        stream.set_timeout(Some(Wait::from_secs(60))).unwrap();
        let from = stream.source().unwrap().host.0 as u8;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert!(bytes.len() == BYTES && bytes.iter().all(|b| *b == from + 1));
    }
    let ended: Vec<Wait> = senders.into_iter().map(|s| s.join().unwrap()).collect();
    // 4 MB and their headers over 40 Mb/s are 0.84 s; no gate lets more pass, however busy the
    // machine is.
    let wire = 2.0 * BYTES as f64 / 1462.0 * 1538.0 * 8.0;
    let least = wire / 40e6;
    let last = ended.iter().max().unwrap().as_secs_f64();
    println!("both after {last:.2} s, at the link's rate {least:.2} s; each after {ended:?}");
    assert!(last > least * 0.95, "{last} s is faster than the link");
    let first = ended.iter().min().unwrap().as_secs_f64();
    assert!(first > last * 0.6, "one had more than its share: {ended:?}");
    // Agents keep their rates: what the gate refuses is the exception.
    std::thread::sleep(Wait::from_millis(500));
    for gate in (0..2).map(|h| hosts.snapshot(h).unwrap().gate) {
        println!("{} frames passed, {} were too fast", gate.passed, gate.too_fast);
        assert!(gate.passed >= (BYTES / 1462) as u64 && gate.too_fast < gate.passed / 10, "{gate:?}");
    }
    drop(hosts);
    std::fs::remove_dir_all(folder).unwrap();
}
