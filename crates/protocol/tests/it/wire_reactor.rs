//! Tests of REACToR's schedule and heartbeat, and of class names: bytes, and the rules of
//! schedules.

use timeplane_model::{Duration, HostId, Rate, Round, Time};
use timeplane_protocol::wire::{
    Circuit, ClassNames, Configuration, Control, EncodeError, EpsShare, Heartbeat, HostPeriod, PeriodSchedule,
    PfcClass, Reassembler, ScheduleFault, Via, WireError,
};

fn class(number: u16) -> PfcClass {
    PfcClass::new(number).unwrap()
}

fn circuit(destination: u32, number: u16) -> Option<Circuit> {
    Some(Circuit { via: Via::Circuit, destination: HostId(destination), class: class(number), rate: Rate::gbps(9) })
}

fn up(us: i64, circuit: Option<Circuit>) -> Configuration {
    Configuration { duration: Duration::from_us(us), retunes: true, circuit }
}

fn share(destination: u32, number: u16, mbps: u64) -> EpsShare {
    EpsShare { destination: HostId(destination), class: class(number), rate: Rate::mbps(mbps) }
}

/// A period of the prototype: 1.5 ms, 30 us dark, 10 Gb/s of circuits and 1 Gb/s of packets.
fn period(configurations: Vec<Configuration>, eps: Vec<EpsShare>) -> HostPeriod {
    HostPeriod {
        epoch: 1,
        period: 2,
        planned: Time::from_ps(3),
        length: Duration::from_us(1500),
        dark: Duration::from_us(30),
        eps_rate: Rate::gbps(1),
        eps_class: (class(7), Rate::mbps(100)),
        others: Rate::mbps(100),
        configurations,
        eps,
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|p| u8::from_str_radix(core::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
}

#[test]
fn a_schedule_is_as_documented() {
    let local = circuit(2, 1).map(|c| Circuit { via: Via::RackLocal, rate: Rate::gbps(10), ..c });
    let configurations =
        vec![Configuration { retunes: false, ..up(200, circuit(1, 0)) }, up(100, None), up(160, local)];
    let schedule = PeriodSchedule::new(period(configurations, vec![share(3, 2, 96)])).unwrap();
    // 1.5 ms, 30 us, 200 us, 100 us, 160 us in picoseconds; 1 Gb/s, 100 Mb/s, 9 Gb/s, 10 Gb/s, 96
    // Mb/s.
    let golden = bytes(
        "01 04 8000 00000001 0000000000000002 0000000000000003
         00000000 59682f00 00000000 01c9c380
         00003b9aca00 000005f5e100 0007 000005f5e100 0003
         80000001 8000 00000bebc200 000218711a00
         00000000 0000 000005f5e100 000000000000
         40000002 0001 000009896800 0002540be400
         00000003 0002 000005b8d800",
    );
    let control = Control::Schedule(schedule.clone());
    assert_eq!(control.encode(), Ok(vec![golden.clone()]));
    assert_eq!(Reassembler::default().push(&golden), Ok(Some(control)));
    let us = |us| Duration::from_us(us);
    let times: Vec<_> = schedule.timed().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(times, [(us(0), us(200)), (us(230), us(330)), (us(360), us(520))]);
}

#[test]
fn a_heartbeat_is_a_header() {
    let heartbeat = Control::Heartbeat(Heartbeat { epoch: 1, period: 2, sent_at: Time::from_ps(3) });
    let golden = bytes("01 05 8000 00000001 0000000000000002 0000000000000003");
    assert_eq!(heartbeat.encode(), Ok(vec![golden.clone()]));
    assert_eq!(heartbeat.wire_bytes(), Ok(90));
    assert_eq!(Reassembler::default().push(&golden), Ok(Some(heartbeat)));
    let longer = [&golden[..], &[0]].concat();
    assert_eq!(Reassembler::default().push(&longer), Err(WireError::Surplus { bytes: 1 }));
}

#[test]
fn a_period_is_two_packets_up_to_75_configurations() {
    let packets = |configurations: usize, shares: u32| {
        let each = Duration::from_us(1500) / configurations as i64;
        let one = Configuration { duration: each, retunes: false, circuit: circuit(0, 0) };
        let eps = (1..=shares).map(|d| share(d, d as u16 + 7, 1)).collect();
        let schedule = PeriodSchedule::new(period(vec![one; configurations], eps)).unwrap();
        Control::Schedule(schedule).encode().unwrap().len()
    };
    assert_eq!([packets(75, 5), packets(75, 6), packets(21, 86), packets(21, 87)], [1, 2, 1, 2]);
}

#[test]
fn a_schedule_keeps_the_class_constraints() {
    use ScheduleFault::*;
    let new = |configurations, eps| PeriodSchedule::new(period(configurations, eps)).map(|_| ());
    let host = HostId;
    // Exactly full: seven times 30 + 184.285714 us; a picosecond more is too much.
    let full = |ps: i64| {
        let one = Configuration { duration: Duration::from_ps(184_285_714), ..up(0, circuit(1, 0)) };
        let mut all = vec![one; 7];
        all[0].duration = Duration::from_ps(184_285_716 + ps);
        all
    };
    assert_eq!(new(full(0), vec![]), Ok(()));
    let (needed, length) = (Duration::from_ps(1_500_000_001), Duration::from_us(1500));
    assert_eq!(new(full(1), vec![]), Err(Overfull { needed, length }));
    assert_eq!(new(vec![up(0, None)], vec![]), Err(Span { what: "a configuration", span: Duration::ZERO }));
    let still = circuit(1, 0).map(|c| Circuit { rate: Rate::ZERO, ..c });
    assert_eq!(new(vec![up(9, None), up(9, still)], vec![]), Err(NoRate { index: 1 }));
    // One destination twice is valid. One class for two destinations, two classes for one, and the
    // class of the packet network are not.
    assert_eq!(new(vec![up(9, circuit(1, 0)), up(9, circuit(2, 1)), up(9, circuit(1, 0))], vec![]), Ok(()));
    let shared = |class, destination| Err(ClassShared { class, destination });
    assert_eq!(new(vec![up(9, circuit(1, 0)), up(9, circuit(2, 0))], vec![]), shared(class(0), host(2)));
    assert_eq!(new(vec![up(9, circuit(1, 0))], vec![share(1, 1, 1)]), shared(class(1), host(1)));
    assert_eq!(new(vec![up(9, circuit(1, 7))], vec![]), shared(class(7), host(1)));
    assert_eq!(new(vec![], vec![share(1, 7, 1)]), shared(class(7), host(1)));
    // Each destination is on one network only, once, in order.
    assert_eq!(new(vec![up(9, circuit(1, 0))], vec![share(1, 0, 1)]), Err(OnBoth { destination: host(1) }));
    assert_eq!(new(vec![], vec![share(1, 0, 1), share(1, 0, 1)]), Err(OnBoth { destination: host(1) }));
    assert_eq!(new(vec![], vec![share(2, 1, 1), share(1, 0, 1)]), Err(Disordered { destination: host(1) }));
    // 100 + 100 Mb/s are assigned already.
    assert_eq!(new(vec![], vec![share(1, 0, 400), share(2, 1, 400)]), Ok(()));
    let (sum, rate) = (1_001_000_000, Rate::gbps(1));
    assert_eq!(new(vec![], vec![share(1, 0, 400), share(2, 1, 401)]), Err(EpsOverload { sum, rate }));
    for (dark, length) in [(-1, 9), (0, 0)] {
        let odd =
            HostPeriod { dark: Duration::from_us(dark), length: Duration::from_us(length), ..period(vec![], vec![]) };
        assert!(matches!(PeriodSchedule::new(odd), Err(Span { .. })));
    }
}

#[test]
fn a_schedule_from_the_wire_keeps_them_too() {
    let schedule = PeriodSchedule::new(period(vec![up(9, circuit(1, 0)), up(9, None)], vec![share(3, 2, 96)])).unwrap();
    let good = Control::Schedule(schedule).encode().unwrap().remove(0);
    // Positions count from the end of the header; the first configuration is at 38.
    let with = |at: usize, byte: u8| {
        let mut changed = good.clone();
        changed[24 + at] = byte;
        Reassembler::default().push(&changed)
    };
    assert_eq!(with(38, 0xc0), Err(WireError::Value { at: 38, what: "a circuit that is also rack-local" }));
    // Neither a circuit nor rack-local, but with a destination; idle, but with a class.
    assert_eq!(with(38, 0), Err(WireError::Reserved { at: 38 }));
    assert_eq!(with(61, 1), Err(WireError::Reserved { at: 56 }));
    assert_eq!(with(42, 0x40), Err(WireError::Reserved { at: 42 }));
    assert_eq!(with(74, 0x40), Err(WireError::Reserved { at: 74 }));
    assert_eq!(with(78, 0x40), Err(WireError::Reserved { at: 78 }));
    // Its class is now that of the packet network; more configurations than bytes.
    let (shared, destination) = (class(7), HostId(1));
    let fault = ScheduleFault::ClassShared { class: shared, destination };
    assert_eq!(with(43, 7), Err(WireError::Schedule(fault)));
    assert_eq!(with(37, 4), Err(WireError::Truncated { have: 86, need: 92 }));
    assert!(matches!(with(0, 0x80), Err(WireError::Schedule(ScheduleFault::Span { what: "a period", .. }))));
    assert_eq!(Reassembler::default().push(&good[..24 + 20]), Err(WireError::Truncated { have: 20, need: 22 }));
}

#[test]
fn a_number_that_does_not_fit_is_refused() {
    let too_fast = HostPeriod { eps_rate: Rate::bps(1 << 48), ..period(vec![], vec![]) };
    let (value, most) = (1 << 48, (1 << 48) - 1);
    let encode = |p| Control::Schedule(PeriodSchedule::new(p).unwrap()).encode();
    assert_eq!(encode(too_fast), Err(EncodeError::Range { what: "a rate", value, most }));
    let far = period(vec![up(9, circuit(1 << 30, 0))], vec![]);
    assert!(matches!(encode(far), Err(EncodeError::Range { what: "host number", .. })));
}

#[test]
fn a_host_learns_its_classes() {
    let names = vec![(class(0), HostId(1)), (class(1), HostId(3))];
    let control = Control::ClassNames(ClassNames { epoch: 1, round: Round(2), effective: Time::from_ps(3), names });
    let golden = bytes(
        "01 06 8000 00000001 0000000000000002 0000000000000003
         0000 0000 00000001
         0001 0000 00000003",
    );
    assert_eq!(control.encode(), Ok(vec![golden.clone()]));
    assert_eq!(Reassembler::default().push(&golden), Ok(Some(control)));
    let with = |at: usize, byte: u8| {
        let mut changed = golden.clone();
        changed[24 + at] = byte;
        Reassembler::default().push(&changed)
    };
    // A class of 12 bits, a nonzero reserved field, a class twice, a destination twice.
    assert_eq!(with(8, 0x08), Err(WireError::Reserved { at: 8 }));
    assert_eq!(with(11, 1), Err(WireError::Reserved { at: 11 }));
    assert_eq!(with(9, 0), Err(WireError::Disordered { at: 8 }));
    assert_eq!(with(15, 1), Err(WireError::Disordered { at: 8 }));
}
