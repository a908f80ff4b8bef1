//! The programs of a lab: a sender and a receiver for every flow, which use the sockets of their
//! hosts' agents.
//!
//! Senders write a pattern that depends on the flow and the position. Receivers compare every byte
//! with it. Both read the same clock.

use std::io::{Read, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration as Wait;
use timeplane_live::client::{Agent, ClientError};
use timeplane_live::clock;
use timeplane_model::{Duration, Time, mix64};
use timeplane_workload::FlowArrival;

/// The most flows of a run: each has a port of its own.
pub const MOST_FLOWS: usize = 60_000;
/// A run ends when no byte has arrived for this time.
pub const STALLED: Wait = Wait::from_secs(30);
/// How long before a flow its programs start: the receiver listens, and the sender opens a stream.
const LEAD: Duration = Duration::from_ms(250);
/// Bytes per read or write of a program.
const CHUNK: usize = 32 << 10;
/// Bytes that a program prepares before its flow arrives.
const AHEAD: u64 = 1 << 20;
/// Stack size of a program's thread, in bytes.
const STACK: usize = 256 << 10;

/// A flow and its progress.
#[derive(Debug)]
pub struct Flow {
    /// Arrival time, size, source and destination.
    pub arrival: FlowArrival,
    /// Number of the flow, in the order of arrival.
    pub number: u32,
    /// Bytes that the sender's agent has taken from the program.
    pub written: AtomicU64,
    /// Bytes that the receiving program has read.
    pub read: AtomicU64,
    /// Retransmitted frames, reported by the sender's agent once all bytes have arrived.
    pub resent: AtomicU64,
    /// Arrival time of the last byte, in ps since the start of the run; negative before that.
    finished: AtomicI64,
    /// Whether the receiver is done or has given up.
    over: AtomicBool,
    failure: Mutex<Option<String>>,
    corruption: Mutex<Option<String>>,
}

impl Flow {
    fn new(number: usize, arrival: FlowArrival) -> Self {
        Self {
            arrival,
            number: number as u32,
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            resent: AtomicU64::new(0),
            finished: AtomicI64::new(-1),
            over: AtomicBool::new(false),
            failure: Mutex::new(None),
            corruption: Mutex::new(None),
        }
    }
    fn port(&self) -> u16 {
        // No port is 0.
        self.number as u16 + 1
    }
    /// When the last byte was read, since the start of the run.
    pub fn finished(&self) -> Option<Duration> {
        Some(self.finished.load(Relaxed)).filter(|ps| *ps >= 0).map(Duration::from_ps)
    }
    /// Why a program of the flow has given up.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Description of bytes that arrived and were never written.
    pub fn corruption(&self) -> Option<String> {
        self.corruption.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn first(place: &Mutex<Option<String>>, what: String) {
    place.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
}

/// State shared by all programs of a run.
#[derive(Debug)]
struct Common {
    begin: Time,
    window: Range<Duration>,
    /// Received bytes by host, inside the measurement window.
    received: Vec<AtomicU64>,
    /// All received bytes.
    moved: AtomicU64,
    /// Whether programs wait for agents that are down.
    patient: bool,
    /// Whether programs are to stop waiting.
    ended: AtomicBool,
}

impl Common {
    fn now(&self) -> Duration {
        clock::now() - self.begin
    }

    /// Calls a function. If the agent is down or was killed, repeats the call as long as `nothing`
    /// reports that no byte was transferred.
    fn once_there(
        &self,
        nothing: impl Fn() -> bool,
        mut what: impl FnMut() -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        loop {
            match what() {
                Err(_) if self.patient && nothing() && !self.ended.load(Relaxed) => {
                    std::thread::sleep(Wait::from_millis(20));
                }
                done => return done,
            }
        }
    }
}

/// How a run of programs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All bytes arrived.
    Delivered,
    /// The time limit passed.
    Time,
    /// No byte arrived for [`STALLED`].
    Stalled,
    /// The run was cancelled.
    Cancelled,
}

/// The programs of a run that is over. Some may wait until the agents end.
#[derive(Debug)]
pub struct Programs {
    /// Flows that have started, by number.
    pub flows: Vec<Arc<Flow>>,
    /// Start of the run.
    pub begin: Time,
    /// Duration of the run.
    pub length: Duration,
    /// How the run ended.
    pub ended: Ended,
    /// Application bytes that hosts received in the measurement window.
    pub received: Vec<u64>,
    threads: Vec<JoinHandle<()>>,
}

impl Programs {
    /// Waits for the programs, but no longer than `most`: agents need a moment to acknowledge the
    /// last bytes.
    pub fn settle(&mut self, most: Wait) {
        let began = std::time::Instant::now();
        while self.threads.iter().any(|t| !t.is_finished()) && began.elapsed() < most {
            std::thread::sleep(Wait::from_millis(2));
        }
    }
    /// Waits for the programs. They end once the agents have ended.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a program of the lab has panicked");
            }
        }
    }
}

/// Runs a program for either end of each flow until all bytes have arrived, `stop` has passed, or
/// no byte arrives any more. The flows are sorted by time. `goes_on` is called every few
/// milliseconds with the elapsed time and the share of bytes that have arrived; `false` ends the
/// run. If `patient`, programs wait for agents that are down.
pub fn run(
    agents: &[Agent],
    arrivals: &[FlowArrival],
    window: Range<Duration>,
    stop: Option<Duration>,
    patient: bool,
    goes_on: &mut dyn FnMut(Duration, f64) -> bool,
) -> Programs {
    let count = agents.len();
    let all: u64 = arrivals.iter().map(|a| a.bytes.get()).sum();
    let received = (0..count).map(|_| AtomicU64::new(0)).collect();
    let common = Arc::new(Common {
        begin: clock::now() + LEAD * 2,
        window,
        received,
        moved: AtomicU64::new(0),
        patient,
        ended: AtomicBool::new(false),
    });
    let (mut flows, mut threads): (Vec<Arc<Flow>>, Vec<JoinHandle<()>>) = (Vec::new(), Vec::new());
    let (mut moved, mut moved_at, mut first_open) = (0, clock::now(), 0);
    let ended = loop {
        let now = common.now();
        while let Some(&arrival) = arrivals.get(flows.len()).filter(|a| a.at - LEAD <= now) {
            let flow = Arc::new(Flow::new(flows.len(), arrival));
            let (from, to) = (&agents[arrival.source.index()], &agents[arrival.destination.index()]);
            let mut failed = None;
            for (agent, program) in [(to, receive as fn(&Agent, &Flow, &Common)), (from, send)] {
                let (agent, flow, common) = (agent.clone(), Arc::clone(&flow), Arc::clone(&common));
                let body = move || program(&agent, &flow, &common);
                match std::thread::Builder::new().stack_size(STACK).spawn(body) {
                    Ok(thread) => threads.push(thread),
                    Err(e) => {
                        failed = Some(format!("cannot start a thread: {e}"));
                    }
                }
            }
            if let Some(why) = failed {
                first(&flow.failure, why);
                flow.over.store(true, Relaxed);
            }
            flows.push(flow);
        }
        threads.retain(|t| !t.is_finished());
        while flows.get(first_open).is_some_and(|f: &Arc<Flow>| f.over.load(Relaxed)) {
            first_open += 1;
        }
        let came = common.moved.load(Relaxed);
        let told = goes_on(common.now(), came as f64 / all.max(1) as f64);
        let next = arrivals.get(flows.len()).map(|a| a.at);
        if came > moved || next.is_some() && first_open == flows.len() {
            (moved, moved_at) = (came, clock::now());
        }
        if !told {
            break Ended::Cancelled;
        }
        if first_open == arrivals.len() {
            break if flows.iter().all(|f| f.finished().is_some()) { Ended::Delivered } else { Ended::Stalled };
        }
        if stop.is_some_and(|stop| common.now() >= stop) {
            break Ended::Time;
        }
        if clock::now() - moved_at > Duration::from_ms(STALLED.as_millis() as i64) {
            break Ended::Stalled;
        }
        let soon = next.map_or(Duration::from_ms(20), |at| (at - LEAD - common.now()).min(Duration::from_ms(20)));
        std::thread::sleep(Wait::from_nanos((soon.as_ps() / 1000).max(100_000) as u64));
    };
    common.ended.store(true, Relaxed);
    let received = common.received.iter().map(|r| r.load(Relaxed)).collect();
    let last = flows.iter().filter_map(|f| f.finished()).max().unwrap_or_default();
    let length = if ended == Ended::Delivered { last } else { common.now() };
    Programs { flows, begin: common.begin, length, ended, received, threads }
}

/// Sends a flow at its arrival time. Before that, it opens a stream and prepares the first bytes,
/// as a flow arrives with its bytes.
fn send(agent: &Agent, flow: &Flow, common: &Common) {
    let bytes = flow.arrival.bytes.get();
    let sent = || -> Result<(), ClientError> {
        let mut stream = agent.send(flow.arrival.destination, flow.port(), Some(bytes))?;
        let mut made = vec![0; bytes.min(AHEAD) as usize];
        pattern(flow.number, 0, &mut made);
        let wait = flow.arrival.at - common.now();
        std::thread::sleep(Wait::from_nanos((wait.as_ps() / 1000).max(0) as u64));
        let mut at = 0;
        while at < bytes {
            if at >= AHEAD {
                let left = (bytes - at).min(CHUNK as u64) as usize;
                made.truncate(left);
                pattern(flow.number, at, &mut made);
            }
            for chunk in made.chunks(CHUNK) {
                stream.write_all(chunk)?;
                at += chunk.len() as u64;
                flow.written.store(at, Relaxed);
            }
        }
        flow.resent.store(stream.deliver()?.resent, Relaxed);
        Ok(())
    };
    if let Err(e) = common.once_there(|| flow.written.load(Relaxed) == 0, sent) {
        first(&flow.failure, format!("sender: {e}"));
        if common.patient {
            // If the sender's agent was killed, the receiver may wait forever.
            flow.over.store(true, Relaxed);
        }
    }
}

/// Receives a flow, and compares every byte.
fn receive(agent: &Agent, flow: &Flow, common: &Common) {
    let bytes = flow.arrival.bytes.get();
    let got = || -> Result<(), ClientError> {
        let mut stream = agent.receive(flow.port())?;
        let source = stream.source()?;
        if source.host != flow.arrival.source {
            first(&flow.corruption, format!("it came from host {}", source.host.0));
        }
        let (mut chunk, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut at = 0;
        loop {
            let n = stream.read(&mut chunk)?;
            let now = common.now();
            if n == 0 {
                return Ok(());
            }
            let right = &mut right[..n];
            pattern(flow.number, at, right);
            if let Some(place) = chunk[..n].iter().zip(&*right).position(|(a, b)| a != b) {
                let place = at + place as u64;
                first(&flow.corruption, format!("byte {place} of {bytes} is corrupt"));
            }
            at += n as u64;
            flow.read.store(at, Relaxed);
            common.moved.fetch_add(n as u64, Relaxed);
            if common.window.contains(&now) {
                common.received[flow.arrival.destination.index()].fetch_add(n as u64, Relaxed);
            }
            if at == bytes {
                flow.finished.store(now.as_ps(), Relaxed);
            }
        }
    };
    if let Err(e) = common.once_there(|| flow.read.load(Relaxed) == 0, got) {
        first(&flow.failure, format!("receiver: {e}"));
    }
    flow.over.store(true, Relaxed);
}

/// Fills a buffer with the pattern of a flow from this offset on.
pub(crate) fn pattern(flow: u32, from: u64, bytes: &mut [u8]) {
    let word = |place: u64| mix64(u64::from(flow) << 40 ^ place ^ 0x9e37_79b9_7f4a_7c15).to_le_bytes();
    let mut at = from;
    let mut rest = bytes;
    while !rest.is_empty() {
        let skip = (at % 8) as usize;
        let (now, later) = rest.split_at_mut((8 - skip).min(rest.len()));
        now.copy_from_slice(&word(at / 8)[skip..skip + now.len()]);
        at += now.len() as u64;
        rest = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_the_same_however_it_is_cut_and_other_flows_have_others() {
        let mut whole = vec![0; 1000];
        pattern(7, 0, &mut whole);
        for (from, length) in [(0, 1), (1, 7), (3, 500), (999, 1), (16, 16)] {
            let mut part = vec![0; length];
            pattern(7, from as u64, &mut part);
            assert_eq!(part, whole[from..from + length]);
        }
        let mut other = vec![0; 1000];
        pattern(8, 0, &mut other);
        let same = whole.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(same < 50, "{same} of 1000 bytes are the same");
        assert_ne!(whole[..500], whole[500..]);
    }
}
