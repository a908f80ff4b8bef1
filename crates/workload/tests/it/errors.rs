//! Tests that messages name the file, the line, what was found and what is allowed.

use crate::common::{MTU, fabric, file, load, poisson, trace};
use std::path::Path;
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::{CoflowTrace, FlowList, PacketMix, Pattern, Poisson, Shuffle, Sizes, Workload};
use timeplane_workload::Source;

/// The message without the folder of the tests.
fn message(workload: &Workload) -> String {
    let error = load(workload, 4).map(|s| s.facts().clone()).unwrap_err().to_string();
    error.replace(&format!("{}/", env!("CARGO_TARGET_TMPDIR")), "")
}

#[track_caller]
fn check(workload: Workload, expected: &str) {
    assert_eq!(message(&workload), expected);
}

fn sizes(sizes: Sizes) -> Workload {
    poisson(0.5, Pattern::Uniform, sizes, PacketMix::Mtu)
}

fn pattern(pattern: Pattern) -> Workload {
    poisson(0.5, pattern, Sizes::Fixed(Bytes::kb(1)), PacketMix::Mtu)
}

#[test]
fn values() {
    for load in [0.0, -0.5, f64::NAN, f64::INFINITY, 50.0] {
        let p = Poisson { load, pattern: Pattern::Uniform, sizes: Sizes::Fixed(Bytes::kb(1)), packets: PacketMix::Mtu };
        check(
            Workload::Poisson(p),
            &format!("workload.poisson.load is {load}: above 0 and at most 10 (1 fills a link)"),
        );
    }
    let itself = "no multiple of 4, the number of hosts, as every host would send to itself";
    check(pattern(Pattern::Stride { by: 0 }), &format!("workload.poisson.pattern.stride.by is 0: {itself}"));
    check(pattern(Pattern::Stride { by: 8 }), &format!("workload.poisson.pattern.stride.by is 8: {itself}"));
    check(pattern(Pattern::Incast { receiver: 4 }), "workload.poisson.pattern.incast.receiver is 4: a host, 0 to 3");
    check(sizes(Sizes::Fixed(Bytes::ZERO)), "workload.poisson.sizes.fixed is 0 B: from 1 B to 1 PB");
    check(
        Workload::Shuffle(Shuffle { bytes: Bytes::kb(1), jitter: Duration::from_us(-1), in_turn: false }),
        "workload.shuffle.jitter is -1 us: 0 or more, at most 26 days",
    );
    check(
        Workload::Coflows(CoflowTrace { byte_scale: 0.0, ..trace("fb2010") }),
        "workload.coflows.byte_scale is 0: above 0, at most 1e9",
    );
    let petabyte = Bytes::new(1_000_000_000_000_000);
    let months = Workload::Shuffle(Shuffle { bytes: petabyte, jitter: Duration::ZERO, in_turn: false });
    assert!(load(&months, 4).is_ok(), "28 days");
    assert_eq!(
        load(&months, 8).unwrap_err().to_string(),
        "workload is 7000 TB over a host's link of 10 Gb/s, which takes 65 days: at most 30 days of traffic over a link"
    );
    let tiny = Source::load(&pattern(Pattern::Uniform), Path::new("."), &fabric(4), Bytes::new(28)).unwrap_err();
    assert_eq!(
        tiny.to_string(),
        "fabric.mtu is 28 B: the MTU must leave room beside 28 B of headers, and be at most 1 MB"
    );
    assert!(Source::load(&pattern(Pattern::Uniform), Path::new("."), &fabric(4), MTU).is_ok());
}

#[test]
fn files_that_are_not_there() {
    check(
        sizes(Sizes::Cdf("websaerch".into())),
        "workload.poisson.sizes.cdf: there is no file websaerch and no bundled one named `websaerch` (is `websearch` meant?); \
         bundled: websearch, datamining, fb_hadoop",
    );
    check(
        sizes(Sizes::Cdf("nothing/like/it.csv".into())),
        "workload.poisson.sizes.cdf: there is no file nothing/like/it.csv and no bundled one named `nothing/like/it.csv`; \
         bundled: websearch, datamining, fb_hadoop",
    );
    check(
        pattern(Pattern::Matrix { file: "Projektor".into(), more_racks: None }),
        "workload.poisson.pattern.matrix.file: there is no file Projektor and no bundled one named `Projektor` (is `projector` meant?); \
         bundled: projector",
    );
    let missing = message(&Workload::Flows(FlowList { file: "missing.csv".into() }));
    assert!(missing.starts_with("cannot read missing.csv: "), "{missing}");
}

#[test]
fn distributions() {
    for (name, content, expected) in [
        ("c1.csv", "bytes,cdf\n1,0\n5,0.5\n4,1\n", "c1.csv:4: column `bytes` is `4`: not below the line before (5)"),
        ("c2.csv", "1,0.5\n5,0.4\n", "c2.csv:2: column `cdf` is `0.4`: not below the line before (0.5)"),
        ("c3.csv", "1,0\n5,0.9\n", "c3.csv: the last cdf is 0.9: it must be 1"),
        ("c4.csv", "1,0\n5,100\n", "c4.csv:2: column `cdf` is `100`: a number from 0 to 1 (a share, not per cent)"),
        ("c5.csv", "1,0\n5;1\n", "c5.csv:2: found `5;1`: two numbers, `bytes,cdf`"),
        ("c6.csv", "-1,0\n5,1\n", "c6.csv:1: column `bytes` is `-1`: a number from 0 to 1e15"),
        ("c7.csv", "NaN,0\n5,1\n", "c7.csv:1: column `bytes` is `NaN`: a number from 0 to 1e15"),
        ("c8.csv", "\n# nothing\n", "c8.csv: there are no points: lines `bytes,cdf`, the last cdf 1"),
    ] {
        file(name, content);
        check(sizes(Sizes::Cdf(name.into())), expected);
    }
    file("c9.csv", b"1,0\n\xff\xfe,1\n");
    check(sizes(Sizes::Cdf("c9.csv".into())), "c9.csv:2: bytes that are no UTF-8 text: the file must be plain text");
}

#[test]
fn matrices() {
    let header = "the header `source,destination,weight`";
    let at_most = "at most 4, one for each host, or `more_racks`: \"fold\" puts several on a host, \"busiest\" takes those \
                   with most traffic";
    let matrix = |name: &str| Pattern::Matrix { file: name.into(), more_racks: None };
    for (name, content, expected) in [
        ("m1.csv", "", format!("m1.csv: the file is empty: {header}")),
        ("m2.csv", "0,1,1\n", format!("m2.csv:1: the column `0`: {header}")),
        ("m3.csv", "source,weight\n", format!("m3.csv:1: no column `destination`: {header}")),
        ("m4.csv", "source,destination,weight\n0,4,1\n", format!("m4.csv: 5 racks: {at_most}")),
        (
            "m9.csv",
            "source,destination,weight\n0,1x,1\n",
            "m9.csv:2: column `destination` is `1x`: a host, 0 to 3".into(),
        ),
        (
            "m5.csv",
            "source,destination,weight\n\n2,2,1\n",
            "m5.csv:3: host 2 sends to itself: weight 0, or no line".into(),
        ),
        (
            "m6.csv",
            "source,destination,weight\n0,1,-1\n",
            "m6.csv:2: column `weight` is `-1`: a number, 0 or more".into(),
        ),
        ("m7.csv", "source,destination,weight\n0,1,0\n", "m7.csv: no pair has a weight: at least one above 0".into()),
        (
            "m8.csv",
            "source,destination,weight\n0,1\n",
            "m8.csv:2: 2 cells in `0,1`: as many as the header has, 3".into(),
        ),
    ] {
        file(name, content);
        check(pattern(matrix(name)), &expected);
    }
    check(
        pattern(matrix("projector")),
        &format!("data/matrices/projector_tors_128_probabilities.txt (bundled): 128 racks: {at_most}"),
    );
}

#[test]
fn flow_lists() {
    let columns = "columns `start_ps`, `source`, `destination`, `size_bytes`, in any order; beside them `coflow`, a group's \
                   number, and `flow`, which is ignored";
    let header = "start_ps,source,destination,size_bytes";
    for (name, content, expected) in [
        ("f1.csv", String::new(), format!("f1.csv: the file is empty: {columns}")),
        ("f2.csv", format!("{header},tag\n"), format!("f2.csv:1: the column `tag`: {columns}")),
        ("f3.csv", "start_ps,source,destination\n".into(), format!("f3.csv:1: no column `size_bytes`: {columns}")),
        ("f4.csv", format!("{header},source\n"), format!("f4.csv:1: the column `source` twice: {columns}")),
        (
            "f5.csv",
            format!("{header}\n1,0,1,5\n\n2,0,4,5\n"),
            "f5.csv:4: column `destination` is `4`: a host, 0 to 3".into(),
        ),
        ("f6.csv", format!("{header}\n1,0,0,5\n"), "f6.csv:2: host 0 sends to itself: two different hosts".into()),
        (
            "f7.csv",
            format!("{header}\n1,0,1,0\n"),
            "f7.csv:2: column `size_bytes` is `0`: whole bytes, from 1 to 1e15".into(),
        ),
        (
            "f8.csv",
            format!("{header}\n-1,0,1,5\n"),
            "f8.csv:2: column `start_ps` is `-1`: whole picoseconds, from 0 to 53 days (4.6e18)".into(),
        ),
        ("f9.csv", format!("{header}\n1,0,1\n"), "f9.csv:2: 3 cells: as many as the header has, 4".into()),
        ("f10.csv", format!("{header}\n"), "f10.csv: there are no flows: at least one".into()),
        (
            "f11.csv",
            format!("{header},coflow\n1,0,1,5,x\n"),
            "f11.csv:2: column `coflow` is `x`: a whole number, or nothing".into(),
        ),
    ] {
        file(name, content);
        check(Workload::Flows(FlowList { file: name.into() }), &expected);
    }
    file("f12.parquet", "PAR1 and nothing more");
    let broken = message(&Workload::Flows(FlowList { file: "f12.parquet".into() }));
    assert!(broken.starts_with("f12.parquet: ") && broken.ends_with(": the file must be Parquet"), "{broken}");
}

#[test]
fn coflow_traces() {
    check(
        Workload::Coflows(trace("fb2010")),
        "data/coflow/fb2010.txt (bundled):1: column `mapper` is `22`: a rack, which is a host of the fabric: 0 to 3",
    );
    for (name, content, expected) in [
        ("t1.txt", "150 526\n", "t1.txt:1: 150 racks: at most 4, the number of hosts"),
        ("t2.txt", "1 0 2 1 0#1:1\n", "t2.txt:1: column `mappers` is `2`: as many as the line lists, 1"),
        ("t3.txt", "4 1\n1 0 1 0 1\n", "t3.txt:2: the line ends before the last reducer: a whole coflow"),
        ("t4.txt", "1 0 1 1 0#1\n", "t4.txt:1: column `reducer` is `1`: `rack:MB`"),
        (
            "t5.txt",
            "1 0 1 1 0#1:inf\n",
            "t5.txt:1: column `reducer` is `1:inf`: `rack:MB` with 0 to 1e9 MB, once multiplied by `byte_scale`",
        ),
        ("t6.txt", "1 -1 1 1 0#1:1\n", "t6.txt:1: column `arrival` is `-1`: milliseconds, 0 or more"),
        (
            "t7.txt",
            "1 1e12 1 1 0#1:1\n",
            "t7.txt:1: column `arrival` is `1e12`: at most 26 days, once multiplied by `time_scale`",
        ),
        (
            "t8.txt",
            "1 0 1 1 0#0:1\n",
            "t8.txt: no coflow has flows that cross the fabric: at least one that `max_flows` lets in",
        ),
        ("t9.txt", "1 0 1 1 0#1:1 2\n", "t9.txt:1: `2` after the last reducer: one coflow a line"),
        ("t10.txt", "x 0 1 1 0#1:1\n", "t10.txt:1: column `id` is `x`: a whole number"),
    ] {
        file(name, content);
        check(Workload::Coflows(trace(name)), expected);
    }
}
