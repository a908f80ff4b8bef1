//! Encoding and decoding of messages between the agents of tests.

use timeplane_protocol::Message;
use timeplane_protocol::wire::{Control, Header, Reassembler};

/// The message as its receiver decodes it if every datagram arrives. Checks the documented length.
pub fn over_the_wire(message: &Message) -> Message {
    // A signal is a frame of its own, not a datagram.
    if let Message::Pfc(_) = message {
        return message.clone();
    }
    let datagrams = message.encode().expect("agents say only what has bytes");
    // Ethernet 38, IPv4 and UDP 28; none is short enough to be padded.
    let wire: usize = datagrams.iter().map(|d| d.len() + 66).sum();
    assert_eq!(wire, message.wire_bytes() as usize);
    assert!(datagrams.iter().all(|d| d.len() >= Header::BYTES));
    let mut reassembler = Reassembler::default();
    let mut read = datagrams.iter().filter_map(|d| reassembler.push(d).expect("a datagram of ours"));
    match (read.next(), read.next()) {
        (Some(Control::Message(read)), None) => read,
        other => panic!("{message:?} became {other:?}"),
    }
}
