//! Measures the demand channel: reports and their echo over loopback, one at a time and many at
//! once.
//!
//! `cargo run --release -p timeplane-live --example channel`

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use timeplane_live::channel::{Client, Event, Record, Server};
use timeplane_live::keys::{Authority, Identity};
use timeplane_model::{Backlog, Bytes, HostId, Time};
use timeplane_protocol::wire::Control;
use timeplane_protocol::{BacklogReport, Message};

const HOSTS: u32 = 16;
const ECHOES: u64 = 5_000;
const REPORTS: u64 = 200_000;

fn report(sequence: u64) -> Record {
    let backlog = Backlog::of_bytes((0..HOSTS).map(|host| (HostId(host), Bytes::new(1 + sequence))));
    let report = BacklogReport { epoch: 1, sequence, taken_at: Time::ZERO, obeys: 0, heard: 0, backlog };
    Record::Control { sent_at: Time::ZERO, control: Control::Message(Message::Report(Box::new(report))) }
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(Duration::from_secs(30)).expect("an event")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("timeplane-channel-{}", std::process::id()));
    let authority = Authority::create(&dir)?;
    let mut identities = Vec::new();
    for name in ["controller-0", "host-0"] {
        authority.issue(name)?;
        identities.push(Identity::load(&dir, name)?);
    }
    std::fs::remove_dir_all(&dir)?;

    // Whatever comes goes back, from the channel's own thread.
    let server = Arc::new(OnceLock::<Server>::new());
    let echo = server.clone();
    let (come, arrived) = channel();
    let started = Server::start("127.0.0.1:0".parse()?, &identities[0], move |event| {
        if let (Event::Control { peer, sent_at, control }, Some(server)) = (&event, echo.get()) {
            // Where the queue is full the oldest is dropped, which is counted.
            let _ = server.send(*peer, Record::Control { sent_at: *sent_at, control: control.clone() });
        }
        let _ = come.send(event);
    })?;
    let address = started.address();
    let server = server.get_or_init(|| started);
    let (send, events) = channel();
    let began = Instant::now();
    let client = Client::start(address, "controller-0", &identities[1], move |event| drop(send.send(event)))?;
    next(&events);
    println!("connected in {:?}", began.elapsed());
    next(&arrived);

    let mut times: Vec<Duration> = Vec::new();
    for sequence in 0..ECHOES {
        let began = Instant::now();
        client.send(report(sequence))?;
        next(&events);
        times.push(began.elapsed());
        next(&arrived);
    }
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() - 1) * per_mille / 1000];
    println!("report of {HOSTS} destinations and its echo: p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));

    let began = Instant::now();
    for sequence in 0..REPORTS {
        client.send(report(sequence))?;
    }
    let mut come = 0;
    while come + client.counters().dropped < REPORTS {
        next(&arrived);
        come += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{come} reports arrived in {seconds:.2} s, {:.0} a second, {} dropped",
        come as f64 / seconds,
        client.counters().dropped
    );
    println!("{:?}", server.counters());
    Ok(())
}
