//! Joins datagrams to messages.
//!
//! Memory is bounded, so that lost parts and hostile peers cost a fixed amount.

use super::control::{Control, LEADS};
use super::datagram::Header;
use super::error::WireError;
use std::collections::{BTreeMap, VecDeque};

/// Bounds of a [`Reassembler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Messages with missing parts; at least 1.
    pub messages: usize,
    /// Bytes of their parts, including headers and 64 for each part's bookkeeping.
    pub bytes: usize,
}

impl Default for Limits {
    /// Four messages, 1 MiB.
    fn default() -> Self {
        Self { messages: 4, bytes: 1 << 20 }
    }
}

/// Counts of datagrams and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReassemblerCounters {
    /// Complete messages.
    pub complete: u64,
    /// Repeated datagrams, also of complete messages.
    pub doubled: u64,
    /// Messages given up because newer ones needed the room, they were too long, or parts
    /// contradicted each other.
    pub abandoned: u64,
    /// Datagrams that were invalid, contradicted others, or completed an invalid message.
    pub malformed: u64,
}

/// Joins the datagrams of one peer in any order, with repetitions and losses.
///
/// Incomplete messages are never returned. [`Limits`] bound the memory: beyond them, the oldest
/// incomplete message is given up. The last 64 complete messages are recognized. An older one that
/// arrives again is returned again, which agents detect by its number.
#[derive(Clone, Debug, Default)]
pub struct Reassembler {
    limits: Limits,
    /// In the order of their first parts.
    partial: VecDeque<Partial>,
    /// Bytes of all incomplete messages.
    bytes: usize,
    done: VecDeque<Name>,
    counters: ReassemblerCounters,
}

/// Kind, epoch and number.
type Name = (u8, u32, u64);

/// The bookkeeping of a part, in bytes.
const BOOKKEEPING: usize = 64;
/// How many complete messages are recognized.
const REMEMBERED: usize = 64;

#[derive(Clone, Debug)]
struct Partial {
    header: Header,
    /// The number of parts, once the last one has arrived.
    number: Option<u16>,
    parts: BTreeMap<u16, Vec<u8>>,
    bytes: usize,
}

impl Partial {
    fn cost(body: &[u8]) -> usize {
        Header::BYTES + body.len() + BOOKKEEPING
    }
    fn is_complete(&self) -> bool {
        self.number.is_some_and(|n| self.parts.len() == usize::from(n))
    }
}

fn name(header: &Header) -> Name {
    (header.kind, header.epoch, header.number)
}

impl Reassembler {
    /// A reassembler without any parts.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
    /// Counts since the start.
    pub fn counters(&self) -> &ReassemblerCounters {
        &self.counters
    }
    /// Bytes of incomplete messages, counted as in [`Limits::bytes`].
    pub fn held(&self) -> usize {
        self.bytes
    }

    /// Takes a datagram and returns the message that it completes, if any.
    ///
    /// # Errors
    ///
    /// If it is invalid, contradicts other parts of its message (which is given up then), or the
    /// message is too long or invalid. Each error is counted.
    pub fn push(&mut self, datagram: &[u8]) -> Result<Option<Control>, WireError> {
        let result = self.take(datagram);
        match &result {
            Ok(Some(_)) => self.counters.complete += 1,
            Ok(None) | Err(WireError::TooLong { .. }) => {}
            Err(_) => self.counters.malformed += 1,
        }
        result
    }

    fn take(&mut self, datagram: &[u8]) -> Result<Option<Control>, WireError> {
        let (header, body) = Header::parse(datagram)?;
        Control::known(&header)?;
        let name = name(&header);
        // Heartbeats of controllers to their peers are never repetitions: each replaces the one
        // before.
        let numbered = header.kind != LEADS;
        if numbered && self.done.contains(&name) {
            self.counters.doubled += 1;
            return Ok(None);
        }
        let at = self.partial.iter().position(|p| self::name(&p.header) == name);
        if at.is_none() && header.part == 0 && header.last {
            return self.complete(name, &header, body).map(Some);
        }
        let at = match at {
            Some(at) => at,
            None => {
                if self.partial.len() >= self.limits.messages.max(1) {
                    self.abandon(0);
                }
                let parts = BTreeMap::new();
                self.partial.push_back(Partial { header: header.whole(), number: None, parts, bytes: 0 });
                self.partial.len() - 1
            }
        };
        let partial = &mut self.partial[at];
        let fits_end = match (partial.number, header.last) {
            (Some(number), true) => header.part + 1 == number,
            (Some(number), false) => header.part + 1 < number,
            (None, true) => partial.parts.last_key_value().is_none_or(|(&most, _)| most <= header.part),
            (None, false) => true,
        };
        let same = partial.parts.get(&header.part).map(|before| before == body);
        if partial.header != header.whole() || !fits_end || same == Some(false) {
            self.abandon(at);
            return Err(WireError::Inconsistent { part: header.part });
        }
        if header.last {
            // A part that arrived as one in the middle cannot be the last.
            if same.is_some() && partial.number.is_none() {
                self.abandon(at);
                return Err(WireError::Inconsistent { part: header.part });
            }
            partial.number = Some(header.part + 1);
        }
        if same.is_some() {
            self.counters.doubled += 1;
            return Ok(None);
        }
        partial.parts.insert(header.part, body.to_vec());
        partial.bytes += Partial::cost(body);
        self.bytes += Partial::cost(body);
        if partial.is_complete() {
            let partial = self.remove(at);
            let whole: Vec<u8> = partial.parts.into_values().flatten().collect();
            return self.complete(name, &partial.header, &whole).map(Some);
        }
        self.make_room(at)
    }

    /// Gives up other messages, then this one, until the limits hold.
    fn make_room(&mut self, mut at: usize) -> Result<Option<Control>, WireError> {
        while self.bytes > self.limits.bytes {
            if self.partial.len() == 1 {
                self.abandon(0);
                return Err(WireError::TooLong { limit: self.limits.bytes });
            }
            let first = usize::from(at == 0);
            self.abandon(first);
            at -= usize::from(first < at);
        }
        Ok(None)
    }

    fn complete(&mut self, name: Name, header: &Header, body: &[u8]) -> Result<Control, WireError> {
        let control = Control::decode(header, body)?;
        if self.done.len() == REMEMBERED {
            self.done.pop_front();
        }
        self.done.push_back(name);
        Ok(control)
    }

    fn remove(&mut self, at: usize) -> Partial {
        let partial = self.partial.remove(at).expect("a place that was found");
        self.bytes -= partial.bytes;
        partial
    }

    fn abandon(&mut self, at: usize) {
        self.remove(at);
        self.counters.abandoned += 1;
    }
}
