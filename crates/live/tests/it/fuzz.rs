//! Every parser of external input accepts any input: it neither panics nor allocates without bound,
//! and encodes what it understood to the same bytes.
//!
//! Each target is one test. The demand channel's records are fuzzed next to their private parser.

mod engine;
#[path = "../../../protocol/examples/frames.rs"]
#[allow(dead_code, reason = "an example, of which only its frames are needed")]
mod frames;
mod programs;
mod streams;

use engine::fuzz;
use timeplane_live::config::{AgentFile, ControllerFile};
use timeplane_live::notes::Note;
use timeplane_model::{Duration, HostId};
use timeplane_protocol::Pfc;
use timeplane_protocol::wire::{
    ControlFrame, DataHeader, DataKind, ExtendedPfcFrame, Heard, Limits, MacAddress, PauseFrame, PfcFrame, Reassembler,
    SignalEncoding, SignalKey, UdpFrame, encode_repair, parse_repair,
};

/// Who hears all frames here.
pub const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);
const CONTROLLER: MacAddress = MacAddress([2, 0, 0, 0, 0, 0xaa]);
const KEY: SignalKey = SignalKey([7; 16]);

/// Fails with both sides where they are not the same.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Result<(), String> {
    (a == b).then_some(()).ok_or_else(|| format!("{what}: {a:?} is not {b:?}"))
}

#[test]
fn datagrams_of_control_messages() {
    let frames = frames::frames().unwrap();
    let seeds: Vec<Vec<u8>> = frames.iter().filter_map(|f| UdpFrame::parse(f).ok()).map(|f| f.payload).collect();
    assert!(seeds.len() > 10);
    fuzz("control", seeds, 240, |input| {
        let limits = Limits::default();
        let mut parts = Reassembler::new(limits);
        let heard = parts.push(input);
        if parts.held() > input.len() + 1024 {
            return Err(format!("{} B are kept of {}", parts.held(), input.len()));
        }
        let Ok(Some(control)) = heard else { return Ok(()) };
        let datagrams = control.encode().map_err(|e| format!("{control:?} cannot be encoded: {e}"))?;
        if let [one] = &datagrams[..] {
            same("the datagram", &one.as_slice(), &input)?;
        }
        let mut again = Reassembler::new(limits);
        let last = datagrams.iter().filter_map(|d| again.push(d).transpose()).last();
        same("the message", &last, &Some(Ok(control)))
    });
}

#[test]
fn several_parts_of_messages() {
    // Datagrams with their lengths, so that parts of one message come doubled, out of order and
    // torn.
    let frames = frames::frames().unwrap();
    let payloads: Vec<Vec<u8>> = frames.iter().filter_map(|f| UdpFrame::parse(f).ok()).map(|f| f.payload).collect();
    let one = |d: &Vec<u8>| [&(d.len() as u16).to_be_bytes()[..], d].concat();
    let mut seeds: Vec<Vec<u8>> = payloads.windows(2).map(|w| w.iter().flat_map(one).collect()).collect();
    seeds.push(payloads.iter().rev().take(6).flat_map(one).collect());
    let limits = Limits { messages: 4, bytes: 4096 };
    fuzz("parts", seeds, 160, |input| {
        let mut parts = Reassembler::new(limits);
        for datagram in streams::pieces(input) {
            if let Ok(Some(control)) = parts.push(datagram) {
                control.encode().map_err(|e| format!("{control:?} cannot be encoded: {e}"))?;
            }
            if parts.held() > limits.bytes {
                return Err(format!("{} B are kept", parts.held()));
            }
        }
        Ok(())
    });
}

#[test]
fn control_frames_and_signals() {
    let mut seeds: Vec<Vec<u8>> = frames::frames().unwrap().into_iter().filter(|f| f.len() < 200).collect();
    for encoding in SignalEncoding::ALL {
        for open in [None, Some(5)] {
            let pfc = Pfc { epoch: 3, sequence: 1 << 33, open, hold: Duration::from_us(315) };
            let mut frame = pfc.seal(encoding, &KEY, CONTROLLER, STATION).unwrap();
            seeds.push(frame.clone());
            frame.truncate(60);
            seeds.push(frame);
        }
    }
    fuzz("signals", seeds, 300, |input| {
        if let Ok(frame) = ControlFrame::parse(input, STATION) {
            let encoded = match &frame {
                ControlFrame::Pause(f) => f.encode(),
                ControlFrame::Pfc(f) => f.encode(),
                ControlFrame::Extended(f) => f.encode(),
            };
            same("a control frame", &ControlFrame::parse(&encoded, STATION), &Ok(frame))?;
        }
        let _ = (PauseFrame::parse(input, STATION), PfcFrame::parse(input, STATION));
        if let Ok(frame) = ExtendedPfcFrame::parse(input, STATION) {
            same("an extended frame", &&frame.encode()[..], &&input[..60])?;
        }
        if let Ok(pfc) = Pfc::parse(input, STATION) {
            let encoded = pfc.encode(CONTROLLER, STATION).map_err(|e| e.to_string())?;
            same("a signal", &Pfc::parse(&encoded, STATION), &Ok(pfc))?;
        }
        // A tag that fits is in a frame that was sealed, as a whole.
        if let Ok(Heard::Sealed(pfc)) = Pfc::unseal(input, STATION, &KEY) {
            let sealed = SignalEncoding::ALL.iter().any(|e| {
                let frame = pfc.seal(*e, &KEY, CONTROLLER, STATION).unwrap_or_default();
                frame.get(14..).is_some_and(|f| input[14..].starts_with(&f[..f.len().min(46)]))
            });
            if !sealed {
                return Err(format!("{pfc:?} was never sealed so"));
            }
        }
        let _ = Pfc::unseal_content(input, &KEY);
        Ok(())
    });
}

#[test]
fn frames_of_udp() {
    let seeds = frames::frames().unwrap().into_iter().filter(|f| UdpFrame::parse(f).is_ok()).collect();
    fuzz("udp", seeds, 160, |input| {
        let Ok(frame) = UdpFrame::parse(input) else { return Ok(()) };
        let encoded = frame.encode().map_err(|e| format!("{frame:?}: {e}"))?;
        same("a datagram", &UdpFrame::parse(&encoded), &Ok(frame))
    });
}

#[test]
fn frames_of_data_and_repairs() {
    let mut seeds =
        vec![encode_repair(100, [(200, 300), (1 << 40, u64::MAX)].into_iter()), encode_repair(0, [].into_iter())];
    for kind in [DataKind::Stream, DataKind::Repair, DataKind::Packet] {
        let header = DataHeader {
            destination: STATION,
            source: CONTROLLER,
            kind,
            class: 3,
            payload: 40,
            host: HostId(1),
            epoch: 7,
            stream: 9,
            port: 80,
            sealed: kind == DataKind::Packet,
            offset: 1000,
            length: Some(5000),
        };
        seeds.push([&header.encode()[..], &[1; 48]].concat());
    }
    fuzz("data", seeds, 300, |input| {
        if let Ok((header, payload)) = DataHeader::parse(input) {
            same("a header", &&header.encode()[..], &&input[..DataHeader::BYTES])?;
            same("a payload", &payload.len(), &usize::from(header.payload))?;
        }
        if let Ok((contiguous, missing)) = parse_repair(input) {
            same("a repair", &encode_repair(contiguous, missing.into_iter()).as_slice(), &input)?;
        }
        Ok(())
    });
}

const AGENT: &str = r#"host = 1
interface = "eth0"
controllers = [{ address = "10.0.0.1:51208" }, { address = "[::1]:1", name = "controller-1" }]
keys = "../keys"
runtime = "/run/x"
status = "127.0.0.1:9464"
tun.network = "10.99.0.0"
real_time = false
[gate]
mode = "observe"
scope = "all"
lease = "1.5 s"
safe = "open"
max_hold = "30 ms"
encodings = ["experimental", "pfc"]
allow = ["tcp/443", "udp/53", "ip/1", "ether/0x88cc"]
outlives = false
"#;
const CONTROLLER_FILE: &str = r#"scenario = "lab.toml"
scheme = "slots"
interface = "eth0"
listen = "10.0.0.1:51208"
keys = "keys"
place = 1
peers = [{ address = "10.0.0.2:51208", name = "controller-0" }]
encoding = "udp"
log = "slots.jsonl"
"#;

#[test]
fn configurations() {
    assert!(toml::from_str::<AgentFile>(AGENT).is_ok() && toml::from_str::<ControllerFile>(CONTROLLER_FILE).is_ok());
    fuzz("config", vec![AGENT.into(), CONTROLLER_FILE.into()], 60, |input| {
        let text = String::from_utf8_lossy(input);
        let errors = [toml::from_str::<AgentFile>(&text).err(), toml::from_str::<ControllerFile>(&text).err()];
        errors
            .iter()
            .flatten()
            .find(|e| e.to_string().is_empty())
            .map_or(Ok(()), |_| Err("an error without words".into()))
    });
}

#[test]
fn notes_of_the_demand_channel() {
    let seeds = [
        r#"{"hello":{"host":3,"epoch":9,"mac":"02:00:00:00:00:07","key":"000102030405060708090a0b0c0d0e0f"}}"#,
        r#"{"welcome":{"hosts":3,"joined":[[0,"02:00:00:00:00:07"],[1,"x"]],"fallback_ps":1000000,"bursts":false,"on_change":true,"after_grants":false,"signals":3,"rate_bps":50000000}}"#,
        r#"{"refused":"host 3 has joined with a newer agent"}"#,
    ];
    fuzz("notes", seeds.map(|s| s.into()).to_vec(), 160, |input| {
        let Ok(note) = serde_json::from_slice::<Note>(input) else { return Ok(()) };
        if let Note::Hello(hello) = &note
            && let Ok(mac) = hello.mac.parse::<MacAddress>()
        {
            same("an address", &mac.to_string().parse::<MacAddress>().ok(), &Some(mac))?;
        }
        let text = serde_json::to_string(&note).map_err(|e| e.to_string())?;
        let again = serde_json::from_str::<Note>(&text).map_err(|e| e.to_string())?;
        same("a note", &format!("{note:?}"), &format!("{again:?}"))
    });
}
