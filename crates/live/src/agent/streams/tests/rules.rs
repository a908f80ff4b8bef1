//! Tests of limits, refusals and epochs. Invalid frames, and frames that no host should have sent,
//! must change nothing.

use super::*;
use proptest::prelude::*;
use std::hash::{DefaultHasher, Hash, Hasher};
use timeplane_protocol::wire::{DataHeader, DataKind, UNGATED, encode_repair};

const QUIET: Trouble = Trouble { loss: 0, duplication: 0, truncation: 0, jitter_us: 0, refusal: 0 };

fn run(world: &mut World, time: Duration) {
    let until = world.now + time;
    while world.now < until {
        world.step();
    }
}

fn frame(streams: &mut Streams, to: HostId) -> Option<Vec<u8>> {
    let mut frame = Vec::new();
    streams.next_frame(Time::ZERO, to, 3, FULL, &mut frame).map(|_| frame)
}

#[test]
fn what_a_program_does_wrong_is_an_error() {
    let mut streams = host(A, 1, 100_000);
    assert_eq!(streams.open(HostId(9), 0, None), Err(StreamError::UnknownHost(HostId(9))));
    assert_eq!(StreamError::UnknownHost(HostId(9)).to_string(), "unknown host 9");
    let id = streams.open(B, 0, Some(10)).unwrap();
    assert_eq!(streams.write(id, &[0; 11]), Err(StreamError::TooLong { declared: 10, found: 11 }));
    assert_eq!(streams.write(id, &[0; 10]), Ok(10));
    assert_eq!(streams.write(id, &[0; 1]), Err(StreamError::Finished));
    streams.abandon(id);
    assert_eq!(streams.write(id, &[0; 1]), Err(StreamError::UnknownStream(id.number())));
    assert_eq!((streams.outgoing(id), streams.waits(B)), (None, false));
    // The send buffer bounds what is taken.
    let id = streams.open(B, 0, None).unwrap();
    assert_eq!((streams.write(id, &vec![0; 150_000]), streams.write(id, &[0])), (Ok(100_000), Ok(0)));
    assert_eq!(streams.backlog(), [(B, Bytes::new(68 * 1538 + 100_000 % 1462 + 76))]);
    // Packets: as many as their queue has room for, and none that no frame can carry.
    assert!(!streams.push_packet(B, &[0; 1463]) && !streams.push_packet(HostId(9), &[0; 9]));
    let pushed = (0..2000).filter(|_| streams.push_packet(B, &[0; 1462])).count();
    assert_eq!((pushed, streams.counters().packets_dropped), ((1 << 20) / 1462, 2000 - pushed as u64 + 2));
}

#[test]
fn frames_are_cut_to_the_room_there_is() {
    let mut streams = host(A, 1, 100_000);
    let id = streams.open(B, 4, None).unwrap();
    streams.write(id, &[9; 3000]).unwrap();
    streams.push_packet(B, &[1; 500]);
    let mut bytes = Vec::new();
    assert!(streams.next_frame(Time::ZERO, B, 3, 83, &mut bytes).is_none() && bytes.is_empty());
    assert!(streams.next_frame(Time::ZERO, HostId(9), 3, FULL, &mut bytes).is_none());
    streams.next_frame(Time::ZERO, B, 3, 84, &mut bytes).unwrap();
    let (header, payload) = DataHeader::parse(&bytes).unwrap();
    assert_eq!(
        (bytes.len(), payload, header.kind, header.class, header.port),
        (60, &[9; 8][..], DataKind::Stream, 3, 4)
    );
    assert_eq!((header.length, header.stream, header.host, header.epoch), (None, id.number(), A, 1));
    // The packet's turn; it does not fit, and the stream goes first.
    streams.next_frame(Time::ZERO, B, 3, 300, &mut bytes).unwrap();
    assert_eq!((bytes.len(), DataHeader::parse(&bytes).unwrap().0.offset), (276, 8));
    streams.next_frame(Time::ZERO, B, 3, 576, &mut bytes).unwrap();
    assert_eq!(DataHeader::parse(&bytes).unwrap().1, [1; 500]);
}

#[test]
fn a_stream_waits_for_a_listener_but_not_for_ever() {
    let mut world = World::new(100_000, QUIET, 1);
    let id = world.hosts[0].open(B, 6, None).unwrap();
    world.hosts[0].write(id, &[7; 60_000]).unwrap();
    run(&mut world, Duration::from_secs(3));
    assert_eq!(world.hosts[0].outgoing(id).unwrap().acknowledged, 0);
    assert_eq!(world.hosts[1].memory(), Bytes::new(0));
    let listener = world.hosts[1].listen(6).unwrap();
    let probed = world.hosts[0].counters().frames_sent;
    run(&mut world, Duration::from_ms(100));
    assert_eq!(world.hosts[0].outgoing(id).unwrap().acknowledged, 60_000);
    assert!(world.hosts[0].counters().frames_sent - probed < 60);
    let taken = world.hosts[1].accept(listener).unwrap();
    assert_eq!(read_all(&mut world.hosts[1], taken), (vec![7; 60_000], Read::Nothing));
    // And where nobody comes, or the listener has left:
    world.hosts[1].stop_listening(listener);
    let late = world.hosts[0].open(B, 6, Some(5)).unwrap();
    world.hosts[0].write(late, b"hello").unwrap();
    run(&mut world, Duration::from_secs(9));
    assert!(!world.hosts[0].outgoing(late).unwrap().given_up);
    run(&mut world, Duration::from_secs(2));
    assert!(world.hosts[0].outgoing(late).unwrap().given_up && !world.hosts[0].outgoing(id).unwrap().given_up);
    assert_eq!(world.hosts[0].write(late, b""), Err(StreamError::GivenUp { host: B }));
    assert_eq!(world.hosts[1].counters().streams_refused, 1);
    // The stream that was accepted goes on.
    world.hosts[0].write(id, b"more").unwrap();
    run(&mut world, Duration::from_ms(100));
    assert_eq!(read_all(&mut world.hosts[1], taken).0, b"more");
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender_and_is_seldom_asked() {
    let mut world = World::new(50_000, QUIET, 1);
    let listener = world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, None).unwrap();
    let mut written = 0;
    let write = |world: &mut World, written: &mut usize| {
        *written += world.hosts[0].write(id, &vec![1; 200_000 - *written]).unwrap();
    };
    for _ in 0..3000 {
        write(&mut world, &mut written);
        world.step();
    }
    assert_eq!((written, world.hosts[0].outgoing(id).unwrap().acknowledged), (100_000, 50_000));
    assert!(world.hosts[1].memory().get() <= 100_000 + 32_768);
    let before = *world.hosts[0].counters();
    run(&mut world, Duration::from_secs(20));
    let asked = world.hosts[0].counters().frames_sent - before.frames_sent;
    assert!((5..20).contains(&asked), "{asked} frames in twenty seconds");
    // It reads again: everything comes.
    let taken = world.hosts[1].accept(listener).unwrap();
    let mut read = 0;
    for _ in 0..3000 {
        read += read_all(&mut world.hosts[1], taken).0.len();
        write(&mut world, &mut written);
        world.step();
    }
    assert_eq!((written, read), (200_000, 200_000));
    assert_eq!(world.hosts[1].counters().frames_beyond, 0);
}

#[test]
fn either_program_may_go_away_and_the_other_hears_of_it() {
    for loss in [0, 60] {
        let mut world = World::new(50_000, Trouble { loss, ..QUIET }, 4);
        let listener = world.hosts[1].listen(0).unwrap();
        let ids: Vec<_> = (0..2).map(|_| world.hosts[0].open(B, 0, None).unwrap()).collect();
        ids.iter().for_each(|&id| assert_eq!(world.hosts[0].write(id, &[1; 20_000]), Ok(20_000)));
        run(&mut world, Duration::from_secs(2));
        let taken: Vec<_> = std::iter::from_fn(|| world.hosts[1].accept(listener)).collect();
        assert_eq!(taken.len(), 2);
        let of = |id: StreamId| *taken.iter().find(|t| t.stream == id.number()).unwrap();
        world.hosts[0].abandon(ids[0]);
        world.hosts[1].close(of(ids[1]));
        world.hosts[0].write(ids[1], &[1; 20_000]).unwrap();
        run(&mut world, Duration::from_secs(20));
        let mut buf = [0; 10];
        assert_eq!(world.hosts[1].read(of(ids[0]), &mut buf), Read::Broken);
        assert!(world.hosts[0].outgoing(ids[1]).unwrap().given_up);
        assert_eq!((world.hosts[1].counters().streams_broken, world.hosts[0].counters().streams_given_up), (1, 1));
        world.hosts[0].abandon(ids[1]);
        world.settle(20_000);
        world.hosts.iter().for_each(|h| assert_eq!((h.memory(), h.deadline()), (Bytes::new(0), None)));
    }
}

#[test]
fn a_length_that_is_not_reached_breaks_the_stream() {
    let mut world = World::new(50_000, QUIET, 4);
    let listener = world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, Some(100)).unwrap();
    world.hosts[0].write(id, &[1; 99]).unwrap();
    run(&mut world, Duration::from_ms(50));
    let taken = world.hosts[1].accept(listener).unwrap();
    assert_eq!(world.hosts[1].incoming_length(taken), Some(100));
    assert_eq!(read_all(&mut world.hosts[1], taken), (vec![1; 99], Read::Nothing));
    world.hosts[0].finish(id);
    run(&mut world, Duration::from_ms(50));
    assert_eq!((world.hosts[0].outgoing(id), read_all(&mut world.hosts[1], taken).1), (None, Read::Broken));
}

/// As many programs as may connect write as much as they can, to a port at which nobody listens.
#[test]
fn programs_that_send_to_nobody_take_little_memory_and_give_it_back() {
    let mut streams = host(A, 1, 4 << 20);
    streams.config.memory = Bytes::new(32 << 20);
    let ids: Vec<StreamId> = (0..600).map(|_| streams.open(B, 9, None).unwrap()).collect();
    let block = vec![7; 64 * 1024];
    let mut written = 0;
    // They take turns, until none gets on.
    loop {
        let round: usize = ids.iter().map(|&id| streams.write(id, &block).unwrap()).sum();
        written += round;
        if round == 0 {
            break;
        }
    }
    let memory = streams.memory().get();
    let least = 32 << 20;
    assert!((least..=least + 600 * (FLOOR + 2 * 16 * 1024)).contains(&memory), "{memory} B");
    assert!(memory >= written as u64 && written >= 600 * FLOOR as usize, "each has its share");
    ids.iter().for_each(|&id| streams.abandon(id));
    assert_eq!((streams.memory(), streams.spare_memory()), (Bytes::ZERO, Bytes::new(4 << 20)));
}

/// Memory that is short makes streams slow, and none stop.
#[test]
fn streams_get_on_where_memory_is_short() {
    let mut world = World::new(500_000, QUIET, 2);
    world.hosts.iter_mut().for_each(|h| h.config.memory = Bytes::new(100_000));
    let listener = world.hosts[1].listen(0).unwrap();
    let ids: Vec<StreamId> = (0..5).map(|_| world.hosts[0].open(B, 0, Some(600_000)).unwrap()).collect();
    let (mut left, mut read) = (vec![600_000; 5], BTreeMap::new());
    while read.values().sum::<usize>() < 5 * 600_000 {
        for (&id, left) in ids.iter().zip(&mut left) {
            *left -= world.hosts[0].write(id, &vec![1; *left]).unwrap();
        }
        // Programs read from time to time.
        (0..50).for_each(|_| world.step());
        let taken: Vec<_> = std::iter::from_fn(|| world.hosts[1].accept(listener)).collect();
        read.extend(taken.into_iter().map(|id| (id, 0)));
        for (&id, read) in &mut read {
            *read += read_all(&mut world.hosts[1], id).0.len();
        }
        let memory = world.hosts.each_ref().map(|h| h.memory().get());
        let most = |stream: u64| 100_000 + 5 * (stream + 2 * 16 * 1024);
        assert!(memory[0] <= most(FLOOR) && memory[1] <= most(2 * FLOOR), "{memory:?}");
        assert!(world.now < Time::ZERO + Duration::from_secs(600), "{read:?} of 600,000 B each");
    }
}

/// Two hosts, their listeners, and a stream in each direction, of which 9,000 B have arrived.
fn streams_in_both_directions() -> (World, [ListenerId; 2], [StreamId; 2]) {
    let mut world = World::new(50_000, QUIET, 4);
    let listeners = [0, 1].map(|i| world.hosts[i].listen(0).unwrap());
    let [forth, back] = [0, 1].map(|i| world.hosts[i].open([A, B][1 - i], 0, None).unwrap());
    world.hosts[0].write(forth, &[1; 9_000]).unwrap();
    world.hosts[1].write(back, &[2; 9_000]).unwrap();
    run(&mut world, Duration::from_ms(100));
    (world, listeners, [forth, back])
}

#[test]
fn agents_that_are_started_anew_break_what_was_and_their_old_frames_are_stale() {
    let (mut world, listeners, [forth, back]) = streams_in_both_directions();
    let there = world.hosts[1].accept(listeners[1]).unwrap();
    // A frame of the old agent that comes too late.
    world.hosts[0].write(forth, &[1; 9]).unwrap();
    let late = frame(&mut world.hosts[0], B).unwrap();
    world.hosts[0] = host(A, 2, 50_000);
    world.hosts[0].listen(0).unwrap();
    let fresh = world.hosts[0].open(B, 0, Some(3)).unwrap();
    world.hosts[0].write(fresh, b"new").unwrap();
    world.hosts[1].write(back, &[2; 9_000]).unwrap();
    // Until a controller announces it, nobody hears the new agent.
    run(&mut world, Duration::from_ms(500));
    assert!(world.hosts[1].counters().frames_stale > 0);
    assert_eq!(read_all(&mut world.hosts[1], there).1, Read::Nothing);
    assert_eq!(world.hosts[1].set_peer(A, peer(A, 2, B, false)), None);
    // A controller that does not know of it yet changes nothing.
    assert_eq!(world.hosts[1].set_peer(A, peer(A, 1, B, false)), Some(2));
    run(&mut world, Duration::from_ms(500));
    assert_eq!(read_all(&mut world.hosts[1], there).1, Read::Broken);
    // What the old agent had acknowledged is lost with it, and the sender is told so.
    assert!(world.hosts[1].outgoing(back).unwrap().given_up);
    let (before, stale) = (digest(&world.hosts[1].receiving), world.hosts[1].counters().frames_stale);
    assert_eq!(world.hosts[1].received(world.now, &late), Ok(None));
    assert_eq!((world.hosts[1].counters().frames_stale, digest(&world.hosts[1].receiving)), (stale + 1, before));
    let there = world.hosts[1].accept(listeners[1]).unwrap();
    assert_eq!((there.epoch, read_all(&mut world.hosts[1], there)), (2, (b"new".to_vec(), Read::End)));
    assert!(world.hosts[0].outgoing(fresh).unwrap().complete);
}

#[test]
fn what_waits_for_a_host_that_stays_away_ends() {
    let (mut world, listeners, [forth, back]) = streams_in_both_directions();
    let [here, there] = [0, 1].map(|i| world.hosts[i].accept(listeners[i]).unwrap());
    world.hosts[0].write(forth, &[1; 9_000]).unwrap();
    assert!(world.hosts[0].push_packet(B, &[0; 100]) && world.hosts[0].waits(B));
    // Controllers have not heard of B for long; A hears of it by them only.
    world.hosts[0].set_absent(B);
    let absent = StreamError::Absent { host: B };
    assert!(world.hosts[0].outgoing(forth).unwrap().given_up && world.hosts[0].given_up(B) == absent);
    assert_eq!(world.hosts[0].write(forth, &[1]), Err(absent.clone()));
    assert_eq!(world.hosts[0].open(B, 0, None), Err(absent));
    assert_eq!(world.hosts[0].read(here, &mut [0; 10]), Read::Broken);
    assert!(!world.hosts[0].push_packet(B, &[0; 100]) && world.hosts[0].backlog().is_empty());
    let c = *world.hosts[0].counters();
    assert_eq!((c.streams_given_up, c.streams_broken, c.packets_dropped), (1, 1, 2));
    world.hosts[0].abandon(forth);
    assert_eq!(world.hosts[0].memory(), Bytes::ZERO);
    // Its agent has lived on. It is told when it is back, and once only.
    run(&mut world, Duration::from_secs(20));
    assert_eq!(read_all(&mut world.hosts[1], there), (vec![1; 9_000], Read::Nothing));
    assert_eq!(world.hosts[0].set_peer(B, peer(B, B_EPOCH, A, false)), None);
    run(&mut world, Duration::from_ms(100));
    assert_eq!(world.hosts[1].read(there, &mut [0; 10]), Read::Broken);
    world.hosts[1].write(back, &[2; 9_000]).unwrap();
    run(&mut world, Duration::from_ms(100));
    assert!(world.hosts[1].outgoing(back).unwrap().given_up);
    let again = world.hosts[0].open(B, 0, Some(3)).unwrap();
    world.hosts[0].write(again, b"new").unwrap();
    run(&mut world, Duration::from_ms(100));
    let there = world.hosts[1].accept(listeners[1]).unwrap();
    assert_eq!(read_all(&mut world.hosts[1], there), (b"new".to_vec(), Read::End));
}

#[test]
fn a_host_has_so_many_streams_open_here_and_the_others_wait() {
    let mut world = World::new(50_000, QUIET, 4);
    let listener = world.hosts[1].listen(0).unwrap();
    let count = MAX_INCOMING + 50;
    let ids: Vec<_> = (0..count).map(|_| world.hosts[0].open(B, 0, Some(1)).unwrap()).collect();
    ids.iter().for_each(|&id| assert_eq!(world.hosts[0].write(id, &[1]), Ok(1)));
    run(&mut world, Duration::from_secs(1));
    assert_eq!(world.hosts[1].receiving.len(), MAX_INCOMING);
    assert!(world.hosts[1].counters().frames_crowded >= 50);
    let mut done = 0;
    while done < count {
        while let Some(taken) = world.hosts[1].accept(listener) {
            assert_eq!(read_all(&mut world.hosts[1], taken), (vec![1], Read::End));
            world.hosts[1].close(taken);
            done += 1;
        }
        world.step();
        assert!(world.now < Time::ZERO + Duration::from_secs(60), "{done}");
    }
    run(&mut world, Duration::from_secs(5));
    assert!(ids.iter().all(|&id| world.hosts[0].outgoing(id).unwrap().complete));
}

/// Two hosts in the middle of streams both ways, with frames lost.
fn busy() -> World {
    let mut world = World::new(50_000, Trouble { loss: 30, ..QUIET }, 9);
    for i in 0..2 {
        world.hosts[i].listen(0).unwrap();
        let id = world.hosts[i].open([A, B][1 - i], 0, None).unwrap();
        world.hosts[i].write(id, &[1; 40_000]).unwrap();
    }
    run(&mut world, Duration::from_ms(1));
    world
}

/// Of all that there is, and short enough to be printed.
fn digest(what: &impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{what:?}").hash(&mut hasher);
    hasher.finish()
}

fn state(streams: &Streams) -> u64 {
    digest(&(&streams.peers, &streams.sending, &streams.receiving, &streams.timers, &streams.answers))
}

#[test]
fn frames_of_others_change_nothing() {
    let mut world = busy();
    let header = DataHeader {
        destination: mac(A),
        source: mac(B),
        kind: DataKind::Stream,
        class: 1,
        payload: 4,
        host: B,
        epoch: 5,
        stream: 77,
        port: 0,
        sealed: false,
        offset: 0,
        length: None,
    };
    let repair =
        DataHeader { kind: DataKind::Repair, class: UNGATED, epoch: 1, stream: 1, offset: 5, payload: 8, ..header };
    let sealed = |h: &DataHeader, payload: &[u8]| [&h.encode()[..], payload, &[0; 9]].concat();
    let all = encode_repair(20_000, std::iter::empty());
    let before = state(&world.hosts[0]);
    let now = world.now;
    for (h, payload) in [(header, &b"evil"[..]), (repair, &all)] {
        let old = if h.kind == DataKind::Repair { DataHeader { offset: 4, ..h } } else { DataHeader { epoch: 4, ..h } };
        for forged in [
            DataHeader { destination: mac(HostId(8)), ..h },
            DataHeader { source: mac(HostId(8)), ..h },
            DataHeader { host: HostId(8), ..h },
            DataHeader { host: A, ..h },
            old,
        ] {
            assert_eq!(world.hosts[0].received(now, &sealed(&forged, payload)), Ok(None));
            assert_eq!(state(&world.hosts[0]), before);
        }
    }
    let c = *world.hosts[0].counters();
    assert_eq!(c.frames_foreign, 8);
    assert!(c.frames_stale >= 2);
    // The end of a stream cannot move, and no byte lies behind it.
    let mut end = DataHeader { length: Some(4), ..header };
    world.hosts[0].received(now, &sealed(&end, b"good")).unwrap();
    let before = digest(&world.hosts[0].receiving);
    for (offset, length) in [(0, Some(5)), (1, None), (0, Some(3))] {
        (end.offset, end.length) = (offset, length);
        assert!(
            world.hosts[0].received(now, &sealed(&end, b"evil")).is_err()
                || world.hosts[0].counters().frames_malformed > c.frames_malformed
        );
        assert_eq!(digest(&world.hosts[0].receiving), before);
    }
    // Reports of what was never sent.
    let before = world.hosts[0].outgoing(StreamId(1)).unwrap();
    for (number, contiguous) in [(1 << 20, 40_001), (2 << 20, 1 << 40), (3 << 20, u64::MAX - 1)] {
        let repair = DataHeader { offset: number << 32 | u64::from(B_EPOCH), ..repair };
        let payload = encode_repair(contiguous, std::iter::empty());
        world.hosts[0].received(now, &sealed(&repair, &payload)).unwrap();
        assert_eq!(world.hosts[0].outgoing(StreamId(1)), Some(before));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_by_chance_change_nothing(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..20)) {
        let mut streams = busy().hosts.into_iter().next().unwrap();
        let before = state(&streams);
        for mut frame in frames {
            prop_assert!(streams.received(Time::ZERO, &frame).is_err());
            if frame.len() > 15 {
                let kind = frame[0] % 4;
                frame[12..16].copy_from_slice(&[0x88, 0xb6, 1, kind]);
                let _ = streams.received(Time::ZERO, &frame);
            }
        }
        prop_assert_eq!(state(&streams), before);
    }

    /// Frames that only the right host could have sent, with fields by chance: no panic, and memory
    /// stays bounded.
    #[test]
    fn fields_by_chance_do_no_harm(
        fields in proptest::collection::vec((0u8..3, any::<(u32, u32)>(), 0u64..200_000, prop_oneof![Just(None), (0u64..200_000).prop_map(Some), Just(Some(u64::MAX - 1))],
            proptest::collection::vec(any::<u8>(), 0..100), proptest::collection::vec((0u64..1 << 20, 1u64..9_000), 0..5), any::<bool>()), 1..60),
    ) {
        let mut world = busy();
        for (kind, (epoch, stream), offset, length, bytes, steps, wild) in fields {
                        let kind = [DataKind::Stream, DataKind::Repair, DataKind::Packet][usize::from(kind)];
            let owner = if kind == DataKind::Repair { 1 } else { B_EPOCH };
            let (epoch, stream) = if wild { (epoch, stream) } else { (owner, stream % 4) };
            let mut at = offset;
            let missing: Vec<_> = steps.iter().map(|(skip, long)| { let from = at + skip; at = from + long; (from, at) }).collect();
            let payload = if kind == DataKind::Repair { encode_repair(if wild { u64::MAX } else { offset }, missing.into_iter().filter(|_| !wild)) } else { bytes };
            let epoch_of_repair = u64::from(B_EPOCH) + u64::from(wild);
            let offset = if kind == DataKind::Repair { offset << 32 | epoch_of_repair } else { offset };
            let header = DataHeader {
                destination: mac(A), source: mac(B), kind, class: 0, payload: payload.len() as u16, host: B, epoch, stream, port: 0, sealed: false, offset, length,
            };
            let _ = world.hosts[0].received(world.now, &[&header.encode()[..], &payload].concat());
            world.step();
            prop_assert!(world.hosts[0].memory().get() < 62 * (100_000 + 6 * 16_384));
        }
    }
}

/// Frames a second that one core builds and takes in: `cargo test --release -p timeplane-live --lib
/// frames_a_second -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn frames_a_second() {
    let (mut a, mut b) = (host(A, 1, 4 << 20), host(B, 1, 4 << 20));
    let listener = b.listen(0).unwrap();
    let ids: Vec<_> = (0..8).map(|_| a.open(B, 0, None).unwrap()).collect();
    let (bytes, mut buf) = (vec![7; 65_536], vec![0; 65_536]);
    let (mut frames, mut built, mut taken_in) =
        (vec![Vec::new(); 512], std::time::Duration::ZERO, std::time::Duration::ZERO);
    let (mut now, mut count, mut taken) = (Time::ZERO, 0u64, Vec::new());
    while count < 1_000_000 {
        let begin = std::time::Instant::now();
        for &id in &ids {
            while a.write(id, &bytes).unwrap() > 0 {}
        }
        let n = frames.iter_mut().map_while(|f| a.next_frame(now, B, 1, FULL, f)).count();
        built += begin.elapsed();
        count += n as u64;
        now += Duration::from_ms(5);
        let begin = std::time::Instant::now();
        frames[..n].iter().for_each(|f| assert!(b.received(now, f).unwrap().is_none()));
        taken.extend(std::iter::from_fn(|| b.accept(listener)));
        for &id in &taken {
            while matches!(b.read(id, &mut buf), Read::Bytes(_)) {}
        }
        taken_in += begin.elapsed();
        let mut out = Vec::new();
        b.due(now, &mut out);
        out.iter().for_each(|f| assert!(a.received(now, f).unwrap().is_none()));
    }
    let rate = |time: std::time::Duration| count as f64 / time.as_secs_f64();
    println!("{count} frames: {:.0} built, {:.0} taken in a second", rate(built), rate(taken_in));
}
