//! The queue of records that wait to be sent to a peer.
//!
//! It is bounded in bytes. Messages of the protocol give way, the oldest first; notes never do.
//! Reports and rates are totals, so one that waits gives way to the next: a channel that is late
//! does not carry what is old.

use super::counters::Counting;
use super::{Record, SendError};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use timeplane_protocol::Message;
use timeplane_protocol::wire::Control;
use tokio::sync::Notify;

/// A queue of records, limited in bytes. Any thread may add records; the channel's thread removes
/// them.
#[derive(Debug)]
pub(super) struct Outbox {
    state: Mutex<State>,
    changed: Notify,
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Item>,
    bytes: usize,
    closed: Option<String>,
    /// Whether queued records are still sent before it ends.
    finish: bool,
}

#[derive(Debug)]
struct Item {
    bytes: Vec<u8>,
    may_be_lost: bool,
    total: Option<Total>,
}

/// A message that replaces all earlier ones of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Total {
    Report,
    Rates,
}

impl Total {
    fn of(record: &Record) -> Option<Self> {
        match record {
            Record::Control { control: Control::Message(Message::Report(_)), .. } => Some(Self::Report),
            Record::Control { control: Control::Message(Message::Rates(_)), .. } => Some(Self::Rates),
            Record::Control { .. } | Record::Note(_) => None,
        }
    }
}

/// The next task of the writer.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Write these bytes of this many records.
    Write(Vec<u8>, u64),
    /// End the connection, for this reason.
    Closed(String),
}

/// Maximum number of bytes that the writer takes out at once. A record that has been taken out is
/// not dropped any more when the queue is full.
const TOGETHER: usize = 64 << 10;

impl Outbox {
    pub(super) fn new(most: usize) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so the queue is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record. Never waits for the peer.
    pub(super) fn push(&self, record: &Record, counting: &Counting) -> Result<(), SendError> {
        let bytes = record.encode()?;
        let length = bytes.len();
        if length > self.most {
            return Err(SendError::TooLong { length, most: self.most });
        }
        let mut state = self.state();
        if state.closed.is_some() {
            return Err(SendError::Gone);
        }
        let total = Total::of(record);
        if let Some(at) = state.waiting.iter().position(|item| total.is_some() && item.total == total) {
            let replaced = state.waiting.remove(at).map_or(0, |item| item.bytes.len());
            state.bytes -= replaced;
        }
        while state.bytes + length > self.most {
            let Some(at) = state.waiting.iter().position(|item| item.may_be_lost) else {
                state.closed = Some("the peer does not read its records".to_owned());
                self.changed.notify_one();
                return Err(SendError::Stuck);
            };
            let lost = state.waiting.remove(at).map_or(0, |item| item.bytes.len());
            state.bytes -= lost;
            Counting::count(&counting.dropped);
        }
        state.bytes += length;
        state.waiting.push_back(Item { bytes, may_be_lost: matches!(record, Record::Control { .. }), total });
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Ends the connection at once; the first reason stays.
    pub(super) fn close(&self, why: &str) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| why.to_owned());
        state.finish = false;
        drop(state);
        self.changed.notify_one();
    }
    /// Ends the connection once queued records have been sent.
    pub(super) fn finish(&self, why: &str) {
        let mut state = self.state();
        if state.closed.is_none() {
            (state.closed, state.finish) = (Some(why.to_owned()), true);
        }
        drop(state);
        self.changed.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed.is_some()
    }

    /// Waits for the next task. Only one task may call this; it is cancel-safe.
    pub(super) async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            self.changed.notified().await;
        }
    }

    /// Waits until the connection has to end at once, and returns the reason. A writer in the
    /// middle of a write calls this in place of [`next`](Self::next).
    pub(super) async fn cut_off(&self) -> String {
        loop {
            {
                let state = self.state();
                if let (Some(why), false) = (&state.closed, state.finish) {
                    return why.clone();
                }
            }
            self.changed.notified().await;
        }
    }

    fn take(&self) -> Option<Next> {
        let mut state = self.state();
        if let Some(why) = &state.closed
            && (!state.finish || state.waiting.is_empty())
        {
            return Some(Next::Closed(why.clone()));
        }
        let (mut bytes, mut records) = (Vec::new(), 0);
        while let Some(item) = state.waiting.front() {
            if records > 0 && bytes.len() + item.bytes.len() > TOGETHER {
                break;
            }
            bytes.extend_from_slice(&item.bytes);
            records += 1;
            state.bytes -= item.bytes.len();
            state.waiting.pop_front();
        }
        (records > 0).then_some(Next::Write(bytes, records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use timeplane_model::{Backlog, Bytes, HostId, Round, Time};
    use timeplane_protocol::{BacklogReport, Heartbeat};

    fn control(epoch: u32) -> Record {
        Record::Control {
            sent_at: Time::ZERO,
            control: Control::Message(Message::Heartbeat(Heartbeat { epoch, round: Round(0) })),
        }
    }

    #[test]
    fn the_newest_control_wins_and_notes_stay() {
        let length = control(0).encode().unwrap().len();
        let note = Record::Note(json!("a note"));
        let (outbox, counting) = (Outbox::new(3 * length + note.encode().unwrap().len()), Counting::default());
        outbox.push(&note, &counting).unwrap();
        for epoch in 0..10 {
            outbox.push(&control(epoch), &counting).unwrap();
        }
        assert_eq!(counting.read().dropped, 7);
        let expected: Vec<u8> =
            [note, control(7), control(8), control(9)].iter().flat_map(|r| r.encode().unwrap()).collect();
        assert_eq!(outbox.take(), Some(Next::Write(expected, 4)));
        assert_eq!(outbox.take(), None);
    }

    #[test]
    fn a_report_replaces_one_that_waits_and_nothing_else() {
        let report = |sequence| {
            let backlog = Backlog::of_bytes([(HostId(1), Bytes::new(sequence))]);
            let report = BacklogReport { epoch: 1, sequence, taken_at: Time::ZERO, obeys: 0, heard: 0, backlog };
            Record::Control { sent_at: Time::ZERO, control: Control::Message(Message::Report(Box::new(report))) }
        };
        let (outbox, counting) = (Outbox::new(1 << 20), Counting::default());
        outbox.push(&report(1), &counting).unwrap();
        assert!(matches!(outbox.take(), Some(Next::Write(_, 1))));
        for record in [report(2), control(1), Record::Note(json!("a note")), report(3), control(2), report(4)] {
            outbox.push(&record, &counting).unwrap();
        }
        let left = [control(1), Record::Note(json!("a note")), control(2), report(4)];
        let expected: Vec<u8> = left.iter().flat_map(|r| r.encode().unwrap()).collect();
        assert_eq!(outbox.take(), Some(Next::Write(expected, 4)));
        // It has not been lost: the next one says all that it said.
        assert_eq!((counting.read().dropped, outbox.state().bytes), (0, 0));
    }

    #[test]
    fn who_takes_no_notes_is_cut_off() {
        let note = Record::Note(json!("a note"));
        let length = note.encode().unwrap().len();
        let (outbox, counting) = (Outbox::new(2 * length), Counting::default());
        outbox.push(&note, &counting).unwrap();
        outbox.push(&note, &counting).unwrap();
        assert!(matches!(outbox.push(&note, &counting), Err(SendError::Stuck)));
        assert!(matches!(outbox.push(&note, &counting), Err(SendError::Gone)));
        assert!(matches!(outbox.take(), Some(Next::Closed(_))));
    }

    #[test]
    fn what_waits_is_sent_before_an_end_that_is_not_at_once() {
        let counting = Counting::default();
        let closed = Some(Next::Closed("first".to_owned()));
        for (finish, expected) in [(true, 1), (false, 0)] {
            let outbox = Outbox::new(1000);
            outbox.push(&Record::Note(json!(1)), &counting).unwrap();
            if finish {
                outbox.finish("first")
            } else {
                outbox.close("first")
            }
            assert!(matches!(outbox.push(&Record::Note(json!(2)), &counting), Err(SendError::Gone)));
            for _ in 0..expected {
                assert!(matches!(outbox.take(), Some(Next::Write(_, 1))));
            }
            outbox.close("second");
            assert_eq!(outbox.take(), closed);
        }
    }

    #[test]
    fn more_than_the_queue_holds_is_an_error_and_changes_nothing() {
        let (outbox, counting) = (Outbox::new(20), Counting::default());
        outbox.push(&Record::Note(json!(1)), &counting).unwrap();
        let long = Record::Note(json!("longer than 20 bytes are"));
        assert!(matches!(outbox.push(&long, &counting), Err(SendError::TooLong { most: 20, .. })));
        assert!(matches!(outbox.take(), Some(Next::Write(_, 1))));
    }
}
