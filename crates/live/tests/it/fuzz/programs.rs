//! Fuzzes the requests of programs at the agent's socket.
//!
//! Any input must be answered or rejected.

use super::engine::fuzz;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use timeplane_live::agent::{Api, PeerHost, Shared, Streams, StreamsConfig};
use timeplane_model::HostId;
use timeplane_protocol::wire::MacAddress;

#[test]
fn requests_of_programs() {
    let mac = MacAddress([2, 0, 0, 0, 0, 7]);
    let mut streams = Streams::new(StreamsConfig::new(HostId(0), mac, 1));
    streams.set_peer(HostId(3), PeerHost { mac: MacAddress([2, 0, 0, 0, 0, 3]), epoch: 1, key: None, mtu: None });
    let shared = Shared::new(streams).unwrap();
    let path = std::env::temp_dir().join(format!("tpfuzz{}.sock", std::process::id()));
    let _api = Api::start(&path, shared, 0o600).unwrap();
    let seeds = [
        "{\"send\": {\"to\": 3, \"port\": 7, \"length\": 10}}\n0123456789",
        "{\"send\": {\"to\": 3, \"port\": 0, \"length\": null}}\nbytes",
        "{\"receive\": {\"port\": 65535}}\n",
        "{\"status\": {}}\n",
        "{\"send\": {\"to\": 4294967295}}\n",
    ];
    fuzz("requests", seeds.map(|s| s.into()).to_vec(), 2, |input| {
        let mut program = UnixStream::connect(&path).map_err(|e| format!("there is no agent any more: {e}"))?;
        program.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // It may be refused before it has said it all.
        let _ = program.write_all(input);
        let is_request = input.contains(&b'\n');
        if !is_request {
            let _ = program.shutdown(Shutdown::Write);
        }
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.len() < 65536 && !line.ends_with(b"\n") {
            match program.read(&mut byte) {
                Ok(1..) => line.push(byte[0]),
                Ok(0) => break,
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(e) => return Err(format!("no answer: {e}")),
            }
        }
        if !is_request || line.is_empty() {
            // It left in the middle of its request, and nobody is there to be answered.
            return (line.is_empty() || line.ends_with(b"\n")).then_some(()).ok_or_else(|| "half an answer".into());
        }
        let answer: serde_json::Value = serde_json::from_slice(&line).map_err(|e| format!("{e}: {line:?}"))?;
        let known = answer.is_object()
            && (answer.get("ok").is_some() || answer.get("error").is_some() || answer.get("streams").is_some());
        known.then_some(()).ok_or_else(|| format!("{answer}"))
    });
}
