//! Tests of delivery. Whatever the network does, every accepted byte arrives once and in order.
//!
//! Streams of random lengths run both ways, with losses, duplicates, truncation and jitter.

use super::*;
use proptest::prelude::*;

/// A stream under test.
struct Flow {
    from: usize,
    id: StreamId,
    total: u64,
    written: u64,
    declared: bool,
    finished: bool,
    incoming: Option<IncomingId>,
    read: u64,
    ended: bool,
}

fn transfer(buffer: u64, totals: &[(u64, bool, bool)], slow: u64, trouble: Trouble, seed: u64) -> World {
    transfer_in(World::new(buffer, trouble, seed), buffer, totals, slow)
}

fn transfer_in(mut world: World, buffer: u64, totals: &[(u64, bool, bool)], slow: u64) -> World {
    let listeners = [0, 1].map(|i| world.hosts[i].listen(9).unwrap());
    let mut flows: Vec<Flow> = Vec::new();
    for &(total, declared, forth) in totals {
        let from = usize::from(!forth);
        let id = world.hosts[from].open([A, B][1 - from], 9, declared.then_some(total)).unwrap();
        let (finished, ended) = (false, false);
        flows.push(Flow { from, id, total, written: 0, declared, finished, incoming: None, read: 0, ended });
    }
    let mut buf = vec![0; 20_000];
    let mut steps = 0;
    while flows.iter().any(|f| !f.ended || !world.hosts[f.from].outgoing(f.id).unwrap().complete) {
        steps += 1;
        assert!(steps < 400_000, "the transfer does not end: {:?}", world.hosts.each_ref().map(|h| *h.counters()));
        for (i, listener) in listeners.iter().enumerate() {
            while let Some(id) = world.hosts[i].accept(*listener) {
                let flow = flows.iter_mut().find(|f| f.from == 1 - i && f.id.number() == id.stream).unwrap();
                assert!(flow.incoming.replace(id).is_none(), "it is accepted once");
            }
        }
        for flow in &mut flows {
            if !flow.finished {
                let n = world.dice.below(12_000).min(flow.total - flow.written);
                let bytes: Vec<u8> =
                    (flow.written..flow.written + n).map(|at| pattern(flow.id.number().into(), at)).collect();
                flow.written += world.hosts[flow.from].write(flow.id, &bytes).unwrap() as u64;
                if flow.written == flow.total {
                    flow.finished = true;
                    if !flow.declared {
                        world.hosts[flow.from].finish(flow.id);
                    }
                }
            }
            let Some(id) = flow.incoming.filter(|_| world.dice.percent(slow)) else { continue };
            let most = world.dice.below(buf.len() as u64) as usize + 1;
            match world.hosts[1 - flow.from].read(id, &mut buf[..most]) {
                Read::Bytes(n) => {
                    for (i, &byte) in buf[..n].iter().enumerate() {
                        assert_eq!(byte, pattern(flow.id.number().into(), flow.read + i as u64));
                    }
                    flow.read += n as u64;
                    assert!(flow.read <= flow.written);
                }
                Read::Nothing => {}
                Read::End => {
                    assert_eq!(flow.read, flow.total);
                    flow.ended = true;
                }
                Read::Broken => panic!("nobody has given it up"),
            }
        }
        for (i, host) in world.hosts.iter().enumerate() {
            let out = flows.iter().filter(|f| f.from == i).count() as u64;
            let most = out * (buffer + 6 * 16_384) + (flows.len() as u64 - out) * (2 * buffer + 6 * 16_384);
            assert!(host.memory().get() <= most);
            for flow in flows.iter().filter(|f| f.from == i) {
                let state = host.outgoing(flow.id).unwrap();
                assert!(state.accepted == flow.written && state.accepted - state.acknowledged <= buffer);
                assert!(!state.given_up && (!state.complete || state.acknowledged == flow.total));
            }
        }
        world.step();
    }
    for flow in &flows {
        world.hosts[1 - flow.from].close(flow.incoming.unwrap());
        world.hosts[flow.from].abandon(flow.id);
    }
    world.settle(10_000);
    for host in &world.hosts {
        assert_eq!((host.backlog(), host.deadline(), host.memory()), (vec![], None, Bytes::new(0)));
        assert_eq!((host.counters().streams_given_up, host.counters().streams_broken), (0, 0));
    }
    let delivered: u64 = world.hosts.iter().map(|h| h.counters().streams_delivered).sum();
    assert_eq!(delivered, totals.len() as u64);
    let received: u64 = world.hosts.iter().map(|h| h.counters().bytes_received).sum();
    assert_eq!(received, totals.iter().map(|t| t.0).sum::<u64>());
    world
}

#[test]
fn without_trouble_nothing_is_sent_twice() {
    let totals =
        [(300_000, true, true), (200_000, false, true), (0, true, true), (0, false, false), (1462, true, false)];
    let world = transfer(1 << 20, &totals, 100, Trouble::default(), 3);
    for host in &world.hosts {
        let c = host.counters();
        assert_eq!((c.frames_resent, c.frames_duplicate, c.frames_malformed, c.frames_beyond), (0, 0, 0, 0));
    }
    assert_eq!(world.hosts[0].counters().bytes_sent, 500_000);
}

#[test]
fn little_is_sent_twice_beside_what_was_lost() {
    let world = transfer(1 << 20, &[(4_000_000, true, true)], 100, Trouble { loss: 10, ..Trouble::default() }, 8);
    let [sent, came] = world.hosts.each_ref().map(|h| *h.counters());
    // A tenth of the frames are lost, and what a lost report asks for is asked for again.
    assert!(sent.frames_resent > 200 && came.frames_duplicate * 50 < sent.frames_sent, "{sent:?} {came:?}");
    assert!(came.reports_sent * 2 < sent.frames_sent, "{came:?}");
}

#[test]
fn what_the_gate_refuses_is_not_counted_as_sent() {
    let trouble = Trouble { refusal: 50, ..Trouble::default() };
    let world = transfer(1 << 20, &[(400_000, true, true), (300_000, false, true)], 100, trouble, 5);
    let c = world.hosts[0].counters();
    assert!(c.frames_refused > 50, "{c:?}");
    assert_eq!((c.bytes_sent, c.frames_resent), (700_000, 0));
}

#[test]
fn packets_keep_their_order_and_streams_take_turns_with_them() {
    let mut world = World::new(1 << 20, Trouble { refusal: 40, ..Trouble::default() }, 11);
    world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, None).unwrap();
    let packet = |n: u32| [&n.to_be_bytes()[..], &vec![n as u8; (n * 37 % 1400) as usize]].concat();
    let mut pushed = 0;
    for _ in 0..200 {
        world.hosts[0].write(id, &[5; 6_000]).unwrap();
        for _ in 0..2 {
            if world.hosts[0].push_packet(B, &packet(pushed)) {
                pushed += 1;
            }
        }
        world.step();
    }
    let early = world.packets[1].len();
    assert!(early > 20 && world.hosts[0].counters().bytes_sent > 100_000, "{early} packets");
    world.hosts[0].abandon(id);
    world.settle(10_000);
    assert!(world.packets[1].iter().cloned().eq((0..pushed).map(packet)));
    assert_eq!(world.hosts[0].counters().packets_sent, u64::from(pushed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_accepted_byte_comes_out_once_and_in_order(
        buffer in 8_000u64..200_000,
        totals in proptest::collection::vec((prop_oneof![0u64..3, 0u64..5_000, 0u64..300_000], any::<bool>(), any::<bool>()), 1..6),
        slow in prop_oneof![Just(100), 2u64..100],
        loss in prop_oneof![Just(0), 0u64..40], duplication in 0u64..30, truncation in 0u64..10,
        jitter_us in prop_oneof![Just(0), 0u64..3_000], refusal in 0u64..60, (seed, sealed) in any::<(u64, bool)>(),
    ) {
        let trouble = Trouble { loss, duplication, truncation, jitter_us, refusal };
        transfer_in(World::of(buffer, trouble, seed, sealed), buffer, &totals, slow);
    }
}

/// An interface's MTU changes while frames wait: those that it refused come again, cut to fit.
#[test]
fn frames_that_no_longer_fit_are_cut_again() {
    let mut world = World::new(100_000, Trouble::default(), 3);
    let listener = world.hosts[1].listen(0).unwrap();
    let id = world.hosts[0].open(B, 0, Some(60_000)).unwrap();
    let bytes: Vec<u8> = (0..60_000).map(|at| pattern(1, at)).collect();
    world.hosts[0].write(id, &bytes).unwrap();
    let mut refused = Vec::new();
    for _ in 0..10 {
        let mut frame = Vec::new();
        let sent = world.hosts[0].next_frame(world.now, B, 7, FULL, &mut frame).unwrap();
        assert_eq!(frame.len(), 1514);
        refused.push((sent, frame));
    }
    assert!(world.hosts[0].push_packet(B, &[1; 1400]) && world.hosts[0].push_packet(B, &[2; 500]));
    world.hosts[0].set_mtu(1400);
    for (sent, frame) in refused.into_iter().rev() {
        world.hosts[0].unsent(sent, &frame);
    }
    // Packets cannot be cut: the longer one is dropped and counted.
    assert_eq!(world.hosts[0].counters().packets_dropped, 1);
    world.most = 1400 + 14;
    world.settle(20_000);
    let taken = world.hosts[1].accept(listener).unwrap();
    assert_eq!(read_all(&mut world.hosts[1], taken), (bytes, Read::End));
    assert_eq!((world.too_long, world.packets[1].len()), (0, 1));
}

/// The network drops long frames without a word, as where the receiver's MTU is lower.
#[test]
fn a_stream_gets_on_by_shorter_frames_where_long_ones_do_not_arrive() {
    let mut world = World::new(100_000, Trouble::default(), 3);
    (world.most, world.roomy) = (1400 + 14, true);
    let listener = world.hosts[1].listen(0).unwrap();
    let bytes: Vec<u8> = (0..60_000).map(|at| pattern(1, at)).collect();
    let whole = |world: &mut World| {
        let id = world.hosts[0].open(B, 0, Some(60_000)).unwrap();
        world.hosts[0].write(id, &bytes).unwrap();
        world.settle(200_000);
        let taken = world.hosts[1].accept(listener).unwrap();
        assert_eq!(read_all(&mut world.hosts[1], taken), (bytes.clone(), Read::End));
        world.hosts[1].close(taken);
        world.hosts[0].abandon(id);
        world.settle(200_000);
    };
    whole(&mut world);
    assert!(world.hosts[0].counters().streams_shortened > 0);
    // Frames are long again once the network carries them.
    world.most = 1514;
    world.now += Duration::from_secs(70);
    let before = (world.hosts[0].counters().frames_sent, world.hosts[0].counters().streams_shortened);
    whole(&mut world);
    let c = world.hosts[0].counters();
    assert_eq!((c.frames_sent - before.0, c.streams_shortened - before.1), (60_000u64.div_ceil(1462), 0));
}
