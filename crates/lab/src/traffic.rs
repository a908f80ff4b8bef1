//! Programs on the hosts of a lab that send streams to each other, and compare every byte.
//!
//! A stream counts as delivered when its sender was told so. A delivered stream that its receiver
//! has not read whole is a loss. Streams whose senders got an error, or no answer yet, are not.

use crate::hosts::Hosts;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};
use timeplane_live::client::{Agent, ClientError};
use timeplane_model::HostId;

/// What a program does when its stream fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterError {
    /// It ends.
    End,
    /// It sends or awaits another one a little later, as long as [`Traffic`] is not stopped.
    Retry,
}

/// A stream by sender, receiver and number.
type StreamId = (u32, u32, u64);

#[derive(Debug, Default)]
struct Counts {
    stop: AtomicBool,
    /// Streams that the sender was told are delivered, and those that came whole.
    delivered: Mutex<BTreeSet<StreamId>>,
    arrived: Mutex<BTreeSet<StreamId>>,
    bytes: AtomicU64,
    wrong: AtomicU64,
    /// Why programs were told that a stream failed, by host.
    errors: Mutex<Vec<(u32, String)>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Programs that send streams in a loop, one for each pair, and programs that take them.
#[derive(Debug)]
pub struct Traffic {
    counts: Arc<Counts>,
    senders: Vec<(u32, JoinHandle<()>)>,
    bytes: u64,
}

/// What became of the streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of streams that were delivered.
    pub delivered: usize,
    /// Bytes of streams that were delivered, and that the receiver has not read whole.
    pub lost_bytes: u64,
    /// Bytes that nobody sent, streams that came twice, and ends before the end without an error.
    pub wrong: u64,
    /// Why senders were told that a stream failed, by host.
    pub errors: Vec<(u32, String)>,
}

/// A stream that takes longer is an error: something hangs.
const PATIENCE: Wait = Wait::from_secs(40);
/// Number of the stream and its length, which precede its bytes.
const HEADER: usize = 16;

impl Traffic {
    /// Starts programs that send streams of this many bytes. No other program may use the port.
    pub fn start(hosts: &Hosts, port: u16, pairs: &[(u32, u32)], bytes: u64, after: AfterError) -> Self {
        let counts = Arc::<Counts>::default();
        for &(_, to) in pairs {
            // As many as may have a stream at a time, and one that listens meanwhile.
            for _ in 0..2 {
                let (agent, counts) = (hosts.client(to as usize), Arc::clone(&counts));
                std::thread::spawn(move || receive(&agent, to, port, after, &counts));
            }
        }
        let sender = |&(from, to): &(u32, u32)| {
            let (agent, counts) = (hosts.client(from as usize), Arc::clone(&counts));
            (from, std::thread::spawn(move || send(&agent, from, to, port, bytes, after, &counts)))
        };
        let senders = pairs.iter().map(sender).collect();
        Self { counts, senders, bytes }
    }

    /// Bytes that have arrived and been compared.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes.load(Relaxed)
    }
    /// Number of streams that have been delivered.
    pub fn streams(&self) -> usize {
        lock(&self.counts.delivered).len()
    }
    /// Number of delivered streams of each pair that has any.
    pub fn by_pair(&self) -> BTreeMap<(u32, u32), u64> {
        let mut pairs = BTreeMap::new();
        lock(&self.counts.delivered).iter().for_each(|s| *pairs.entry((s.0, s.1)).or_default() += 1);
        pairs
    }
    /// Number of pairs of which a stream has been delivered.
    pub fn pairs_done(&self) -> usize {
        self.by_pair().len()
    }
    /// What programs of a host were told that went wrong.
    pub fn errors(&self, host: u32) -> Vec<String> {
        lock(&self.counts.errors).iter().filter(|e| e.0 == host).map(|e| e.1.clone()).collect()
    }
    /// Number of errors of all hosts.
    pub fn all_errors(&self) -> usize {
        lock(&self.counts.errors).len()
    }
    /// Whether the programs that send from a host have ended.
    pub fn has_ended(&self, host: u32) -> bool {
        self.senders.iter().filter(|s| s.0 == host).all(|s| s.1.is_finished())
    }

    /// Waits until all streams that are delivered by now have been read, for `most` at most. A
    /// program may read its last bytes after the agents have told each other.
    pub fn check(&self, most: Wait) -> Outcome {
        let delivered = lock(&self.counts.delivered).clone();
        let began = Instant::now();
        let missing = || delivered.difference(&lock(&self.counts.arrived)).count();
        let mut missed = missing();
        while missed > 0 && began.elapsed() < most {
            std::thread::sleep(Wait::from_millis(2));
            missed = missing();
        }
        Outcome {
            delivered: delivered.len(),
            lost_bytes: missed as u64 * self.bytes,
            wrong: self.counts.wrong.load(Relaxed),
            errors: lock(&self.counts.errors).clone(),
        }
    }

    /// Lets every program finish its stream and send no more.
    pub fn pause(&self) {
        self.counts.stop.store(true, Relaxed);
        while !self.senders.iter().all(|s| s.1.is_finished()) {
            std::thread::sleep(Wait::from_millis(5));
        }
    }

    /// Lets every program finish its stream, and checks all that were delivered.
    ///
    /// # Panics
    /// If a program has.
    pub fn finish(mut self) -> Outcome {
        self.counts.stop.store(true, Relaxed);
        for (_, sender) in self.senders.drain(..) {
            sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.check(Wait::from_secs(10))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.counts.stop.store(true, Relaxed);
    }
}

fn pattern(number: u64, at: u64) -> u8 {
    (at.wrapping_mul(31) ^ (at >> 8) ^ number) as u8
}

fn send(agent: &Agent, from: u32, to: u32, port: u16, bytes: u64, after: AfterError, counts: &Counts) {
    for number in 0.. {
        if counts.stop.load(Relaxed) {
            return;
        }
        match send_one(agent, to, port, number, bytes) {
            Ok(()) => drop(lock(&counts.delivered).insert((from, to, number))),
            Err(e) => {
                lock(&counts.errors).push((from, e.to_string()));
                if after == AfterError::End {
                    return;
                }
                std::thread::sleep(Wait::from_millis(5));
            }
        }
    }
}

fn send_one(agent: &Agent, to: u32, port: u16, number: u64, bytes: u64) -> Result<(), ClientError> {
    let mut stream = agent.send(HostId(to), port, None)?;
    stream.set_timeout(Some(PATIENCE))?;
    let content: Vec<u8> = (0..bytes).map(|at| pattern(number, at)).collect();
    stream.write_all(&number.to_be_bytes())?;
    stream.write_all(&bytes.to_be_bytes())?;
    stream.write_all(&content)?;
    // It is an error if less is said to be delivered than was written.
    stream.finish().map(drop)
}

/// Takes streams until a receive fails; with [`AfterError::Retry`], until the traffic is stopped.
fn receive(agent: &Agent, to: u32, port: u16, after: AfterError, counts: &Counts) {
    loop {
        match receive_one(agent, to, port, counts) {
            Ok(()) => {}
            Err(_) if after == AfterError::End || counts.stop.load(Relaxed) => return,
            Err(_) => std::thread::sleep(Wait::from_millis(5)),
        }
    }
}

fn receive_one(agent: &Agent, to: u32, port: u16, counts: &Counts) -> Result<(), ClientError> {
    let mut stream = agent.receive(port)?;
    let from = stream.source()?.host.0;
    let mut content = Vec::new();
    // One that its sender's agent did not live to finish ends with an error.
    if stream.read_to_end(&mut content).is_err() {
        return Ok(());
    }
    let Some((head, bytes)) = content.split_at_checked(HEADER) else {
        counts.wrong.fetch_add(1, Relaxed);
        return Ok(());
    };
    let word = |at: usize| head[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let (number, length) = (word(0), word(8));
    let wrong = (0..).zip(bytes).filter(|(at, byte)| pattern(number, *at) != **byte).count() as u64;
    let whole = bytes.len() as u64 == length;
    let again = whole && wrong == 0 && !lock(&counts.arrived).insert((from, to, number));
    counts.wrong.fetch_add(wrong + u64::from(again) + u64::from(!whole), Relaxed);
    counts.bytes.fetch_add(bytes.len() as u64, Relaxed);
    Ok(())
}
