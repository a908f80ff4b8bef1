//! Who is woken by what: programs that wait, and the agent's loop.
//!
//! A wake-up that changes nothing for a program costs more than a frame.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Wake, Waker};

/// A program that counts how often it is woken.
struct Program(AtomicUsize);

impl Wake for Program {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_frame_wakes_the_program_that_waits_for_it_and_no_other() {
    let (mut a, mut b) = (host(A, 1, 1 << 20), host(B, B_EPOCH, 1 << 20));
    let programs = [(); 4].map(|()| Arc::new(Program(AtomicUsize::new(0))));
    let wakers = programs.each_ref().map(|program| Waker::from(Arc::clone(program)));
    let woken = |a: &mut Streams, b: &mut Streams| {
        [a, b].into_iter().flat_map(Streams::take_woken).for_each(Waker::wake);
        programs.each_ref().map(|program| program.0.load(Relaxed))
    };
    let ports = [7, 8];
    let listeners = ports.map(|port| b.listen(port).unwrap());
    let streams = ports.map(|port| a.open(B, port, Some(100)).unwrap());
    for place in 0..2 {
        assert_eq!(a.write(streams[place], &[1; 100]), Ok(100));
        b.watch(Awaited::Offer(listeners[place]), &wakers[place]);
        a.watch(Awaited::Delivered(streams[place]), &wakers[2 + place]);
    }
    let now = Time::ZERO + Duration::from_ms(1);
    let mut frame = Vec::new();
    a.next_frame(now, B, 0, FULL, &mut frame).unwrap();
    b.received(now, &frame).unwrap();
    assert_eq!(woken(&mut a, &mut b), [1, 0, 0, 0]);

    let id = b.accept(listeners[0]).unwrap();
    assert_eq!(b.read(id, &mut [0; 200]), Read::Bytes(100));
    b.watch(Awaited::Readable(id), &wakers[0]);
    let (later, mut reports) = (now + Duration::from_ms(30), Vec::new());
    b.due(later, &mut reports);
    for report in &reports {
        a.received(later, report).unwrap();
    }
    assert!(a.outgoing(streams[0]).unwrap().complete);
    assert_eq!(woken(&mut a, &mut b), [1, 0, 1, 0]);
    // Each is woken once, also by the end of what it waits for.
    b.close(id);
    a.abandon(streams[0]);
    a.abandon(streams[1]);
    b.stop_listening(listeners[1]);
    assert_eq!(woken(&mut a, &mut b), [2, 1, 1, 1]);
    assert_eq!(woken(&mut a, &mut b), [2, 1, 1, 1]);
}

#[test]
fn acknowledged_bytes_make_room_and_do_not_end_a_stream() {
    let (mut a, mut b) = (host(A, 1, 1 << 20), host(B, B_EPOCH, 1 << 20));
    let programs = [(); 2].map(|()| Arc::new(Program(AtomicUsize::new(0))));
    let wakers = programs.each_ref().map(|program| Waker::from(Arc::clone(program)));
    b.listen(7).unwrap();
    let id = a.open(B, 7, None).unwrap();
    a.write(id, &[1; 1000]).unwrap();
    a.watch(Awaited::Room(id), &wakers[0]);
    a.watch(Awaited::Delivered(id), &wakers[1]);
    let (now, mut frame, mut reports) = (Time::ZERO + Duration::from_ms(1), Vec::new(), Vec::new());
    a.next_frame(now, B, 0, FULL, &mut frame).unwrap();
    b.received(now, &frame).unwrap();
    b.due(now + Duration::from_ms(30), &mut reports);
    for report in &reports {
        a.received(now + Duration::from_ms(30), report).unwrap();
    }
    assert_eq!(a.outgoing(id).unwrap().acknowledged, 1000);
    a.take_woken().into_iter().for_each(Waker::wake);
    assert_eq!(programs.each_ref().map(|program| program.0.load(Relaxed)), [1, 0]);
}

#[test]
fn an_earlier_deadline_needs_the_loop_and_is_no_new_backlog() {
    let (mut a, mut b) = (host(A, 1, 1 << 20), host(B, B_EPOCH, 1 << 20));
    let before = a.attention();
    let id = a.open(B, 7, None).unwrap();
    a.write(id, &[1; 1000]).unwrap();
    assert!(a.needs_loop(before) && a.has_new_backlog(before));
    let (now, mut frame) = (Time::ZERO + Duration::from_ms(1), Vec::new());
    a.next_frame(now, B, 0, FULL, &mut frame).unwrap();
    // Nobody listens: the stream waits, until its receiver asks for it again.
    b.received(now, &frame).unwrap();
    let before = b.attention();
    b.listen(7).unwrap();
    assert!(b.needs_loop(before) && !b.has_new_backlog(before));
}
