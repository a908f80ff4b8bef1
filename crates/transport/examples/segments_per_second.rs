//! How long a data segment takes in sender and receiver together, without network: run it with `--release`.
//!
//! In-order segments and delayed acknowledgements: per segment one `Sender::poll` and one `Receiver::on_segment`,
//! per two segments one `Sender::on_ack` and a look at the deadlines.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use timeplane_model::{Duration, Time};
use timeplane_transport::{CongestionKind, Receiver, Sender, TcpConfig};

/// Segments per measurement.
const SEGMENTS: u64 = 10_000_000;
/// Window at the receiver, segments.
const WINDOW: u64 = 100;

fn main() {
    println!("control   ns per segment   million segments per second");
    for &congestion in CongestionKind::ALL {
        let config = TcpConfig { congestion, initial_window: 10, ..TcpConfig::default() };
        let config = TcpConfig { receive_window: Some(WINDOW * u64::from(config.mss)), ..config };
        let best = (0..5).map(|_| measure(&config)).fold(f64::MAX, f64::min);
        println!("{:8} {best:15.1} {:29.1}", congestion.name(), 1e3 / best);
    }
    println!("bytes: Sender {}, Receiver {}", size_of::<Sender>(), size_of::<Receiver>());
}

fn measure(config: &TcpConfig) -> f64 {
    let bytes = SEGMENTS * u64::from(config.mss);
    let (mut sender, mut receiver) = (Sender::new(config, bytes), Receiver::new(config, bytes));
    let mut now = Time::ZERO;
    let mut link = VecDeque::with_capacity(WINDOW as usize);
    let begin = Instant::now();
    sender.start(now);
    while !sender.is_done() {
        while let Some(segment) = sender.poll(now) {
            link.push_back(segment);
        }
        while let Some(segment) = link.pop_front() {
            now += Duration::from_ns(120);
            let Some(ack) = receiver.on_segment(now, &segment.arrival(false)) else { continue };
            sender.on_ack(now, &ack);
            black_box((sender.deadline(), receiver.deadline()));
            while let Some(segment) = sender.poll(now) {
                link.push_back(segment);
            }
        }
    }
    begin.elapsed().as_secs_f64() * 1e9 / SEGMENTS as f64
}
