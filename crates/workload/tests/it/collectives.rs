//! Tests of traces of AI training: their contents, and errors about malformed ones.

use crate::common::{MTU, fabric, file};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use timeplane_model::{Bytes, Duration};
use timeplane_scenario::{
    ChakraTrace, Collective, CollectiveAlgorithm, CollectiveAlgorithms, CollectiveSpec, SimaiWorkload, Workload,
};
use timeplane_workload::{Source, Work, WorkloadError};

fn chakra(prefix: &str) -> ChakraTrace {
    ChakraTrace {
        prefix: prefix.to_owned(),
        ranks: None,
        algorithms: CollectiveAlgorithms::default(),
        steps: 1,
        time_scale: 1.0,
        byte_scale: 1.0,
    }
}

fn simai(file: &str) -> SimaiWorkload {
    SimaiWorkload {
        file: file.to_owned(),
        across: Vec::new(),
        layers: None,
        algorithms: CollectiveAlgorithms::default(),
        steps: 1,
        time_scale: 1.0,
        byte_scale: 1.0,
    }
}

fn collective(operation: Collective, algorithm: CollectiveAlgorithm, bytes: u64) -> CollectiveSpec {
    CollectiveSpec {
        operation,
        algorithm,
        bytes: Bytes::new(bytes),
        group: None,
        stride: 1,
        steps: 1,
        compute: Duration::ZERO,
    }
}

fn load(workload: &Workload, hosts: u32) -> Result<Source, WorkloadError> {
    Source::load(workload, Path::new(env!("CARGO_TARGET_TMPDIR")), &fabric(hosts), MTU)
}

/// Times of steps that are too long are in words for people, also if they are longer than any sum
/// of times can be.
#[test]
fn steps_that_take_too_long_are_refused() {
    let ring = |bytes, steps, compute| {
        let spec = collective(Collective::AllReduce, CollectiveAlgorithm::Ring, bytes);
        Workload::Collective(CollectiveSpec { steps, compute, ..spec })
    };
    let second = Duration::from_ps(1_000_000_000_000);
    for (workload, found) in [
        (ring(1_000, 1, second * 86_400 * 30), "a step of at least 30.0 days"),
        (ring(1_000, 1_000, second * 3_600), "1000 steps of at least 3600.0 s"),
        (ring(1_000_000_000_000_000_000, 1, Duration::ZERO), "a step of more than 106 days"),
    ] {
        let message = load(&workload, 4).expect_err("it is refused").to_string();
        assert_eq!(message, format!("workload.collective.steps is {found}: less than 26 days in all"));
    }
}

/// The folder of bundled traces.
fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/collectives");
    folder.join(name).display().to_string()
}

/// Protobuf as the test encodes it.
#[derive(Clone, Debug, Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }
    fn number(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }
    fn bytes(self, field: u64, value: &[u8]) -> Self {
        let mut this = self.varint(field << 3 | 2).varint(value.len() as u64);
        this.0.extend(value);
        this
    }
    /// An int64 attribute of a node.
    fn attribute(self, name: &str, value: u64) -> Self {
        let attribute = Self::default().bytes(1, name.as_bytes()).number(9, value);
        self.bytes(10, &attribute.0)
    }
    fn text(self, name: &str, value: &str) -> Self {
        let attribute = Self::default().bytes(1, name.as_bytes()).bytes(29, value.as_bytes());
        self.bytes(10, &attribute.0)
    }
}

fn node(id: u64, name: &str, kind: u64, after: &[u64]) -> Proto {
    let node = Proto::default().number(1, id).bytes(2, name.as_bytes()).number(3, kind);
    after.iter().fold(node, |n, &a| n.number(5, a))
}
fn compute(id: u64, micros: u64, after: &[u64]) -> Proto {
    node(id, "compute", 4, after).number(7, micros)
}
fn send(id: u64, to: u64, bytes: u64, after: &[u64]) -> Proto {
    node(id, "send", 5, after).attribute("comm_dst", to).attribute("comm_size", bytes)
}
fn receive(id: u64, from: u64, bytes: u64, after: &[u64]) -> Proto {
    node(id, "receive", 6, after).attribute("comm_src", from).attribute("comm_size", bytes)
}
fn together(id: u64, kind: u64, bytes: u64, after: &[u64]) -> Proto {
    node(id, "together", 7, after).attribute("comm_type", kind).attribute("comm_size", bytes)
}

fn framed(nodes: &[Proto]) -> Vec<u8> {
    let head = Proto::default().bytes(1, b"0.0.4");
    let all = std::iter::once(&head).chain(nodes);
    all.flat_map(|n| Proto::default().varint(n.0.len() as u64).0.into_iter().chain(n.0.iter().copied())).collect()
}

/// Writes a trace, a list of nodes for each rank, under a unique name.
fn trace(ranks: &[Vec<Proto>]) -> (String, Vec<PathBuf>) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("trace-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    // An earlier process may have left more ranks of this name.
    for rank in ranks.len()..16 {
        let _ = std::fs::remove_file(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{prefix}.{rank}.et")));
    }
    let write = |(rank, nodes): (usize, &Vec<Proto>)| file(&format!("{prefix}.{rank}.et"), framed(nodes));
    let files = ranks.iter().enumerate().map(write).collect();
    (prefix, files)
}

/// The error about a trace, without the folder.
fn said(ranks: &[Vec<Proto>]) -> String {
    let (prefix, _) = trace(ranks);
    let error = load(&Workload::Chakra(chakra(&prefix)), 8).unwrap_err().to_string();
    error.replace(concat!(env!("CARGO_TARGET_TMPDIR"), "/"), "").replace(&prefix, "t")
}

/// Wire time of bytes at 10 Gb/s in full packets of 1500 B.
fn line(bytes: u64) -> i64 {
    let wire = (bytes + bytes.div_ceil(1500) * 38).max(84);
    (wire * 800) as i64
}

#[test]
fn the_ring_trace_is_a_ring() {
    let spec = Workload::Chakra(chakra(&data("chakra-ring-allreduce-8/custom_allreduce")));
    let source = load(&spec, 8).unwrap();
    let facts = source.facts();
    // 14 rounds of 8 transfers of 1 MiB / 8.
    assert_eq!((facts.flows, facts.bytes, facts.files.len()), (Some(112), Some(112 * 131_072), 8));
    let steps = source.steps().unwrap();
    for flow in source.arrivals(1) {
        assert_eq!(flow.destination.0, (flow.source.0 + 1) % 8);
    }
    // Each round takes its line time and two wires, with seven computations of 7 us between rounds.
    let round = line(131_072) + 2_000_000;
    assert_eq!(steps.bound().as_ps(), 14 * round + 7 * 7_000_000);
    // Twice as long, half as much.
    let Workload::Chakra(spec) = spec else { unreachable!() };
    let scaled = Workload::Chakra(ChakraTrace { time_scale: 2.0, byte_scale: 0.5, steps: 3, ..spec });
    let scaled = load(&scaled, 8).unwrap();
    let round = line(65_536) + 2_000_000;
    assert_eq!(scaled.steps().unwrap().bound().as_ps(), 14 * round + 7 * 14_000_000);
    assert_eq!(scaled.facts().flows, Some(336));
}

#[test]
fn collectives_of_traces_are_made_of_transfers() {
    let spec = Workload::Chakra(chakra(&data("chakra-all-to-all-16/all_to_all")));
    let source = load(&spec, 16).unwrap();
    // Direct all-to-all: a sixteenth of 1 MiB for each pair.
    assert_eq!((source.facts().flows, source.facts().bytes), (Some(240), Some(240 * 65_536)));
    assert_eq!(source.coflows(1).len(), 1);
    // Each rank receives 15 of them on one link.
    let bound = source.steps().unwrap().bound().as_ps();
    assert_eq!(bound, 15 * line(65_536));
}

#[test]
fn nodes_wait_as_the_files_say() {
    // Rank 0 computes and sends; rank 1 receives and computes; both gather, and rank 0 computes
    // again.
    let (prefix, _) = trace(&[
        vec![compute(1, 5, &[]), send(2, 1, 1_462, &[1]), together(3, 2, 1_000, &[2]), compute(4, 9, &[3])],
        vec![receive(7, 0, 1_462, &[]), compute(8, 3, &[7]), together(9, 2, 1_000, &[8])],
    ]);
    let source = load(&Workload::Chakra(chakra(&prefix)), 2).unwrap();
    let (one, each) = (line(1_462) + 2_000_000, line(1_000) + 2_000_000);
    let expected = [(5_000_000, 0), (5_000_000 + one + 3_000_000, 0), (5_000_000 + one + 3_000_000, 1)];
    let arrivals: Vec<_> = source.arrivals(0).map(|f| (f.at.as_ps(), f.source.0)).collect();
    assert_eq!(arrivals, expected);
    let steps = source.steps().unwrap();
    assert_eq!(steps.bound().as_ps(), 5_000_000 + one + 3_000_000 + each + 9_000_000);
    // The all-gather's buffer is what each rank has, twice.
    assert_eq!(steps.graph().collectives()[0].bytes, Bytes::new(2_000));
}

#[test]
fn process_groups_do_collectives_apart() {
    let one = |group: &str| vec![together(1, 0, 4_000, &[]).text("pg_name", group)];
    let (prefix, _) = trace(&[one("even"), one("odd"), one("even"), one("odd")]);
    let source = load(&Workload::Chakra(chakra(&prefix)), 4).unwrap();
    assert_eq!(source.coflows(1).len(), 2);
    for flow in source.arrivals(0) {
        assert_eq!(flow.source.0 % 2, flow.destination.0 % 2);
    }
}

#[test]
fn bad_traces_are_told_plainly() {
    let fine = || vec![compute(1, 1, &[])];
    let cases = [
        // A cycle within a rank.
        (
            vec![vec![compute(1, 1, &[2]), compute(2, 1, &[1])]],
            "t.0.et: node 2 `compute` waits for itself, by way of node 1 `compute` of rank 0: dependencies, sends and receives without a cycle",
        ),
        (
            vec![vec![compute(1, 1, &[1])]],
            "t.0.et: node 1 `compute` waits for itself: dependencies, sends and receives without a cycle",
        ),
        // Each rank waits for the other's send.
        (
            vec![vec![receive(1, 1, 9, &[]), send(2, 1, 9, &[1])], vec![receive(1, 0, 9, &[]), send(2, 0, 9, &[1])]],
            "t.0.et: node 2 `send` waits for itself, by way of node 1 `receive` of rank 1, node 2 `send` of rank 1, \
             node 1 `receive` of rank 0: dependencies, sends and receives without a cycle",
        ),
        (
            vec![vec![compute(1, 1, &[7])]],
            "t.0.et: node 1 `compute` waits for node 7, which is not there: ids of nodes of the same file",
        ),
        (
            vec![vec![send(1, 5, 9, &[])], fine()],
            "t.0.et: node 1 `send` has rank 5 as `comm_dst`, of which there is no file: another one of the ranks 0 to 1",
        ),
        (
            vec![vec![send(1, 0, 9, &[])], fine()],
            "t.0.et: node 1 `send` of rank 0 has itself as `comm_dst`: another one of the ranks 0 to 1",
        ),
        (
            vec![vec![send(1, 1, 9, &[])], fine()],
            "t.0.et: node 1 `send` sends to rank 1 with tag 0, which does not receive it: a receive for each send, in t.1.et",
        ),
        (
            vec![fine(), vec![receive(3, 0, 9, &[])]],
            "t.1.et: node 3 `receive` waits for a send of rank 0 with tag 0, which is not there: a send for each receive, in t.0.et",
        ),
        (
            vec![vec![send(1, 1, 9, &[])], vec![receive(3, 0, 8, &[])]],
            "t.1.et: node 3 `receive` receives 8 B, and node 1 `send` of rank 0 sends 9 B: the same size at both ends",
        ),
        (
            vec![vec![together(1, 0, 9, &[])], fine()],
            "t.1.et: rank 1 has 0 collectives, and rank 0 waits for it in its collective 1 there, node 1 `together`: \
             every collective at every rank of its group",
        ),
        (
            vec![vec![together(1, 0, 9, &[])], vec![together(2, 7, 9, &[])]],
            "t.1.et: node 2 `together` has `comm_type` 7 and `comm_size` 9, and rank 0 `comm_type` 0 and `comm_size` 9 in \
             node 1 `together`: the same at all ranks of a collective",
        ),
        (
            vec![vec![together(1, 3, 9, &[])]],
            "t.0.et: node 1 `together` has a `comm_type` of 3: 0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), \
             7 and 8 (reduce-scatter) or 9 (barrier)",
        ),
        (
            vec![vec![node(1, "x", 5, &[]).attribute("comm_dst", 1)], fine()],
            "t.0.et: node 1 `x` has no attribute `comm_size`: bytes, 0 to 1e15 once multiplied by `byte_scale`",
        ),
        (
            vec![vec![node(1, "x", 4, &[]).attribute("num_ops", 5)]],
            "t.0.et: node 1 `x` has `num_ops` and no `duration_micros`: how long it computes: nothing is known of the processor",
        ),
        (
            vec![vec![compute(1, 1, &[]), compute(1, 1, &[])]],
            "t.0.et: node 1 `compute` has the id of another one: an id for each node",
        ),
        (
            vec![vec![node(1, "x", 12, &[])]],
            "t.0.et: message 2: node 1 `x` is of type 12: 1 (metadata), 2 and 3 (memory), 4 (computation), 5 (send), 6 (receive) or 7 (collective)",
        ),
        (vec![vec![]], "t.0.et: there are no nodes: at least one"),
        (vec![fine(); 9], "workload.chakra.ranks is 9: 1 to 8, as each is a host of the fabric"),
    ];
    for (ranks, expected) in cases {
        assert_eq!(said(&ranks), expected);
    }
}

#[test]
fn a_missing_rank_is_named() {
    let fine = || vec![compute(1, 1, &[])];
    let (prefix, files) = trace(&[fine(), fine(), fine()]);
    std::fs::remove_file(&files[1]).unwrap();
    let error = load(&Workload::Chakra(chakra(&prefix)), 8).unwrap_err().to_string();
    assert!(
        error.ends_with(&format!(
            "{prefix}.1.et: rank 1 is missing: there is no such file: a file for each of the ranks 0 to 2"
        )),
        "{error}"
    );
    let (prefix, _) = trace(&[fine(), fine()]);
    let error = load(&Workload::Chakra(ChakraTrace { ranks: Some(4), ..chakra(&prefix) }), 8).unwrap_err().to_string();
    assert!(
        error.ends_with(&format!(
            "{prefix}.2.et: rank 2 is missing: there is no such file: a file for each of the ranks 0 to 3"
        )),
        "{error}"
    );
    let error = load(&Workload::Chakra(chakra("nothing")), 8).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "nothing.0.et: there is no such file: a file for each rank: the name, a dot, the rank and `.et`"
        ),
        "{error}"
    );
}

#[test]
fn a_file_that_is_cut_off_says_where() {
    let name = "cut-off.0.et";
    let whole = framed(&[compute(1, 1, &[])]);
    file(name, &whole[..whole.len() - 3]);
    let error = load(&Workload::Chakra(chakra("cut-off")), 8).unwrap_err().to_string();
    assert!(error.contains("cut-off.0.et: message 2, at byte 8: the file ends after 12 of its 15 bytes"), "{error}");
}

#[test]
fn the_training_step_is_mapped_to_its_groups() {
    let across = ["grad_norm", "layernorm", "embedding_norm"].map(str::to_owned).to_vec();
    let spec = SimaiWorkload { across, layers: Some(1), ..simai("gpt_13b") };
    let source = load(&Workload::Simai(spec), 64).unwrap();
    let graph = source.steps().unwrap().graph();
    // A fortieth of the gradients' and parameters' bytes: all-reduce and all-gather,
    // reduce-scatter, embedding.
    let of_data = |bytes: Bytes| [81_215_488, 162_430_976, 8_192_000].contains(&bytes.get());
    let count = graph.collectives().iter().filter(|c| of_data(c.bytes) && c.ranks == 8).count();
    assert_eq!(count, 4 * 8);
    for node in graph.nodes() {
        let (Some(collective), Work::Transfer { source, destination, .. }) = (node.collective, node.work) else {
            continue;
        };
        let across = of_data(graph.collectives()[collective as usize].bytes);
        let same = if across { source.0 % 8 == destination.0 % 8 } else { source.0 / 8 == destination.0 / 8 };
        assert!(same, "{node:?}");
    }
    // All layers: 40 of attention and 40 of MLP, forward and backward, plus embedding and loss.
    let whole = load(&Workload::Simai(simai("gpt_13b")), 64).unwrap();
    let graph = whole.steps().unwrap().graph();
    let reduces = graph.collectives().iter().filter(|c| c.bytes == Bytes::new(20_971_520)).count();
    assert!((160 * 8..170 * 8).contains(&reduces), "{reduces}");
    let llama = load(&Workload::Simai(simai("llama_7b")), 8).unwrap();
    assert!(!llama.coflows(1).is_empty());
}

const GOOD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1\n2\n\
                    a -1 1000 ALLREDUCE 4000 2000 ALLREDUCE 4000 3000 ALLREDUCE 8000 4000\n\
                    b -1 5000 NONE 0 0 NONE 0 0 NONE 0 0\n";

#[test]
fn a_layer_takes_its_passes_in_order() {
    file("good.txt", GOOD);
    let source = load(&Workload::Simai(simai("good.txt")), 4).unwrap();
    let steps = source.steps().unwrap();
    // Two ranks send half of the buffer each way, twice; the two data ranks do the same with 8000
    // B.
    let (tensor, data) = (2 * (line(2_000) + 2_000_000), 2 * (line(4_000) + 2_000_000));
    let forward = 1_000_000 + tensor + 5_000_000;
    let weight = forward + 3_000_000;
    let end = (weight + 2_000_000 + tensor).max(weight + data + 4_000_000);
    assert_eq!(steps.bound().as_ps(), end);
    assert_eq!(source.coflows(1).len(), 2 * 3);
}

#[test]
fn bad_training_workloads_are_told_plainly() {
    let cases = [
        ("a -1 1000", "a -1 x", ":3: column `forward compute` is `x`: a whole number, 0 or more"),
        (
            "NONE 0 0\n",
            "NONE 0\n",
            ":4: 11 columns: 12: name, dependency, forward compute, forward collective, forward bytes",
        ),
        ("1000 ALLREDUCE", "1000 SCATTER", ":3: column `forward collective` is `SCATTER`: `NONE`, `ALLREDUCE`"),
        ("1000 ALLREDUCE", "1000 NONE_EP", ":3: column `forward collective` is `NONE_EP`"),
        ("\n2\n", "\n3\n", ": the file has 2 layers, and line 2 says 3: as many as it says, at least 1"),
        ("\n2\n", "\ntwo\n", ":2: found `two`: the number of layers"),
        ("pp: 1", "pp: 4", ":1: `pp` is 4: 1: layers of several stages"),
        ("group: 2", "group: 0", ":1: `model_parallel_NPU_group` is 0: 1 to 65536"),
        (
            "group: 2",
            "group: 3",
            ":1: a tensor-parallel size of 3 and an expert-parallel size of 1: sizes whose product, 3, divides the number of hosts, 4",
        ),
        ("model_parallel_NPU_group: 2 ", "", ":1: `model_parallel_NPU_group` is missing: 1 to 65536"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            "DATA",
            ":1: the way of parallelism is `DATA`: `HYBRID_TRANSFORMER_FWD_IN_BCKWD`",
        ),
        ("5000 NONE", "99999999999999999 NONE", ": layer `b` computes for 99999999999999999 ns: at most 26 days"),
    ];
    for (i, (old, new, expected)) in cases.into_iter().enumerate() {
        assert!(GOOD.contains(old), "{old}");
        let name = format!("bad-{i}.txt");
        file(&name, GOOD.replacen(old, new, 1));
        let error = load(&Workload::Simai(simai(&name)), 4).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}{expected}")), "{error}");
    }
    let unknown = SimaiWorkload { across: vec!["c".to_owned()], ..simai("good-too.txt") };
    file("good-too.txt", GOOD);
    let error = load(&Workload::Simai(unknown), 4).unwrap_err().to_string();
    assert!(
        error.starts_with("workload.simai.across is c: names of layers of ") && error.ends_with("good-too.txt: a, b"),
        "{error}"
    );
}

#[test]
fn bytes_and_bounds_of_generators_are_the_closed_formulas() {
    let bytes = 8_000_000u64;
    let source =
        |operation, algorithm| load(&Workload::Collective(collective(operation, algorithm, bytes)), 8).unwrap();
    use CollectiveAlgorithm::{Direct, HalvingDoubling, Ring};
    for algorithm in [Ring, HalvingDoubling, Direct] {
        for (operation, sevenths) in
            [(Collective::AllReduce, 2), (Collective::AllGather, 1), (Collective::ReduceScatter, 1)]
        {
            let source = source(operation, algorithm);
            let mut sent = [0; 8];
            source.arrivals(0).for_each(|f| sent[f.source.index()] += f.bytes.get());
            assert_eq!(sent, [sevenths * 7 * bytes / 8; 8], "{operation:?} {algorithm:?}");
        }
    }
    let bound = |algorithm| source(Collective::AllReduce, algorithm).steps().unwrap().bound().as_ps();
    let way = 2_000_000;
    assert_eq!(bound(Ring), 14 * (line(1_000_000) + way));
    let halves: i64 = [4, 2, 1].map(|n| line(n * 1_000_000) + way).iter().sum();
    assert_eq!(bound(HalvingDoubling), 2 * halves);
    // Groups of two ranks that are four apart.
    let spec = CollectiveSpec { group: Some(2), stride: 4, ..collective(Collective::AllReduce, Ring, bytes) };
    let pairs = load(&Workload::Collective(spec), 8).unwrap();
    assert!(pairs.arrivals(0).all(|f| f.source.0.abs_diff(f.destination.0) == 4));
    assert_eq!(pairs.coflows(1).len(), 4);
}

#[test]
fn groups_that_do_not_fit_are_refused() {
    let error = |spec: CollectiveSpec| load(&Workload::Collective(spec), 8).unwrap_err().to_string();
    let ring = collective(Collective::AllReduce, CollectiveAlgorithm::Ring, 100);
    let three = CollectiveSpec { group: Some(3), ..ring.clone() };
    assert!(
        error(three).starts_with("workload.collective.group is 3: at least 2 ranks, which times the stride, 1, divide")
    );
    let halving = CollectiveSpec { algorithm: CollectiveAlgorithm::HalvingDoubling, ..ring.clone() };
    let of_six = Source::load(&Workload::Collective(halving), Path::new("."), &fabric(6), MTU).unwrap_err().to_string();
    assert!(
        of_six.starts_with("workload.collective.algorithm is for 6 ranks: `halving_doubling` is for a power of two"),
        "{of_six}"
    );
    // Less than a byte for each rank: ranks with nothing to send skip it, and the collective ends.
    let few = load(&Workload::Collective(CollectiveSpec { bytes: Bytes::new(3), ..ring }), 8).unwrap();
    assert_eq!(few.facts().bytes, Some(3 * 14));
}

/// Any trace either loads or fails with an error of one line.
fn try_trace(contents: &[Vec<u8>]) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let prefix = format!("mangled-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    for rank in contents.len()..8 {
        let _ = std::fs::remove_file(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{prefix}.{rank}.et")));
    }
    let paths: Vec<PathBuf> = contents.iter().enumerate().map(|(r, c)| file(&format!("{prefix}.{r}.et"), c)).collect();
    match load(&Workload::Chakra(chakra(&prefix)), 8) {
        Ok(source) => ordered(&source),
        Err(e) => assert!(e.to_string().len() < 1_500, "{e}"),
    }
    paths.iter().for_each(|p| std::fs::remove_file(p).unwrap());
}

/// Flows are ordered by the earliest times at which they can start.
fn ordered(source: &Source) {
    let arrivals: Vec<_> = source.arrivals(1).take(10_000).collect();
    assert!(arrivals.is_sorted_by_key(|f| f.at));
    assert!(arrivals.iter().all(|f| f.source != f.destination && f.bytes > Bytes::ZERO));
}

/// Nodes that may belong together, or not.
fn any_node() -> impl Strategy<Value = Proto> {
    let id = 0u64..6;
    (id, 0u64..9, prop::collection::vec(0u64..6, 0..3), 0u64..4, 0u64..3, 0u64..11).prop_map(
        |(id, kind, after, other, size, what)| {
            let size = [0, 700, u64::MAX][size as usize];
            let node = node(id, "any", kind, &after).number(7, size);
            let node = if what < 9 { node.attribute("comm_size", size) } else { node };
            node.attribute("comm_dst", other).attribute("comm_src", other).attribute("comm_type", what)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_are_too_bad(contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4)) {
        try_trace(&contents);
    }

    #[test]
    fn no_nodes_are_too_bad(ranks in prop::collection::vec(prop::collection::vec(any_node(), 0..7), 1..5)) {
        let contents: Vec<Vec<u8>> = ranks.iter().map(|nodes| framed(nodes)).collect();
        try_trace(&contents);
    }

    #[test]
    fn no_change_of_a_good_trace_is_too_bad(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut good = framed(&[compute(1, 5, &[]), send(2, 1, 1_462, &[1]), together(3, 2, 1_000, &[2])]);
        let place = place.index(good.len());
        if cut { good.truncate(place) } else { good[place] = byte }
        try_trace(&[good, framed(&[receive(7, 0, 1_462, &[]), together(9, 2, 1_000, &[7])])]);
    }

    #[test]
    fn no_training_workload_is_too_bad(place in any::<prop::sample::Index>(), text in "[ -~\n\t]{0,12}", scale in 1e-9..1e9f64) {
        let place = place.index(GOOD.len());
        let end = (place + text.len() / 2).min(GOOD.len());
        let mangled = format!("{}{text}{}", &GOOD[..place], &GOOD[end..]);
        let name = format!("mangled-{}.txt", place);
        file(&name, mangled);
        let spec = SimaiWorkload { time_scale: scale, byte_scale: scale, layers: Some(1), ..simai(&name) };
        match load(&Workload::Simai(spec), 4) {
            Ok(source) => ordered(&source),
            Err(e) => prop_assert!(e.to_string().len() < 1_500, "{e}"),
        }
    }

    /// Bounds hold by construction: a graph's transfers fit between its start and its bound.
    #[test]
    fn no_transfer_can_begin_after_the_bound(n in 2u32..9, bytes in 1u64..1_000_000, steps in 1u32..4, kind in 0usize..5, how in 0usize..4) {
        let operation = [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll, Collective::Broadcast][kind];
        let algorithm = [CollectiveAlgorithm::Ring, CollectiveAlgorithm::HalvingDoubling, CollectiveAlgorithm::Tree, CollectiveAlgorithm::Direct][how];
        let spec = CollectiveSpec { steps, ..collective(operation, algorithm, bytes) };
        let Ok(source) = load(&Workload::Collective(spec), n) else { return Ok(()) };
        ordered(&source);
        let end = source.steps().unwrap().bound() * i64::from(steps);
        prop_assert!(source.arrivals(0).all(|f| f.at < end));
    }
}
