//! Measures how long a data segment takes in sender and receiver together, without network. Run it
//! with `--release`.
//!
//! Segments arrive in order, with delayed acknowledgements. Each segment takes one `Sender::poll`
//! and one `Receiver::on_segment`, and each two segments take one `Sender::on_ack` and a look at
//! the sender's deadline. In one run the receiver limits the window, so that nothing is lost. In
//! the other a queue drops what it cannot hold, so that the windows move and losses are repaired.

use std::collections::VecDeque;
use std::time::Instant;

use timeplane_model::{Duration, Named, Time};
use timeplane_transport::{CongestionKind, Receiver, Segment, Sender, TcpConfig};

/// Segments per measurement.
const SEGMENTS: u64 = 5_000_000;
/// Window at the receiver, or size of the queue, in segments.
const WINDOW: usize = 100;

fn main() {
    println!("ns per segment  no losses  with losses  share sent again");
    for &congestion in CongestionKind::all() {
        let lossy = TcpConfig { congestion, ..TcpConfig::default() };
        let lossless = TcpConfig { receive_window: Some(WINDOW as u64 * u64::from(lossy.mss)), ..lossy };
        let best = |config| (0..5).map(|_| measure(config)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let ((clean, _), (rough, again)) = (best(&lossless), best(&lossy));
        println!("{:14}  {clean:9.1}  {rough:11.1}  {again:16.5}", congestion.name());
    }
    println!("bytes: Sender {}, Receiver {}", size_of::<Sender>(), size_of::<Receiver>());
}

/// Nanoseconds per segment, and the share of retransmitted segments.
fn measure(config: &TcpConfig) -> (f64, f64) {
    let bytes = SEGMENTS * u64::from(config.mss);
    let (mut sender, mut receiver) = (Sender::new(config, bytes), Receiver::new(config, bytes));
    let mut now = Time::ZERO;
    let mut queue = VecDeque::with_capacity(WINDOW);
    let begin = Instant::now();
    sender.start(now);
    send(&mut sender, now, &mut queue);
    while !sender.is_done() {
        let ack = if let Some(segment) = queue.pop_front() {
            now += Duration::from_ns(120);
            receiver.on_segment(now, &segment.arrival(false))
        } else {
            let deadlines = [sender.deadline(), receiver.deadline()];
            now = deadlines.into_iter().flatten().min().unwrap_or(now).max(now);
            receiver.on_timeout(now)
        };
        let late = sender.deadline().is_some_and(|at| at <= now);
        if late {
            sender.on_timeout(now);
        }
        if let Some(ack) = &ack {
            sender.on_ack(now, ack);
        }
        if late || ack.is_some() {
            send(&mut sender, now, &mut queue);
        }
    }
    let ns = begin.elapsed().as_secs_f64() * 1e9;
    (ns / SEGMENTS as f64, sender.retransmissions() as f64 / SEGMENTS as f64)
}

fn send(sender: &mut Sender, now: Time, queue: &mut VecDeque<Segment>) {
    while let Some(segment) = sender.poll(now) {
        if queue.len() < WINDOW {
            queue.push_back(segment);
        }
    }
}
