//! Tests of the data of a controller's page: slots, backlog, silent hosts and events.
//!
//! They drive a [`Watch`] and its [`Publisher`] without a controller or a browser.

use super::picture::{EVENT_PAIRS, KEPT_PAIRS};
use super::publisher::{Events, QUEUE};
use super::*;
use crate::channel::PeerId;
use crate::controller::Known;
use crate::notes::{Counts, Note};
use futures_core::Stream;
use serde_json::{Value, json};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use timeplane_model::{Backlog, Bytes};
use timeplane_protocol::wire::Control;
use timeplane_protocol::{BacklogReport as HostReport, Message};

const HOSTS: u32 = 4;

struct Place {
    watch: Arc<Watch>,
    publisher: Publisher,
    known: Arc<Mutex<Known>>,
    slots: u64,
}

impl Place {
    fn new() -> Self {
        let about = About {
            scenario: "test.toml".into(),
            scheme: "slots".into(),
            plan: Kind::Slots,
            hosts: HOSTS,
            rate: Rate::mbps(80),
            place: 0,
            epoch: 7,
            dark: Duration::ZERO,
            late_after: Some(Duration::from_secs(1)),
        };
        let (watch, planned) = Watch::new(about);
        let known: Arc<Mutex<Known>> = Arc::default();
        let who = Arc::clone(&known);
        let publisher =
            Publisher::new(Arc::clone(&watch), planned, move || who.lock().unwrap().clone(), || json!({ "slots": 3 }));
        Self { watch, publisher, known, slots: 0 }
    }
    /// A slot of a millisecond, so many ms after the watch began.
    fn slot(&mut self, at_ms: i64, pairs: &[(u32, u32)]) {
        let slot = Planned {
            round: Round(self.slots / 4),
            index: (self.slots % 4) as u32,
            start: self.watch.begun.saturating_add(Duration::from_ms(at_ms)),
            open: Duration::from_ms(1),
            guard: Duration::from_us(100),
            pairs: pairs.iter().map(|p| (HostId(p.0), HostId(p.1))).collect(),
        };
        self.slots += 1;
        self.watch.slot(|| slot);
    }
    fn says(&self, host: u32, event: impl FnOnce(PeerId) -> ChannelEvent) -> bool {
        self.watch.hear(&event(PeerId(host.into())))
    }
    fn joins(&self, host: u32) {
        assert!(!self.says(host, |peer| ChannelEvent::Joined { peer, name: format!("host-{host}") }));
        let mut known = self.known.lock().unwrap();
        known.joined.insert(host, String::new());
        known.left.remove(&host);
    }
    fn leaves(&self, host: u32) {
        assert!(!self.says(host, |peer| ChannelEvent::Left { peer, why: String::new() }));
        let mut known = self.known.lock().unwrap();
        known.joined.remove(&host);
        known.left.insert(host, clock::now());
    }
    fn reports(&self, host: u32, waits: &[(u32, u64)]) {
        let backlog = Backlog::of_bytes(waits.iter().map(|w| (HostId(w.0), Bytes::new(w.1))));
        let report = HostReport { epoch: 1, sequence: 1, taken_at: Time::ZERO, obeys: 0, heard: 0, backlog };
        let control = Control::Message(Message::Report(Box::new(report)));
        assert!(!self.says(host, |peer| ChannelEvent::Control { peer, sent_at: Time::ZERO, control }));
    }
    fn counts(&self, host: u32, wire_bytes: u64) {
        let counts = Counts { epoch: 1, wire_bytes, ..Counts::default() };
        let note = serde_json::to_value(Note::Counts(counts)).unwrap();
        assert!(self.says(host, |peer| ChannelEvent::Note { peer, note }), "for the page alone");
    }
    /// As many ticks as it takes for everything to be told.
    fn told(&mut self) {
        (0..5).for_each(|_| assert!(self.publisher.tick()));
    }
}

/// What waits for a page; whether there will be more.
fn take(events: &mut Events) -> (Vec<(String, Value)>, bool) {
    let mut context = Context::from_waker(Waker::noop());
    let mut taken = Vec::new();
    loop {
        match Pin::new(&mut *events).poll_next(&mut context) {
            Poll::Ready(Some(Ok(bytes))) => {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                let lines: Vec<&str> = text.strip_suffix("\n\n").expect("an event ends").lines().collect();
                let [id, kind, data] = lines[..] else { panic!("{text}") };
                assert!(id.starts_with("id: "));
                let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                taken.push((kind.strip_prefix("event: ").unwrap().to_owned(), data));
            }
            Poll::Ready(None) => return (taken, false),
            Poll::Pending => return (taken, true),
        }
    }
}

/// What a page does with events: a snapshot replaces all, an update adds.
fn whole(events: &[(String, Value)]) -> Value {
    let mut whole = Value::Null;
    for (kind, data) in events {
        if kind == "snapshot" {
            whole = data.clone();
            continue;
        }
        for (key, value) in data.as_object().unwrap() {
            match key.as_str() {
                "slots" => {
                    for (column, more) in value.as_object().unwrap() {
                        whole["slots"][column].as_array_mut().unwrap().extend(more.as_array().unwrap().iter().cloned());
                    }
                }
                "demand" | "hosts" => {
                    for (host, of) in value.as_object().unwrap() {
                        whole[key][host] = of.clone();
                    }
                }
                _ => whole[key] = value.clone(),
            }
        }
    }
    whole
}

fn same(mut a: Value, mut b: Value) {
    // The order of hosts says nothing.
    for value in [&mut a, &mut b] {
        value["now_ns"] = Value::Null;
        for key in ["demand", "hosts"] {
            value[key].as_object_mut().unwrap().sort_keys();
        }
    }
    assert_eq!(a, b);
}

#[test]
fn nothing_is_collected_while_nobody_looks() {
    let mut place = Place::new();
    place.watch.slot(|| panic!("nobody looks"));
    assert!(!place.publisher.tick() && place.watch.pages() == 0);
    let events = place.publisher.listen(Hold::default()).unwrap();
    assert_eq!(place.watch.pages(), 1);
    place.slot(1, &[(0, 1)]);
    assert!(place.publisher.tick());
    drop(events);
    assert!(!place.publisher.tick() && place.watch.pages() == 0);
    place.watch.slot(|| panic!("nobody looks any more"));
}

#[test]
fn a_snapshot_and_what_comes_after_it_are_the_whole() {
    let mut place = Place::new();
    place.joins(0);
    place.reports(0, &[(1, 500)]);
    let mut first = place.publisher.listen(Hold::default()).unwrap();
    let (mut heard, mut later) = (Vec::new(), Vec::new());
    for step in 0..60u32 {
        let host = step % HOSTS;
        if step == 20 {
            place.leaves(2);
        } else if host != 2 || step < 20 {
            place.joins(host);
            place.reports(host, &[((host + 1) % HOSTS, u64::from(step) * 100), ((host + 2) % HOSTS, 7)]);
        }
        if step % 3 == 0 {
            place.counts(host, u64::from(step) * 1000);
        }
        place.slot(i64::from(step) * 2, &[(host, (host + 1) % HOSTS), ((host + 2) % HOSTS, host)]);
        assert!(place.publisher.tick());
        if step % 13 == 0 {
            let mut second = place.publisher.listen(Hold::default()).unwrap();
            later.push((heard.len(), take(&mut second).0));
            let (more, goes_on) = take(&mut first);
            heard.extend(more);
            assert!(goes_on);
            same(whole(&heard), whole(&later.last().unwrap().1));
        }
        let (more, goes_on) = take(&mut first);
        heard.extend(more);
        assert!(goes_on);
    }
    place.told();
    heard.extend(take(&mut first).0);
    let end = whole(&heard);
    assert_eq!(end["about"]["scheme"], "slots");
    assert_eq!(end["slots"]["round"].as_array().unwrap().len(), 60);
    assert_eq!(end["slots"]["source"].as_array().unwrap().len(), 120);
    assert_eq!(end["demand"]["0"], json!({ "1": 5600, "2": 7 }));
    assert_eq!(end["demand"]["2"], json!({}), "nobody's any more");
    assert_eq!((&end["hosts"]["2"]["state"], &end["hosts"]["1"]["state"]), (&json!("silent"), &json!("joined")));
    assert!(end["hosts"]["2"]["left_ns"].is_i64() && end["hosts"]["1"]["left_ns"].is_null());
    assert_eq!(later.len(), 5);
}

#[test]
fn a_page_that_takes_nothing_is_dropped_and_others_are_not() {
    let mut place = Place::new();
    let (slow_hold, hold) = (Hold::default(), Hold::default());
    let mut slow = place.publisher.listen(slow_hold.clone()).unwrap();
    let mut quick = place.publisher.listen(hold.clone()).unwrap();
    let mut heard = Vec::new();
    assert!(slow_hold.is_held());
    for step in 0..3 * QUEUE as i64 {
        place.slot(step, &[(0, 1)]);
        assert!(place.publisher.tick());
        heard.extend(take(&mut quick).0);
    }
    assert!(!slow_hold.is_held() && hold.is_held());
    let (left, goes_on) = take(&mut slow);
    assert!(left.len() <= QUEUE && !goes_on, "what it had in its queue, and then the end");
    assert_eq!(whole(&heard)["slots"]["round"].as_array().unwrap().len(), 3 * QUEUE);
    // It comes again, and knows all.
    let mut again = place.publisher.listen(Hold::default()).unwrap();
    same(whole(&take(&mut again).0), whole(&heard));
}

#[test]
fn pages_are_few() {
    let mut place = Place::new();
    let mut pages: Vec<Events> = (0..LISTENERS).map(|_| place.publisher.listen(Hold::default()).unwrap()).collect();
    assert_eq!(place.publisher.listen(Hold::default()).unwrap_err(), Full);
    pages.pop();
    pages.push(place.publisher.listen(Hold::default()).unwrap());
    assert_eq!(place.publisher.listen(Hold::default()).unwrap_err(), Full);
}

#[test]
fn what_is_too_much_for_a_page_is_left_out_and_counted() {
    let mut place = Place::new();
    let mut page = place.publisher.listen(Hold::default()).unwrap();
    // One event holds so many pairs, and as many slots wait as there is room for.
    let all = SLOTS + 10;
    (0..all).for_each(|step| place.slot(step as i64, &[(0, 1)]));
    assert!(place.publisher.tick());
    let heard = whole(&take(&mut page).0);
    assert_eq!(heard["slots"]["round"].as_array().unwrap().len(), EVENT_PAIRS);
    assert_eq!(heard["left_out"], json!(all - EVENT_PAIRS));
    // A snapshot has the newest, and no end of them.
    for step in 0..2 * KEPT_PAIRS / EVENT_PAIRS {
        (0..EVENT_PAIRS).for_each(|s| place.slot((step * EVENT_PAIRS + s) as i64, &[(0, 1)]));
        assert!(place.publisher.tick());
        take(&mut page);
    }
    let mut late = place.publisher.listen(Hold::default()).unwrap();
    assert_eq!(whole(&take(&mut late).0)["slots"]["round"].as_array().unwrap().len(), KEPT_PAIRS);
}

#[test]
fn fill_is_what_was_sent_of_what_slots_had_room_for() {
    let mut place = Place::new();
    place.joins(0);
    place.joins(1);
    let mut page = place.publisher.listen(Hold::default()).unwrap();
    // Slots without an end in sight, half of the time those of host 0: what lies between two
    // counts, whenever they come, is half of it.
    for step in 0..8000 {
        place.slot(step - 1000, &[(u32::from(step % 2 == 1), 2)]);
    }
    assert!(place.publisher.tick());
    let mut heard = take(&mut page).0;
    let began = clock::now();
    place.counts(0, 1_000_000);
    place.counts(1, 0);
    std::thread::sleep(std::time::Duration::from_millis(50));
    // Between the two, at most so long; 80 Mb/s are 10 kB a millisecond.
    place.counts(0, 1_000_000 + 100_000);
    place.counts(1, 0);
    let most = clock::now() - began;
    place.told();
    heard.extend(take(&mut page).0);
    let hosts = &whole(&heard)["hosts"];
    let fill = hosts["0"]["fill"].as_f64().unwrap();
    // So much of a slot's bounds is at the edges of what lies between.
    let open = (most.as_ps() as f64 / 2.0 + 1e9) / 8.0 * 80e6 / 1e12;
    assert!(fill >= 100_000.0 / open && fill <= 100_000.0 / (50e9 / 2.0 - 1e9) * 1e12 * 8.0 / 80e6, "{fill}");
    assert_eq!(hosts["1"]["fill"], json!(0.0));
    assert_eq!(hosts["2"]["fill"], Value::Null, "nobody knows");
    assert_eq!(hosts["0"]["counts"]["wire_bytes"], json!(1_100_000));
}

#[test]
fn a_host_without_a_report_is_late_and_its_successor_speaks_for_it() {
    let mut place = Place::new();
    place.joins(0);
    place.reports(0, &[(1, 10)]);
    let known = place.known.lock().unwrap().clone();
    let mut picture = picture::Picture::new(HOSTS);
    let mut state = |at: Time| picture.rest(&place.watch, at, &known, Value::Null)["hosts"]["0"]["state"].clone();
    assert_eq!(state(clock::now()), "joined");
    assert_eq!(state(clock::now().saturating_add(Duration::from_secs(3))), "late");
    // Another connection of the same host; the end of the first changes nothing.
    place.watch.hear(&ChannelEvent::Joined { peer: PeerId(99), name: "host-0".into() });
    place.reports(0, &[(1, 20)]);
    assert_eq!(place.watch.heard().hosts[0].backlog, [(1, 10)], "one that was replaced speaks for nobody");
    place.watch.hear(&ChannelEvent::Left { peer: PeerId(0), why: String::new() });
    assert_eq!(place.watch.heard().hosts[0].backlog, [(1, 10)]);
    // Nor does a name that no host has.
    place.watch.hear(&ChannelEvent::Joined { peer: PeerId(50), name: "host-4".into() });
    place.watch.hear(&ChannelEvent::Joined { peer: PeerId(51), name: "controller-1".into() });
    place.watch.hear(&ChannelEvent::Left { peer: PeerId(51), why: String::new() });
    let _ = place.publisher.listen(Hold::default()).unwrap();
}
