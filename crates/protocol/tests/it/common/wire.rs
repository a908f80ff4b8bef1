//! Messages between agents of tests go as bytes.

use timeplane_protocol::Message;
use timeplane_protocol::wire::{Control, Header, Reassembler};

/// What the receiver reads where every datagram arrives; its length is what the message says of
/// itself.
pub fn over_the_wire(message: &Message) -> Message {
    // A frame of its own, no datagram.
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
