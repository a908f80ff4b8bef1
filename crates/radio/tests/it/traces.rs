//! Tests of channels from files: their contents, and errors about invalid files.

use proptest::prelude::*;
use timeplane_model::{Bytes, Duration, Rate};
use timeplane_radio::{Angle, BeamTrace, Dbm, IperfLog, IperfRole, MatrixError, QdTrace, bundled, parse_positions};

const BEAMS: &str = "time_s,tx_deg,rx_deg,power_dbm
0,-10,0,-80
0,0,0,-70
0,-10,20,-60
0,0,20,-90
# half a second later, in another order
0.5,0,20,-50
0.5,0,0,-71
0.5,-10,20,-64
0.5,-10,0,-80
";

fn ms(t: i64) -> Duration {
    Duration::from_ms(t)
}

#[test]
fn beams_between_measurements() {
    let trace = BeamTrace::parse("b.csv", BEAMS).unwrap();
    assert_eq!(trace.sends(), [Angle::degrees(-10.0), Angle::degrees(0.0)]);
    assert_eq!(trace.listens(), [Angle::degrees(0.0), Angle::degrees(20.0)]);
    assert_eq!(trace.times(), [ms(0), ms(500)]);
    for (at, tx, rx, level) in [
        (0, 0, 0, -80.0),
        (0, 1, 1, -90.0),
        (250, 1, 1, -70.0),
        (125, 0, 1, -61.0),
        (500, 1, 1, -50.0),
        // Beyond its ends a trace is constant.
        (9_000, 1, 1, -50.0),
        (-1, 0, 1, -60.0),
    ] {
        assert_eq!(trace.level(ms(at), tx, rx), Dbm::new(level), "{at}");
    }
    // At 400 ms -63.2 and -58 dBm: the beams have changed.
    let best = |at| (trace.best(ms(at)).tx, trace.best(ms(at)).rx);
    assert_eq!((best(0), best(250), best(400)), ((0, 1), (0, 1), (1, 1)));
    assert_eq!(BeamTrace::parse("b.csv", &trace.to_csv()).unwrap(), trace);
    // Among equal pairs, the first.
    let flat = BeamTrace::new(trace.sends().to_vec(), trace.listens().to_vec(), &[Dbm::new(-50.0); 4]).unwrap();
    assert_eq!((flat.best(ms(0)).tx, flat.best(ms(0)).rx), (0, 0));
}

#[test]
fn beams_that_are_refused_say_where() {
    let with = |from: &str, to: &str| {
        let text = BEAMS.replacen(from, to, 1);
        assert_ne!(text, BEAMS);
        BeamTrace::parse("b.csv", &text).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("0,0,20,-90\n", "", "b.csv:4: no power from 0 to 20 at 0 s: every pair of beams at every time"),
        ("0.5,-10,0,-80\n", "", "b.csv:9: no power from -10 to 0 at 0.5 s: every pair of beams at every time"),
        ("0.5,-10,0,-80", "0.5,-10,20,-80", "b.csv:10: this pair of beams twice: each pair once per time"),
        ("0.5,-10,0,-80", "0.5,-20,0,-80", "b.csv:10: column `tx_deg` is `-20`: a beam of the first time"),
        ("0.5,-10,0,-80", "0.5,-10,1,-80", "b.csv:10: column `rx_deg` is `1`: a beam of the first time"),
        ("0.5,-10,0,-80", "0.5,-10,0,", "b.csv:10: column `power_dbm` is ``: dBm from -200 to 60"),
        ("0.5,-10,0,-80", "0.5,-10,0,-inf", "b.csv:10: column `power_dbm` is `-inf`: dBm from -200 to 60"),
        ("0.5,-10,0,-80", "0.5,-10,0,70", "b.csv:10: column `power_dbm` is `70`: dBm from -200 to 60"),
        ("0.5,-10,0,-80", "0.5,-10,0", "b.csv:10: 3 cells: 4, as in the header"),
        ("0,-10,0,-80", "-1,-10,0,-80", "b.csv:2: column `time_s` is `-1`: seconds from 0 to 1e6"),
        ("0,-10,0,-80", "0,-190,0,-80", "b.csv:2: column `tx_deg` is `-190`: degrees from -180 to 180"),
        // Columns of powers in other units have other names.
        (
            "power_dbm",
            "snr_db",
            "b.csv:1: the columns are `time_s,tx_deg,rx_deg,snr_db`: one of them must be `power_dbm`",
        ),
        (
            "time_s",
            "time_ms",
            "b.csv:1: the columns are `time_ms,tx_deg,rx_deg,power_dbm`: one of them must be `time_s`",
        ),
    ] {
        assert_eq!(with(from, to), message);
    }
    let error = with("power_dbm", "power_dbm,power_dbm");
    assert_eq!(error, "b.csv:1: two columns `power_dbm`: each name once");
    let late = BEAMS.replace("\n0,", "\n0.7,");
    let error = BeamTrace::parse("b.csv", &late).unwrap_err().to_string();
    assert_eq!(error, "b.csv:10: column `time_s` is `0.5`: times that never fall, with all lines of a time together");
    let mut trace = BeamTrace::parse("b.csv", BEAMS).unwrap();
    let four = [Dbm::new(-50.0); 4];
    assert_eq!(trace.push(ms(500), &four), Err(MatrixError::Order { at: ms(500) }));
    assert_eq!(trace.push(ms(501), &four[1..]), Err(MatrixError::Size { found: 3, pairs: 4 }));
    assert!(matches!(trace.push(ms(501), &[Dbm::new(f64::NEG_INFINITY); 4]), Err(MatrixError::Level { .. })));
    assert!(trace.push(ms(501), &four).is_ok());
}

#[test]
fn nists_trace() {
    let trace = QdTrace::parse("qd", bundled::NIST_RAYS).unwrap();
    assert_eq!(trace.channels().len(), 2);
    let ray = trace.between(1, 0).unwrap().steps[0][0];
    // 36.7001221 ns; -88.84 dB; 87.5534° from the x axis, level.
    assert_eq!(ray.delay, Duration::from_ps(36_700));
    assert_eq!(ray.gain.get(), -88.8405685);
    assert_eq!((ray.departure.azimuth, ray.departure.elevation), (Angle::degrees(87.5534), Angle::ZERO));
    assert!(trace.between(0, 2).is_none());
    assert_eq!(parse_positions("p", bundled::NIST_RECEIVERS).unwrap().len(), 15);
}

#[test]
fn traces_of_rays_that_are_refused_say_where() {
    let line = r#"{"TX":0,"RX":1,"PAA_TX":0,"PAA_RX":0,"Delay":[[1e-8,2e-8],3e-8],"Gain":[[-80,-90],-85],"Phase":[[0,3],0],"AODEL":[[90,80],90],"AODAZ":[[0,10],20],"AOAEL":[[90,100],90],"AOAAZ":[[180,190],200]}"#;
    let back = line.replace(r#""TX":0,"RX":1"#, r#""TX":1,"RX":0"#);
    let good = format!("{line}\n\n{back}\n");
    let trace = QdTrace::parse("q.json", &good).unwrap();
    // A step with one ray is written as a number.
    assert_eq!(trace.between(0, 1).unwrap().steps.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(trace.between(0, 1).unwrap().steps[0][1].departure.elevation, Angle::degrees(10.0));
    let with = |from: &str, to: &str| {
        let broken = back.replacen(from, to, 1);
        assert_ne!(broken, back);
        QdTrace::parse("q.json", &format!("{line}\n\n{broken}\n")).unwrap_err().to_string()
    };
    for (from, to, message) in [
        ("-90]", "5]", "q.json:3: column `Gain[0][1]` is `5`: decibels from -1000 to 0: a path never amplifies"),
        ("1e-8", "-1e-8", "q.json:3: column `Delay[0][0]` is `-0.00000001`: seconds from 0 to 1e-3"),
        ("[90,80]", "[90,181]", "q.json:3: column `AODEL[0][1]` is `181`: degrees from the zenith, 0 to 180"),
        ("[0,10]", "[0]", "q.json:3: AODAZ[0] has 1 rays: 2, as Delay has"),
        (",200]", "]", "q.json:3: AOAAZ has 1 time steps: 2, as Delay has"),
        (
            "\"TX\":1,\"RX\":0",
            "\"TX\":0,\"RX\":1",
            "q.json:3: arrays of 0 and 1 for the second time: each pair of arrays once",
        ),
    ] {
        assert_eq!(with(from, to), message);
    }
    assert!(with("\"Gain\"", "\"Loss\"").starts_with("q.json:3: column "));
    assert!(with("]}", "]").starts_with("q.json:3: column "));
    assert_eq!(
        QdTrace::parse("q.json", "\n").unwrap_err().to_string(),
        "q.json: there are no channels: at least one line"
    );
    let error = parse_positions("p.dat", "1,2,3\n\n1,2\n").unwrap_err().to_string();
    assert_eq!(error, "p.dat:3: 1,2: three numbers `x,y,z`, meters from -1e4 to 1e4");
    assert!(parse_positions("p.dat", "").is_err());
}

#[test]
fn logs_of_a_real_link() {
    for (name, text) in bundled::IPERF_LOGS {
        let log = match IperfLog::parse(name, text) {
            Err(e) => {
                assert_eq!(e.to_string(), "outside_two_persons: there are no intervals: a test that has run");
                continue;
            }
            Ok(log) => log,
        };
        // One direction for each stream.
        let roles: Vec<_> = log.streams.iter().map(|s| s.role).collect();
        assert_eq!(roles, [Some(IperfRole::Receives), Some(IperfRole::Sends)], "{name}");
        for stream in &log.streams {
            let total = stream.total.expect("a total");
            assert_eq!(stream.intervals.last().unwrap().end, total.end, "{name}");
            let sum: u64 = stream.intervals.iter().map(|i| i.transferred.get()).sum();
            // Sums of values with three digits.
            assert!((sum as f64 / total.transferred.get() as f64 - 1.0).abs() < 0.01, "{name} {sum} {total:?}");
            let mean = total.transferred.get() as f64 * 8.0 / total.end.as_secs_f64();
            assert!((mean / total.rate.as_bps() as f64 - 1.0).abs() < 0.01, "{name} {mean} {total:?}");
        }
    }
    let (name, text) = bundled::IPERF_LOGS[1];
    let log = IperfLog::parse(name, text).unwrap();
    let stream = &log.streams[0];
    assert_eq!((stream.id, stream.intervals.len()), (6, 8));
    assert_eq!(stream.intervals[0].transferred, Bytes::new(60_083_405));
    assert_eq!(stream.rate_at(ms(1_500)), Some(Rate::mbps(640)));
    assert_eq!(stream.rate_at(ms(2_000)), Some(Rate::mbps(577)));
    assert_eq!(stream.rate_at(ms(7_839)), Some(Rate::mbps(751)));
    assert_eq!(stream.rate_at(ms(7_840)), None);
    assert_eq!(stream.rate_at(ms(-1)), None);
}

#[test]
fn logs_that_are_refused_say_where() {
    let good = "Accepted connection from 10.0.0.1, port 1
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 2
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec
[  5]   1.00-2.00   sec   512 KBytes  4.19 Mbits/sec    0    1.20 MBytes
- - - - - - - - -
[  5]   0.00-2.00   sec  1.50 MBytes  6.29 Mbits/sec                  receiver
";
    let log = IperfLog::parse("l.txt", good).unwrap();
    assert_eq!((log.streams.len(), log.streams[0].role, log.streams[0].intervals.len()), (1, None, 2));
    assert_eq!(log.streams[0].intervals[1].transferred, Bytes::new(524_288));
    let with = |from: &str, to: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        IperfLog::parse("l.txt", &text).unwrap_err().to_string()
    };
    let line = "a line of iperf3, such as `[  6][RX-S]   1.00-2.00   sec  76.3 MBytes   640 Mbits/sec`";
    for (from, to, message) in [
        ("1.00-2.00", "1.50-2.00", "l.txt:5: [  5]   1.50-2.00   sec   512 KBytes  4.19 Mbits/sec    0   …: intervals that begin where the last one ended".to_owned()),
        ("0.00-1.00", "0.00-0.00", "l.txt:4: [  5]   0.00-0.00   sec  1.00 MBytes  8.39 Mbits/sec: intervals that begin where the last one ended".to_owned()),
        ("MBytes", "MWords", format!("l.txt:4: [  5]   0.00-1.00   sec  1.00 MWords  8.39 Mbits/sec: {line}")),
        ("8.39 M", "8.39 X", format!("l.txt:4: [  5]   0.00-1.00   sec  1.00 MBytes  8.39 Xbits/sec: {line}")),
        ("8.39", "-8.39", format!("l.txt:4: [  5]   0.00-1.00   sec  1.00 MBytes  -8.39 Mbits/sec: {line}")),
        ("- - -", "gibberish", format!("l.txt:6: gibberish - - - - - -: {line}")),
    ] {
        assert_eq!(with(from, to), message);
    }
}

/// Almost valid lines, joined.
fn nearly(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(words).prop_map(str::to_owned),
        1 => any::<f64>().prop_map(|x| x.to_string()),
        1 => (-20..20i32).prop_map(|x| x.to_string()),
        1 => "\\PC{0,3}",
    ];
    prop::collection::vec(word, 0..60).prop_map(|w| w.concat())
}

proptest! {
    #[test]
    fn whatever_files_hold_it_ends(text in any::<String>()) {
        let header = format!("time_s,tx_deg,rx_deg,power_dbm\n{text}");
        let errors = [
            BeamTrace::parse("f", &text).err(), BeamTrace::parse("f", &header).err(), QdTrace::parse("f", &text).err(),
            IperfLog::parse("f", &text).err(), parse_positions("f", &text).err(),
        ];
        for e in errors.into_iter().flatten() { prop_assert!(e.to_string().len() < 600, "{e}"); }
    }

    #[test]
    fn nearly_beams(text in nearly(&["0", "1", "0.5", ",", ",", ",", "\n", "\n", "-10", "-80", "#", "\"", "0,0,0,-80\n", "1,0,0,-70\n"])) {
        if let Ok(trace) = BeamTrace::parse("f", &format!("time_s,tx_deg,rx_deg,power_dbm\n{text}")) {
            for t in [0, 300, 5_000] { prop_assert!(BeamTrace::LEVELS_DBM.contains(&trace.best(ms(t)).level.get())); }
            let again = BeamTrace::parse("f", &trace.to_csv()).unwrap();
            prop_assert_eq!(again.sends(), trace.sends());
        }
    }

    #[test]
    fn nearly_rays(text in nearly(&["{", "}", "[", "]", "[[1e-8]]", ":", ",", "\"TX\":0", "\"RX\":1,", "\"Delay\":", "\"Gain\":", "\n"])) {
        let _ = QdTrace::parse("f", &text);
    }

    #[test]
    fn nearly_logs(text in nearly(&["[  5]", "[RX-S]", " 0.00-1.00 ", " 1.00-2.00 ", " sec ", "1 MBytes ", "8 Mbits/sec", "\n", " receiver", "- -"])) {
        if let Ok(log) = IperfLog::parse("f", &text) {
            prop_assert!(log.streams.iter().all(|s| !s.intervals.is_empty()));
        }
    }

    /// A written trace reads back the same, and between matrices levels stay between theirs.
    #[test]
    fn beams_come_back(
        tx in prop::collection::btree_set(-1800..=1800i32, 1..5), rx in prop::collection::btree_set(-179..=180i32, 1..5),
        times in prop::collection::btree_set(1..9_000_000_000_000_000i64, 0..6), seed in any::<u64>(), at in 0..9_000_000_000_000_000i64,
    ) {
        // -180° is 180°.
        let mut tx: Vec<Angle> = tx.into_iter().filter(|&a| a > -1800).map(|a| Angle::degrees(f64::from(a) / 10.0)).collect();
        if tx.is_empty() { tx.push(Angle::ZERO); }
        let rx: Vec<Angle> = rx.into_iter().map(|a| Angle::degrees(f64::from(a))).collect();
        let mut n = seed;
        let mut matrix = || -> Vec<Dbm> {
            (0..tx.len() * rx.len()).map(|_| {
                n = timeplane_model::mix64(n.wrapping_add(1));
                Dbm::new((n >> 11) as f64 / (1u64 << 53) as f64 * 260.0 - 200.0)
            }).collect()
        };
        let mut trace = BeamTrace::new(tx.clone(), rx.clone(), &matrix()).unwrap();
        for &t in &times { trace.push(Duration::from_ps(t), &matrix()).unwrap(); }
        prop_assert_eq!(&BeamTrace::parse("f", &trace.to_csv()).unwrap(), &trace);
        let at = Duration::from_ps(at);
        let before = trace.times().iter().copied().filter(|&t| t <= at).max().unwrap();
        let after = trace.times().iter().copied().find(|&t| t >= at).unwrap_or(before);
        for (i, j) in (0..tx.len()).flat_map(|i| (0..rx.len()).map(move |j| (i, j))) {
            let (a, b, here) = (trace.level(before, i, j), trace.level(after, i, j), trace.level(at, i, j));
            prop_assert!(here.get() >= a.get().min(b.get()) - 1e-9 && here.get() <= a.get().max(b.get()) + 1e-9);
            prop_assert!(trace.best(at).level >= here);
        }
    }
}
