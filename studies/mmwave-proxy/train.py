"""Trains the predictor of the proxy's policy `predicted`, and compares policies with a fluid model
of the access point's queue.

Traces come from the two rooms of `timeplane-radio`, with varied walks, levels and losses:

    cargo build -p timeplane-radio --example link_trace python studies/mmwave-proxy/train.py
    target/debug/examples/link_trace

writes `data/proxy/predictor.txt` (the weights) and `data/proxy/predicted.csv` (what the policy
answers on one trace, for the tests), and prints the tables of README.md. Needs numpy. Seeded;
another numpy or BLAS may give other last digits of the weights.
"""

import argparse
import csv
import itertools
import subprocess
import tempfile
from collections import deque
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LADDER = np.array([125, 250, 312.5, 375, 500, 625, 750, 812.5, 1000, 1250, 1500]) * 1e6
LAGS = [1, 2, 4, 8, 15]  # in reports, one every 10 ms
HORIZON = 15
SECONDS = 12
WIRE = 20  # ms, one way
PACKET = 8140


class Trace:
    """A link trace: rate and losses per millisecond, and reports every 10 ms of the level (with
    an error) and the rung.
    """

    def __init__(self, tool, options, rng):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "link_trace.csv"
            words = [w for k, v in options.items() for w in (f"--{k}", str(v))]
            subprocess.run([tool, *words, "--length", str(SECONDS), "--link_trace", path], check=True)
            with open(path) as file:
                rows = list(csv.DictReader(file))
        steps = SECONDS * 1000
        level, rate, lost = np.empty(steps), np.empty(steps), np.empty(steps)
        times = [round(float(r["time_s"]) * 1000) for r in rows] + [steps]
        for row, begin, end in zip(rows, times, times[1:]):
            level[begin:end] = float(row["level_dbm"])
            rate[begin:end] = float(row["rate_bps"])
            lost[begin:end] = float(row["packet_error"])
        self.options, self.rate, self.lost = options, rate, lost
        # Receivers measure with an error; reports have a resolution of 0.01 dB.
        self.level = np.round(np.clip(level[::10] + rng.normal(0, 0.1, steps // 10), -100, 0), 2)
        self.reported = rate[::10]
        self.rung = np.searchsorted(LADDER, self.reported, side="right")


def walks(rng, number):
    """Walks in both rooms with varied speeds, positions, directions, levels and depths of
    shadows.
    """
    for i in range(number):
        room = "AB"[i % 2]
        speed = rng.uniform(0.3, 1.5) if room == "A" else rng.uniform(0.06, 0.3)
        yield {
            "scene": room,
            "speed": round(speed, 3),
            "level": round(rng.uniform(-70, -62), 2),
            "along": round(rng.uniform(0.2, 0.8), 3),
            "before": round(rng.uniform(0.6, 1.5) if room == "A" else rng.uniform(0.2, 0.6), 3),
            "angle": round(rng.uniform(50, 130), 1),
            "extra": round(rng.uniform(0, 27), 1),
        }


def strangers(rng, number):
    """Walks like those of :func:`walks`, by other bodies, slower and faster than any in
    training.
    """
    for options in walks(rng, number):
        room_a = options["scene"] == "A"
        slow = rng.uniform() < 0.5
        speed = (rng.uniform(0.2, 0.3) if slow else rng.uniform(1.5, 2)) if room_a else (0.05 if slow else rng.uniform(0.3, 0.6))
        yield {
            **options,
            "speed": round(speed, 3),
            "width": round(rng.uniform(0.2, 0.6), 2),
            "height": round(rng.uniform(1.3, 2.1), 2),
        }


def features(trace):
    """The features of each report, as in `predicted.rs`. Lists end with the newest value."""
    level, rung = trace.level, trace.rung
    rows, since = [], 0
    for k in range(len(level)):
        if k and rung[k] != rung[k - 1]:
            since = k
        back = [level[k] - level[max(k - lag, 0)] for lag in LAGS]
        highest = rung[max(k - LAGS[-1], 0) : k + 1].max()
        rows.append([
            (level[k] + 75) * 0.1,
            *(b * 0.1 for b in back),
            rung[k] * 0.1,
            (highest - rung[k]) * 0.1,
            min((k - since) * 0.01, 1.0),
        ])
    return np.array(rows)


def lowest_ahead(rung):
    """The lowest rung of the next 150 ms, including the present."""
    return np.array([rung[k : k + HORIZON + 1].min() for k in range(len(rung))], dtype=float)


def train(traces, quantile, rng, hidden=(16, 8), epochs=60):
    """A network with max(0, x) between layers, by Adam on the pinball loss of a quantile."""
    x = np.concatenate([features(t) for t in traces])
    y = np.concatenate([lowest_ahead(t.rung) for t in traces])
    used = x[:, 1 + len(LAGS)] > 0
    x, y = x[used], y[used]
    # Changes are rare, so moments with one count five times.
    rung = np.rint(x[:, 1 + len(LAGS)] * 10)
    weight = np.where((rung != y) | (np.abs(x[:, len(LAGS)]) > 0.05), 5.0, 1.0)
    sizes = [x.shape[1], *hidden, 1]
    layers = [[rng.normal(0, np.sqrt(2 / a), (a, b)), np.zeros(b)] for a, b in itertools.pairwise(sizes)]
    layers[-1][1][:] = y.mean()
    moments = [[np.zeros_like(p) for p in layer] for layer in layers]
    squares = [[np.zeros_like(p) for p in layer] for layer in layers]
    step, batch = 0, 256
    for epoch in range(epochs):
        rate = 3e-3 * (1 - epoch / epochs) + 1e-5
        order = rng.permutation(len(x))
        for begin in range(0, len(x), batch):
            rows = order[begin : begin + batch]
            values = [x[rows]]
            for i, (w, b) in enumerate(layers):
                z = values[-1] @ w + b
                values.append(z if i + 1 == len(layers) else np.maximum(z, 0))
            under = y[rows, None] > values[-1]
            grad = weight[rows, None] * np.where(under, -quantile, 1 - quantile) / len(rows)
            step += 1
            for i in reversed(range(len(layers))):
                w, _ = layers[i]
                down = grad @ w.T * (values[i] > 0) if i else None
                for j, g in enumerate((values[i].T @ grad, grad.sum(0))):
                    moments[i][j] = 0.9 * moments[i][j] + 0.1 * g
                    squares[i][j] = 0.999 * squares[i][j] + 0.001 * g * g
                    m, v = moments[i][j] / (1 - 0.9**step), squares[i][j] / (1 - 0.999**step)
                    layers[i][j] -= rate * m / (np.sqrt(v) + 1e-8)
                grad = down
    return [[np.array([[float(f"{v:.6g}") for v in row] for row in w]), np.array([float(f"{v:.6g}") for v in b])]
            for w, b in layers]


def answer(layers, x):
    for i, (w, b) in enumerate(layers):
        x = x @ w + b
        if i + 1 < len(layers):
            x = np.maximum(x, 0)
    return x[:, 0]


def reactive(trace):
    return trace.reported


def proactive(trace, ttr=80, window=15, drop=2, growth=4):
    """The policy of `proactive.rs`, for reports every 10 ms: timers first, with what was known
    before, then the report.
    """
    out, mode, until, climb = [], "follow", 0, 0
    rung = trace.rung

    def falls(newest, now):
        return newest >= 0 and rung[max(now - window, 0) : newest + 1].max() - rung[newest] >= drop

    for k in range(len(rung)):
        if mode == "hold" and k >= until:
            bad = rung[k - 1] <= 1 or falls(k - 1, k)
            mode, until = ("hold", k + window) if bad else ("grow", k + growth)
            climb = 1
        elif mode == "grow" and k >= until:
            climb, until = climb + 1, k + growth
            mode = "follow" if climb >= rung[k - 1] else "grow"
        if mode != "hold" and falls(k, k):
            mode, until = "hold", k + ttr
        elif mode != "hold" and k and rung[k - 1] == 0 and rung[k] > 0:
            mode, until, climb = "grow", k + growth, 1
        most = {"follow": LADDER[-1], "hold": LADDER[0], "grow": LADDER[min(climb, len(LADDER)) - 1]}[mode]
        out.append(min(trace.reported[k], most))
    return np.array(out)


def predicted(trace, layers, boldness):
    expected = np.clip(answer(layers, features(trace)) + boldness, 1, len(LADDER)).astype(int)
    return np.minimum(trace.reported, LADDER[expected - 1])


def fluid(trace, allowed, hold, queue=1000):
    """A fluid model: sender, 20 ms of wire, queue, link, 20 ms back, in steps of a millisecond.
    Returns round trips with their weights, and delivered bytes.

    The sender has at most the window in flight and paces at the window's rate. It notices a loss
    after a round trip without queues. Reports cross the wire, too. In an outage the access point
    either keeps its queue, or continues at the slowest rate and loses all packets.
    """
    on_wire, waiting = deque([0.0] * WIRE), deque()
    room, queued, under_way, delivered = queue * PACKET, 0.0, 0.0, 0.0
    trips, weights = [], []
    acks = np.zeros(len(trace.rate) + 2 * WIRE + 1)
    for t in range(len(trace.rate)):
        told = t - WIRE
        rate = allowed[max(told, 0) // 10]
        under_way -= acks[t]
        sent = max(min(rate * 2 * WIRE * 1e-3 / 8 - under_way, rate * 1e-3 / 8), 0.0)
        under_way += sent
        on_wire.append(sent)
        arrived = on_wire.popleft()
        kept = min(arrived, room - queued)
        acks[t + 2 * WIRE] += arrived - kept
        if kept > 0:
            waiting.append([t, kept])
            queued += kept
        out = trace.rate[t] or (0.0 if hold else LADDER[0])
        budget, lost = out * 1e-3 / 8, trace.lost[t]
        while budget > 1e-9 and waiting:
            part = min(budget, waiting[0][1])
            trips.append(2 * WIRE + t - waiting[0][0])
            weights.append(part * (1 - lost))
            acks[t + WIRE] += part * (1 - lost)
            acks[t + 2 * WIRE] += part * lost
            delivered += part * (1 - lost)
            waiting[0][1] -= part
            budget -= part
            queued -= part
            if waiting[0][1] <= 1e-9:
                queued = max(queued, 0.0)
                waiting.popleft()
    return np.array(trips), np.array(weights), delivered


def score(traces, policy, hold):
    trips, weights, delivered = zip(*(fluid(t, policy(t), hold) for t in traces))
    trips, weights = np.concatenate(trips), np.concatenate(weights)
    order = np.argsort(trips, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    at = lambda p: trips[order][min(np.searchsorted(share, p), len(order) - 1)]
    goodput = sum(delivered) * 8 / (len(traces) * SECONDS) / 1e6
    return goodput, float((trips * weights).sum() / weights.sum()), at(0.5), at(0.99), at(0.99999)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", help="the example `link_trace` of timeplane-radio, built")
    parser.add_argument("--traces", type=int, default=160, help="traces to train on (default 160)")
    parser.add_argument("--held-out", type=int, default=40, help="traces to compare on (default 40)")
    parser.add_argument("--quantile", type=float, default=0.25, help="of the lowest rung ahead, that is learned (default 0.25)")
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "proxy", help="where the files go (default data/proxy)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    learned = [Trace(arguments.tool, o, rng) for o in walks(rng, arguments.traces)]
    choosing = [Trace(arguments.tool, o, rng) for o in walks(rng, arguments.held_out)]
    held_out = [Trace(arguments.tool, o, rng) for o in walks(rng, arguments.held_out)]
    strange = np.random.default_rng(2)
    others = [Trace(arguments.tool, o, strange) for o in strangers(strange, arguments.held_out)]
    layers = train(learned, arguments.quantile, rng)
    print("| traces | moments in use | pinball loss, rungs | of the rung now | falls ahead | of them seen by half a rung | false alarms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, traces in [("trained on", learned), ("held out", held_out), ("other bodies", others)]:
        x = np.concatenate([features(t) for t in traces])
        y = np.concatenate([lowest_ahead(t.rung) for t in traces])
        rung = np.concatenate([t.rung for t in traces])
        x, y, rung = x[rung > 0], y[rung > 0], rung[rung > 0]
        guess = np.minimum(answer(layers, x), rung)
        loss = lambda g: np.maximum(arguments.quantile * (y - g), (1 - arguments.quantile) * (g - y)).mean()
        falls, said = y < rung, guess < rung - 0.5
        print(f"| {name} | {len(y)} | {loss(guess):.3f} | {loss(rung):.3f} | {falls.sum()} | {said[falls].mean():.1%} | "
              f"{said[~falls].mean():.1%} |")
    for hold in [True, False]:
        print(f"\nIn an outage the access point {'holds what waits' if hold else 'loses what it sends'}.\n")
        print("| policy | traces | goodput Mb/s | mean RTT ms | p50 | p99 | p99.999 |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        policies = {"reactive": reactive, "proactive": proactive}
        for b in [0.0, 0.25, 0.5, 0.75, 1.0, 1.5]:
            policies[f"predicted, boldness {b}"] = lambda t, b=b: predicted(t, layers, b)
        for name, policy in policies.items():
            sets = [("choosing", choosing), ("held out", held_out), ("other bodies", others)]
            for label, all_traces, room in [(n, t, r) for n, t in sets for r in "AB"]:
                traces = [t for t in all_traces if t.options["scene"] == room]
                goodput, mean, *tail = score(traces, policy, hold)
                print(f"| {name} | {label}, {room} | {goodput:.1f} | {mean:.1f} | {' | '.join(str(t) for t in tail)} |", flush=True)
    folder = arguments.out
    with open(folder / "predictor.txt", "w") as file:
        file.write("# Written by studies/mmwave-proxy/train.py; see README.md here.\n")
        file.write(f"lags_ms {' '.join(str(10 * lag) for lag in LAGS)}\n")
        for w, b in layers:
            file.write(f"layer {w.shape[0]} {w.shape[1]}\n")
            for column, bias in zip(w.T, b):
                file.write(" ".join(f"{v:g}" for v in (*column, bias)) + "\n")
    shown = next(t for t in held_out if t.options["scene"] == "B")
    with open(folder / "predicted.csv", "w") as file:
        file.write("time_ms,level_cdbm,rate_bps,expected_rung,proactive_bps\n")
        expected = answer(layers, features(shown))
        columns = zip(shown.level, shown.reported, expected, proactive(shown))
        for k, (level, rate, e, careful) in enumerate(columns):
            file.write(f"{10 * k},{round(level * 100)},{rate:.0f},{e:.9f},{careful:.0f}\n")


if __name__ == "__main__":
    main()
