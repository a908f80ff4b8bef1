//! Encodes and decodes the records of a demand channel.
//!
//! A record has a length, a kind and a body.

use super::SendError;
use timeplane_model::Time;
use timeplane_protocol::wire::Control;

/// The longest record: kind and content, in bytes.
pub const MAX_RECORD: usize = 1 << 20;

const NOTE: u8 = 0;
const CONTROL: u8 = 1;
const PING: u8 = 2;
/// Length of a record's length.
const PREFIX: usize = 4;
/// Length of the sender's clock.
const CLOCK: usize = 8;

/// A record to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A note, for content without a message of the protocol, such as a greeting. Notes are never
    /// dropped.
    Note(serde_json::Value),
    /// A message of the protocol. If a peer is too slow, the oldest messages are dropped.
    Control {
        /// Time of sending, by the sender's clock.
        sent_at: Time,
        /// The message.
        control: Control,
    },
}

/// A peer has sent an invalid record. The start of the next one is unknown, so its connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The length is not allowed.
    #[error("record of {length} B: expected 1 to {MAX_RECORD} B")]
    Length {
        /// As read.
        length: u32,
    },
    /// The receiver expects shorter notes.
    #[error("note of {length} B: expected at most {most} B")]
    LongNote {
        /// In bytes.
        length: usize,
        /// In bytes.
        most: usize,
    },
    /// The kind is unknown.
    #[error("record of kind {kind}: expected 0 (note), 1 (control) or 2 (ping)")]
    Kind {
        /// As read.
        kind: u8,
    },
    /// The content is not valid for the kind.
    #[error("malformed {what} of {length} B")]
    Content {
        /// Number of the kind.
        what: &'static str,
        /// In bytes.
        length: usize,
    },
}

impl Record {
    /// The encoded record; a message has one record for each datagram.
    pub(super) fn encode(&self) -> Result<Vec<u8>, SendError> {
        let mut bytes = Vec::new();
        match self {
            Self::Note(note) => append(&mut bytes, NOTE, &[note.to_string().as_bytes()])?,
            Self::Control { sent_at, control } => {
                let clock = sent_at.as_ps().to_be_bytes();
                for datagram in control.encode()? {
                    append(&mut bytes, CONTROL, &[&clock, &datagram])?;
                }
            }
        }
        Ok(bytes)
    }
}

/// An encoded ping.
pub(super) const PINGED: [u8; PREFIX + 1] = [0, 0, 0, 1, PING];

fn append(bytes: &mut Vec<u8>, kind: u8, pieces: &[&[u8]]) -> Result<(), SendError> {
    let length = 1 + pieces.iter().map(|p| p.len()).sum::<usize>();
    if length > MAX_RECORD {
        return Err(SendError::TooLong { length, most: MAX_RECORD });
    }
    bytes.extend((length as u32).to_be_bytes());
    bytes.push(kind);
    pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
    Ok(())
}

/// A received record.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming<'a> {
    Note(serde_json::Value),
    Part { sent_at: Time, datagram: &'a [u8] },
    Ping,
}

/// Splits a stream of bytes into records. It buffers at most one record and the bytes received with
/// it.
#[derive(Debug)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// Number of bytes that were returned already.
    taken: usize,
    /// The longest content of a note.
    longest_note: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_notes_up_to(MAX_RECORD)
    }
}

impl Decoder {
    pub(super) fn with_notes_up_to(longest_note: usize) -> Self {
        Self { bytes: Vec::new(), taken: 0, longest_note }
    }
    /// Adds received bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }
    /// Returns the next complete record with the length of its content. A length is checked before
    /// its content arrives, so that a peer cannot make us buffer more than a record.
    pub(super) fn next(&mut self) -> Result<Option<(Incoming<'_>, usize)>, RecordError> {
        let rest = &self.bytes[self.taken..];
        let Some((prefix, rest)) = rest.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_be_bytes(*prefix);
        if length == 0 || length as usize > MAX_RECORD {
            return Err(RecordError::Length { length });
        }
        let length = length as usize;
        // Checked as early, for the same reason.
        match rest.first() {
            Some(&kind) if !matches!(kind, NOTE | CONTROL | PING) => return Err(RecordError::Kind { kind }),
            Some(&NOTE) if length - 1 > self.longest_note => {
                return Err(RecordError::LongNote { length: length - 1, most: self.longest_note });
            }
            _ => {}
        }
        let Some(record) = rest.get(..length) else { return Ok(None) };
        let (kind, content) = (record[0], &record[1..]);
        let unreadable = |what| RecordError::Content { what, length: content.len() };
        self.taken += PREFIX + length;
        let incoming = match kind {
            NOTE => serde_json::from_slice(content).map(Incoming::Note).map_err(|_| unreadable("note")),
            CONTROL => {
                let (clock, datagram) =
                    content.split_first_chunk::<CLOCK>().ok_or_else(|| unreadable("part of a message"))?;
                Ok(Incoming::Part { sent_at: Time::from_ps(i64::from_be_bytes(*clock)), datagram })
            }
            PING if content.is_empty() => Ok(Incoming::Ping),
            _ => Err(unreadable("ping")),
        }?;
        Ok(Some((incoming, content.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn all(decoder: &mut Decoder) -> Result<usize, RecordError> {
        let mut records = 0;
        while decoder.next()?.is_some() {
            records += 1;
        }
        Ok(records)
    }

    #[test]
    fn a_note_byte_by_byte() {
        let note = json!({"hello": "host-3", "n": [1, null, "ä"]});
        let mut bytes = Record::Note(note.clone()).encode().unwrap();
        assert_eq!(bytes[..5], [0, 0, 0, bytes.len() as u8 - 4, 0]);
        bytes.extend(PINGED);
        let mut decoder = Decoder::default();
        let mut seen = Vec::new();
        for (i, byte) in bytes.iter().enumerate() {
            decoder.push(&[*byte]);
            match decoder.next().unwrap() {
                Some((Incoming::Note(n), _)) => seen.push((i, Some(n))),
                Some((Incoming::Ping, 0)) => seen.push((i, None)),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
        assert_eq!(seen, [(bytes.len() - 6, Some(note)), (bytes.len() - 1, None)]);
    }

    #[test]
    fn what_is_no_record_is_refused_as_early_as_it_is_seen() {
        let cases: [(&[u8], RecordError); 7] = [
            (&[0, 0, 0, 0], RecordError::Length { length: 0 }),
            (&[0, 0x10, 0, 1], RecordError::Length { length: MAX_RECORD as u32 + 1 }),
            (&[0xff, 0xff, 0xff, 0xff], RecordError::Length { length: u32::MAX }),
            (&[0, 0, 1, 0, 3], RecordError::Kind { kind: 3 }),
            (&[0, 0, 0, 2, 2, 0], RecordError::Content { what: "ping", length: 1 }),
            (&[0, 0, 0, 2, 0, b'{'], RecordError::Content { what: "note", length: 1 }),
            (&[0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0], RecordError::Content { what: "part of a message", length: 7 }),
        ];
        for (bytes, error) in cases {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            assert_eq!(decoder.next(), Err(error), "{bytes:?}");
        }
    }

    #[test]
    fn a_note_that_is_too_long_is_not_sent() {
        let most = "a".repeat(MAX_RECORD - 3);
        let bytes = Record::Note(json!(most)).encode().unwrap();
        assert_eq!(bytes.len(), PREFIX + MAX_RECORD);
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        assert_eq!(decoder.next(), Ok(Some((Incoming::Note(json!(most)), MAX_RECORD - 1))));
        let error = Record::Note(json!("a".repeat(MAX_RECORD - 2))).encode();
        assert!(matches!(error, Err(SendError::TooLong { .. })));
    }

    #[test]
    fn a_note_that_a_receiver_does_not_expect_is_refused_before_it_has_come() {
        let mut decoder = Decoder::with_notes_up_to(10);
        decoder.push(&Record::Note(json!("12345678")).encode().unwrap());
        assert_eq!(decoder.next(), Ok(Some((Incoming::Note(json!("12345678")), 10))));
        decoder.push(&Record::Note(json!("123456789")).encode().unwrap()[..5]);
        assert_eq!(decoder.next(), Err(RecordError::LongNote { length: 11, most: 10 }));
        // Messages may be longer.
        let mut decoder = Decoder::with_notes_up_to(10);
        let mut bytes = Vec::new();
        append(&mut bytes, CONTROL, &[&[0; CLOCK], &[1; 100]]).unwrap();
        decoder.push(&bytes);
        assert!(matches!(decoder.next(), Ok(Some((Incoming::Part { .. }, 108)))));
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..16)) {
            let mut decoder = Decoder::default();
            for chunk in &chunks {
                decoder.push(chunk);
                if all(&mut decoder).is_err() {
                    break;
                }
            }
        }
        #[test]
        fn records_come_out_however_they_are_cut(parts in prop::collection::vec((any::<i64>(), prop::collection::vec(any::<u8>(), 0..200)), 1..20), cut in 1usize..97) {
            let mut bytes = Vec::new();
            for (clock, datagram) in &parts {
                append(&mut bytes, CONTROL, &[&clock.to_be_bytes(), datagram]).unwrap();
            }
            let (mut decoder, mut seen) = (Decoder::default(), Vec::new());
            for chunk in bytes.chunks(cut) {
                decoder.push(chunk);
                while let Some((record, _)) = decoder.next().unwrap() {
                    match record {
                        Incoming::Part { sent_at, datagram } => seen.push((sent_at.as_ps(), datagram.to_vec())),
                        other => panic!("{other:?}"),
                    }
                }
            }
            prop_assert_eq!(seen, parts);
        }
    }
}
