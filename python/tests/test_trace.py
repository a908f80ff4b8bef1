"""Timelines of runs, read by Perfetto's own classes."""

import subprocess
import sys

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import CounterDescriptor, Trace, TrackEvent

import timeplane as tp

BEGIN, END, COUNTER = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_COUNTER


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "timeplane", *arguments], capture_output=True, text=True, check=False)


class Timeline:
    """The slices and counters of a trace, by the names of tracks from the top down."""

    def __init__(self, path):
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        tracks, names, open_slices = {}, {}, {}
        self.slices, self.counters, self.units = {}, {}, {}
        for packet in trace.packet:
            for name in packet.interned_data.debug_annotation_names:
                names[name.iid] = name.name
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert track.uuid not in tracks
                name = track.process.process_name if track.HasField("process") else track.name
                tracks[track.uuid] = (*tracks.get(track.parent_uuid, ()), name)
                if track.HasField("counter"):
                    self.units[tracks[track.uuid]] = track.counter.unit
                continue
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            track = tracks[event.track_uuid]
            if event.type == BEGIN:
                assert track not in open_slices, "the slices of a track do not overlap"
                values = {names[a.name_iid]: a.int_value for a in event.debug_annotations}
                open_slices[track] = (packet.timestamp, event.name, values)
            elif event.type == END:
                begin, name, values = open_slices.pop(track)
                assert begin <= packet.timestamp
                known = self.slices.setdefault(track, [])
                assert not known or known[-1][1] <= begin
                known.append((begin, packet.timestamp, name, values))
            else:
                assert event.type == COUNTER
                self.counters.setdefault(track, []).append((packet.timestamp, event.counter_value))
        assert not open_slices


def transmissions(run):
    """Rows of the table of slots, as a timeline has them: sender's track, times in ns, name and
    values.
    """
    rows = run.slots.to_pandas()
    columns = ["round", "slot", "source", "destination", "start_ps", "open_ps", "granted_bytes", "sent_bytes"]
    for row in rows[columns].itertuples(index=False):
        values = {name: int(value) for name, value in zip(columns, row)}
        begin, end = values["start_ps"], values["start_ps"] + values["open_ps"]
        yield f"host {values['source']}", begin // 1000, end // 1000, f"to {values['destination']}", values


def canonical(slices):
    return sorted((track, begin, end, name, sorted(values.items())) for track, begin, end, name, values in slices)


def found(timeline, run, group):
    """Slices below a run's group of tracks; further lanes of a track have a number behind its name.
    """
    return [
        (track[2].split(" (")[0], *one)
        for track, slices in timeline.slices.items()
        if track[:2] == (f"{run.scheme_name}, seed {run.seed}", group)
        for one in slices
    ]


def traced(scenario, tmp_path, *arguments):
    results = scenario.run(results=str(tmp_path))
    path = tmp_path / "out.perfetto-trace"
    done = command("trace", str(tmp_path / scenario.name), "--output", str(path), *arguments)
    assert done.returncode == 0, done.stderr
    return results, Timeline(path), done.stderr


def test_every_slot_is_in_the_timeline_with_its_times(make, tmp_path):
    record = tp.Record(queues_every="50 us", tcp_every="70 us")
    results, timeline, said = traced(make(record=record, workload=tp.Shuffle(bytes="1 MB")), tmp_path)
    run = next(r for r in results.runs if r.scheme_name == "slots" and r.seed == 1)
    expected = list(transmissions(run))
    assert len(expected) > 30
    assert canonical(found(timeline, run, "slots")) == canonical(expected)
    assert f"{len(expected):,} slots" in said

    # The schedule has each slot once, and guards between them.
    schedule = timeline.slices[("slots, seed 1", "schedule")]
    slots = run.slots.to_pandas().drop_duplicates(["round", "slot"]).sort_values("start_ps")
    opened = [(s[0], s[3]["round"], s[3]["slot"]) for s in schedule if s[2] != "guard"]
    assert opened == [(r.start_ps // 1000, r.round, r.slot) for r in slots.itertuples()]
    guards = [(s[0], s[1]) for s in schedule if s[2] == "guard"]
    ends = slots.start_ps + slots.open_ps
    assert guards == [(e // 1000, (e + g) // 1000) for e, g in zip(ends, slots.gap_ps) if g > 0] != []

    # Only runs of the first seed, side by side.
    assert {track[0] for track in [*timeline.slices, *timeline.counters]} == {"slots, seed 1", "cubic, seed 1"}


def test_queues_and_windows_are_counters(make, tmp_path):
    record = tp.Record(queues_every="50 us", tcp_every="70 us")
    results, timeline, _ = traced(make(record=record, workload=tp.Shuffle(bytes="300 kB")), tmp_path, "--scheme", "cubic", "--seed", "2")
    run = next(r for r in results.runs if r.scheme_name == "cubic" and r.seed == 2)
    links = run.links.to_pandas().set_index("link")
    queues = run.queues.to_pandas()
    assert len(queues) > 20
    for link, rows in queues.groupby("link"):
        name = f"link {link}, node {links.at[link, 'from']} to {links.at[link, 'to']}"
        points = timeline.counters[("cubic, seed 2", "queues", name)]
        assert points == with_zeros(rows.time_ps.tolist(), rows.queue_bytes.tolist(), 50_000_000)
    windows = run.tcp.to_pandas()
    assert len(windows) > 20
    for flow, rows in windows.groupby("flow"):
        for what, column in [("window", "window_bytes"), ("in flight", "in_flight_bytes")]:
            track = ("cubic, seed 2", "TCP", f"flow {flow} {what}")
            assert timeline.counters[track] == with_zeros(rows.time_ps.tolist(), rows[column].tolist(), 70_000_000)
            assert timeline.units[track] == CounterDescriptor.UNIT_SIZE_BYTES
        measured = rows.dropna(subset=["smoothed_rtt_ps"])
        points = [(t // 1000, int(rtt) // 1000) for t, rtt in zip(measured.time_ps, measured.smoothed_rtt_ps)]
        assert timeline.counters.get(("cubic, seed 2", "TCP", f"flow {flow} smoothed round trip"), []) == points
    assert not timeline.slices, "CUBIC has no slots"


def with_zeros(times, values, every):
    """Samples with a zero where the next one has no row."""
    points = []
    for i, (time, value) in enumerate(zip(times, values)):
        points.append((time // 1000, value))
        if i + 1 == len(times) or time + every < times[i + 1]:
            points.append(((time + every) // 1000, 0))
    return points


def test_circuits_are_slices_with_dark_times_between_them(tmp_path):
    scenario = tp.Scenario(
        name="circuits",
        fabric=tp.Fabric(topology=tp.Hybrid(tors=4, hosts_per_tor=2, packet_rate="1 Gb/s"), rate="10 Gb/s"),
        workload=tp.Shuffle(bytes="1 MB"),
        scheme={"circuits": tp.Scheme(transport=tp.Tcp(), plan=tp.Circuits())},
    )
    results, timeline, _ = traced(scenario, tmp_path)
    run = results.runs[0]
    expected = list(transmissions(run))
    assert len(expected) > 10
    assert canonical(found(timeline, run, "circuits")) == canonical(expected)
    slots = run.slots.to_pandas().drop_duplicates(["round", "slot"]).sort_values(["start_ps", "round", "slot"])
    dark, before = [], None
    for row in slots.itertuples():
        if before is not None and before[1] < row.start_ps:
            name = "dark" if before[0] == row.round else "dark or idle"
            dark.append((before[1] // 1000, row.start_ps // 1000, name))
        before = (row.round, max(row.start_ps + row.open_ps, before[1] if before else 0))
    schedule = timeline.slices[("circuits, seed 1", "schedule")]
    assert [(s[0], s[1], s[2]) for s in schedule if s[2].startswith("dark")] == dark
    assert any(name == "dark" for *_, name in dark)


def test_what_is_not_there_is_said(make, tmp_path):
    make(seeds=1).run(results=str(tmp_path))
    folder = str(tmp_path / "shuffle")
    for arguments, message in [
        (["--scheme", "cubc"], f"unknown scheme `cubc` in {folder}, did you mean `cubic`?"),
        (["--seed", "9"], f"unknown seed 9 in {folder}: expected one of 1"),
        (["--run", "0123456789abcdef"], f"unknown run `0123456789abcdef` in {folder}"),
    ]:
        done = command("trace", folder, "--output", str(tmp_path / "no"), *arguments)
        assert (done.returncode, done.stderr.splitlines()[0].removeprefix("error: ")) == (2, message)
    done = command("trace", str(tmp_path), "--output", str(tmp_path / "no"))
    assert done.returncode == 2 and "not a results folder" in done.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("point", ["1 MB", "2 MB"])
def test_a_run_is_named_by_its_key(make, tmp_path, point):
    scenario = make(seeds=1, sweep={"workload.shuffle.bytes": ["1 MB", "2 MB"]}, workload=tp.Shuffle(bytes="1 MB"))
    results = scenario.run(results=str(tmp_path))
    run = next(r for r in results.runs if r.scheme_name == "slots" and r.point["workload.shuffle.bytes"] == point)
    path = tmp_path / "one.perfetto-trace"
    done = command("trace", str(tmp_path / "shuffle"), "--output", str(path), "--run", run.key)
    assert done.returncode == 0, done.stderr
    timeline = Timeline(path)
    name = f"slots, workload.shuffle.bytes = {point}, seed 1"
    slots = [s for track, slices in timeline.slices.items() if track[:2] == (name, "slots") for s in slices]
    assert len(slots) == len(list(transmissions(run))) > 0
