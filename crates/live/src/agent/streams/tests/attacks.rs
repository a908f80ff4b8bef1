//! Tests of frames that a station without keys sends: forged ones, and recorded ones again. None
//! has an effect, and true bytes arrive.

use super::*;
use proptest::prelude::*;
use timeplane_protocol::wire::{DataHeader, DataKind, PairKey, UNGATED, encode_repair};

const QUIET: Trouble = Trouble { loss: 0, duplication: 0, truncation: 0, jitter_us: 0, refusal: 0 };

fn run(world: &mut World, time: Duration) {
    let until = world.now + time;
    while world.now < until {
        world.step();
    }
}

/// What a stranger knows of a frame from `A` to `B`: addresses, and a stream's number.
fn header(kind: DataKind, payload: usize, epoch: u32, stream: u32) -> DataHeader {
    DataHeader {
        destination: mac(B),
        source: mac(A),
        kind,
        class: 1,
        payload: payload as u16,
        host: A,
        epoch,
        stream,
        port: 0,
        sealed: false,
        offset: 0,
        length: None,
    }
}

fn back(header: DataHeader) -> DataHeader {
    DataHeader { destination: mac(A), source: mac(B), host: B, ..header }
}

/// A frame without a tag, with a made-up tag, with the tag of another key, and with the tag of the
/// other direction.
fn forgeries(header: DataHeader, payload: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = vec![[&header.encode()[..], payload].concat()];
    let sealed = DataHeader { sealed: true, ..header };
    let content = [&sealed.encode()[..], payload].concat();
    frames.push([&content[..], &[0x5a; PairKey::TAG]].concat());
    let to = if header.host == A { B } else { A };
    for key in
        [PairKey([0; 16]), secret(HostId(77)).key_of(header.host, to), secret(header.host).key_of(to, header.host)]
    {
        let mut frame = content.clone();
        key.seal(&mut frame);
        frames.push(frame);
    }
    frames
}

/// Refused frames: without a tag, and with a wrong one.
fn refused(streams: &Streams) -> (u64, u64) {
    (streams.counters().frames_unsealed, streams.counters().frames_forged)
}

/// Everything but the counters.
fn state(streams: &Streams) -> String {
    format!("{:?}", (&streams.peers, &streams.sending, &streams.receiving, &streams.timers, &streams.answers))
}

/// Sends a stream of `A` to `B`, and forged frames to the host at `victim` before it begins, in its
/// middle, and at its end. None of them changes anything.
fn arrives_despite(forged: impl Fn(u32) -> (DataHeader, Vec<u8>), victim: usize) {
    let mut world = World::of(100_000, QUIET, 1, true);
    let listener = world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, Some(30_000)).unwrap();
    let (header, payload) = forged(id.number());
    let frames = forgeries(header, &payload);
    let attack = |world: &mut World| {
        let (before, now) = (state(&world.hosts[victim]), world.now);
        let (unsealed, forged) = refused(&world.hosts[victim]);
        for frame in &frames {
            assert_eq!(world.hosts[victim].received(now, frame), Ok(None));
        }
        assert_eq!(state(&world.hosts[victim]), before);
        assert_eq!(refused(&world.hosts[victim]), (unsealed + 1, forged + 4));
    };
    attack(&mut world);
    let mut all = Vec::new();
    for piece in 0..3 {
        world.hosts[0].write(id, &[piece + 1; 10_000]).unwrap();
        all.extend([piece + 1; 10_000]);
        attack(&mut world);
        run(&mut world, Duration::from_us(300));
        attack(&mut world);
    }
    run(&mut world, Duration::from_ms(500));
    attack(&mut world);
    let taken = world.hosts[1].accept(listener).expect("a stream");
    assert_eq!(read_all(&mut world.hosts[1], taken), (all, Read::End));
    assert!(world.hosts[0].outgoing(id).unwrap().complete);
}

#[test]
fn a_forged_data_frame_deafens_nobody() {
    let payload = vec![0; 29];
    assert_eq!(forgeries(header(DataKind::Stream, 29, u32::MAX, 1), &payload)[0].len(), 81);
    arrives_despite(|stream| (header(DataKind::Stream, 29, u32::MAX, stream), payload.clone()), 1);
}

#[test]
fn a_forged_repair_frame_deafens_nobody() {
    let forged = |epoch: u32, stream| {
        let header = DataHeader { class: UNGATED, offset: epoch.into(), ..header(DataKind::Repair, 8, epoch, stream) };
        // With 8 B of padding.
        (header, vec![0; 16])
    };
    let (header, payload) = forged(u32::MAX, 1);
    assert_eq!(forgeries(header, &payload)[0].len(), 68);
    arrives_despite(|stream| forged(u32::MAX, stream), 1);
    // To the sender, as if it came from the receiver.
    arrives_despite(|stream| (back(forged(u32::MAX, stream).0), payload.clone()), 0);
}

#[test]
fn a_forged_acknowledgement_delivers_nothing() {
    let payload = encode_repair(30_001, std::iter::empty());
    let repair = |stream| {
        let header = back(header(DataKind::Repair, payload.len(), 1, stream));
        DataHeader { class: UNGATED, offset: 1 << 32 | u64::from(B_EPOCH), ..header }
    };
    arrives_despite(|stream| (repair(stream), payload.clone()), 0);
    // Nor does one that gives the stream up.
    let given_up = encode_repair(u64::MAX, std::iter::empty());
    arrives_despite(|stream| (repair(stream), given_up.clone()), 0);
    // If nothing has arrived, the sender is told nothing else.
    let mut world = World::of(100_000, QUIET, 1, true);
    let id = world.hosts[0].open(B, 0, Some(900)).unwrap();
    world.hosts[0].write(id, &[7; 900]).unwrap();
    let mut lost = Vec::new();
    world.hosts[0].next_frame(world.now, B, 1, FULL, &mut lost).unwrap();
    let all = encode_repair(901, std::iter::empty());
    for frame in forgeries(repair(id.number()), &all) {
        assert_eq!(world.hosts[0].received(world.now, &frame), Ok(None));
    }
    let outgoing = world.hosts[0].outgoing(id).unwrap();
    assert_eq!((outgoing.acknowledged, outgoing.complete), (0, false));
}

#[test]
fn bytes_forged_into_a_stream_are_not_delivered() {
    // As long as a true frame, so that the true one would be a duplicate.
    for (offset, length) in [(0, 1454), (1454, 1454), (29_990, 10)] {
        let forged =
            |stream| DataHeader { length: Some(30_000), offset, ..header(DataKind::Stream, length, 1, stream) };
        arrives_despite(|stream| (forged(stream), vec![0xee; length]), 1);
    }
    let packet = DataHeader { length: Some(0), ..header(DataKind::Packet, 40, 1, 0) };
    arrives_despite(|_| (packet, vec![0x45; 40]), 1);
}

#[test]
fn a_host_with_good_keys_cannot_speak_for_another_one() {
    // Host 3 knows its own keys, here to `B`, and claims to be `A`.
    let c = HostId(3);
    let mut world = World::of(100_000, QUIET, 1, true);
    world.hosts[1].set_peer(c, peer(c, 1, B, true));
    let header = DataHeader { sealed: true, ..header(DataKind::Stream, 4, 1, 1) };
    let mut frame = [&header.encode()[..], b"evil"].concat();
    secret(B).key_of(c, B).seal(&mut frame);
    let before = state(&world.hosts[1]);
    assert_eq!(world.hosts[1].received(world.now, &frame), Ok(None));
    assert_eq!((refused(&world.hosts[1]), state(&world.hosts[1])), ((0, 1), before));
}

#[test]
fn an_epoch_is_believed_from_controllers_alone() {
    // Not even without seals does a frame replace an agent.
    let mut world = World::new(100_000, QUIET, 1);
    let listener = world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, Some(9_000)).unwrap();
    world.hosts[0].write(id, &[7; 9_000]).unwrap();
    let repair = DataHeader { class: UNGATED, offset: u32::MAX.into(), ..header(DataKind::Repair, 8, 1, 1) };
    for header in [header(DataKind::Stream, 29, u32::MAX, 1), repair] {
        let frame = [&header.encode()[..], &[0; 29]].concat();
        assert_eq!(world.hosts[1].received(world.now, &frame), Ok(None));
    }
    assert_eq!(world.hosts[1].counters().frames_stale, 2);
    run(&mut world, Duration::from_ms(500));
    let taken = world.hosts[1].accept(listener).unwrap();
    assert_eq!(read_all(&mut world.hosts[1], taken), (vec![7; 9_000], Read::End));
}

#[test]
fn hosts_that_seal_and_hosts_that_do_not_refuse_each_other() {
    let (mut sealed, mut plain) = (host_of(A, 1, 9_000, true), host_of(B, B_EPOCH, 9_000, false));
    let frame = |streams: &mut Streams, to| {
        let id = streams.open(to, 0, None).unwrap();
        streams.write(id, b"hello").unwrap();
        let mut frame = Vec::new();
        streams.next_frame(Time::ZERO, to, 1, FULL, &mut frame).unwrap();
        frame
    };
    let (with, without) = (frame(&mut sealed, B), frame(&mut plain, A));
    assert_eq!((sealed.received(Time::ZERO, &without), plain.received(Time::ZERO, &with)), (Ok(None), Ok(None)));
    assert_eq!((refused(&sealed), plain.counters().frames_sealed), ((1, 0), 1));
    assert!(sealed.receiving.is_empty() && plain.receiving.is_empty());
}

/// Hosts and what they have sent, while streams and packets go both ways; all is delivered.
fn recorded(seed: u64) -> (World, [Vec<Vec<u8>>; 2]) {
    let mut world = World::of(100_000, Trouble { jitter_us: 300, ..QUIET }, seed, true);
    let listeners = [0, 1].map(|i| world.hosts[i].listen(0).unwrap());
    let ids = [0, 1].map(|i| world.hosts[i].open([A, B][1 - i], 0, Some(40_000)).unwrap());
    for i in 0..2 {
        assert_eq!(world.hosts[i].write(ids[i], &[7; 40_000]), Ok(40_000));
        (0..20).for_each(|n| assert!(world.hosts[i].push_packet([A, B][1 - i], &[n; 100])));
    }
    world.recorded = Some(Default::default());
    let mut taken = [None, None];
    while ids.iter().zip(&world.hosts).any(|(id, host)| !host.outgoing(*id).unwrap().complete) {
        world.step();
        for i in 0..2 {
            taken[i] = taken[i].or_else(|| world.hosts[i].accept(listeners[i]));
        }
        assert!(world.now < Time::ZERO + Duration::from_secs(20));
    }
    for i in 0..2 {
        let (bytes, end) = read_all(&mut world.hosts[i], taken[i].expect("a stream"));
        assert_eq!((bytes, end), (vec![7; 40_000], Read::End));
        world.hosts[i].close(taken[i].unwrap());
        world.hosts[i].abandon(ids[i]);
    }
    world.settle(10_000);
    let recorded = world.recorded.take().unwrap();
    assert!(recorded.iter().all(|frames| frames.len() > 40));
    (world, recorded)
}

#[test]
fn recorded_frames_deliver_nothing_again() {
    let (mut world, recorded) = recorded(5);
    let before = world.hosts.each_ref().map(|h| *h.counters());
    let packets = world.packets.each_ref().map(Vec::len);
    for (to, frames) in recorded.iter().enumerate() {
        for frame in frames.iter().chain(frames.iter().rev()) {
            let now = world.now;
            assert_eq!(world.hosts[to].received(now, frame), Ok(None), "a packet comes once");
        }
    }
    world.settle(10_000);
    assert_eq!(world.packets.each_ref().map(Vec::len), packets);
    for (i, before) in before.iter().enumerate() {
        let (host, now) = (&world.hosts[i], world.hosts[i].counters());
        assert_eq!((now.bytes_received, now.streams_accepted), (before.bytes_received, before.streams_accepted));
        assert_eq!((now.frames_sent, now.streams_given_up), (before.frames_sent, before.streams_given_up));
        assert!(host.receiving.is_empty() && host.sending.is_empty() && host.backlog().is_empty());
        assert_eq!(now.frames_repeated - before.frames_repeated, 40);
    }
    // What comes next arrives.
    let (listener, id) = (world.hosts[1].listen(3).unwrap(), world.hosts[0].open(B, 3, Some(5)).unwrap());
    world.hosts[0].write(id, b"hello").unwrap();
    run(&mut world, Duration::from_ms(200));
    let taken = world.hosts[1].accept(listener).unwrap();
    assert_eq!(read_all(&mut world.hosts[1], taken), (b"hello".to_vec(), Read::End));
}

#[test]
fn a_recorded_report_asks_for_nothing_again() {
    let mut world = World::of(100_000, QUIET, 1, true);
    world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, None).unwrap();
    world.hosts[0].write(id, &[7; 20_000]).unwrap();
    // The first frames are lost, and the receiver asks for them.
    let (mut frame, mut sent) = (Vec::new(), 0);
    while world.hosts[0].next_frame(world.now, B, 1, FULL, &mut frame).is_some() {
        sent += 1;
        if sent > 5 {
            world.hosts[1].received(world.now, &frame).unwrap();
        }
    }
    let mut reports = Vec::new();
    world.now = world.hosts[1].deadline().unwrap();
    world.hosts[1].due(world.now, &mut reports);
    assert_eq!(reports.len(), 1);
    world.hosts[0].received(world.now, &reports[0]).unwrap();
    let asked = world.hosts[0].backlog();
    assert!(!asked.is_empty());
    while world.hosts[0].next_frame(world.now, B, 1, FULL, &mut frame).is_some() {}
    let before = state(&world.hosts[0]);
    for _ in 0..100 {
        world.hosts[0].received(world.now, &reports[0]).unwrap();
    }
    assert_eq!((world.hosts[0].backlog(), state(&world.hosts[0])), (vec![], before));
}

#[test]
fn a_recording_of_a_former_agent_is_worthless() {
    let (mut world, recorded) = recorded(6);
    // The receiver starts anew, with another secret; then the sender, with another epoch.
    let config = StreamsConfig { secret: Some(HostSecret([99; 32])), ..world.hosts[1].config().clone() };
    let mut fresh = Streams::new(StreamsConfig { epoch: B_EPOCH + 1, ..config });
    fresh.set_peer(A, peer(A, 1, B, true));
    recorded[1].iter().for_each(|frame| assert_eq!(fresh.received(world.now, frame), Ok(None)));
    assert_eq!(fresh.counters().frames_forged, recorded[1].len() as u64);
    let stale = world.hosts[1].counters().frames_stale;
    world.hosts[1].set_peer(A, peer(A, 2, B, true));
    for frame in &recorded[1] {
        assert_eq!(world.hosts[1].received(world.now, frame), Ok(None));
    }
    assert_eq!(world.hosts[1].counters().frames_stale - stale, recorded[1].len() as u64);
    assert!(fresh.receiving.is_empty() && world.hosts[1].receiving.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bit_of_a_sealed_frame_can_change(seed: u64, bits in proptest::collection::vec(any::<u32>(), 1..40)) {
        let mut world = World::of(50_000, QUIET, seed, true);
        world.hosts[1].listen(0).unwrap();
        let id = world.hosts[0].open(B, 0, None).unwrap();
        world.hosts[0].write(id, &[7; 4_000]).unwrap();
        world.hosts[0].push_packet(B, &[9; 70]);
        let (before, mut frame) = (state(&world.hosts[1]), Vec::new());
        while world.hosts[0].next_frame(world.now, B, 1, FULL, &mut frame).is_some() {
            for bit in &bits {
                let bit = *bit as usize % (8 * frame.len());
                frame[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(!matches!(world.hosts[1].received(world.now, &frame), Ok(Some(_))));
                frame[bit / 8] ^= 1 << (bit % 8);
            }
        }
        prop_assert_eq!(state(&world.hosts[1]), before);
    }
}
