"""The figures: those of the paper by number, others by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from timeplane.studies.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, WIDE, Drawing, Figures, legend, letter, panels

from . import beams, settings
from .experiments import DATA, GRID, HEADERS, KINDS, NAMES, NO_SACK_GRID, QUEUE_0, ROOMS_SHOWN
from .measures import READINGS, quantity

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Color, line, marker and name of each scheme, the same in all figures.
LOOKS: Mapping[str, tuple[str, Any, str, str]] = {
    "cubic": (RED, "--", "s", "CUBIC"),
    "reactive": (BLUE, "-", "o", "reactive"),
    "proactive": (GREEN, "-.", "^", "proactive"),
    "predicted": (ORANGE, (0, (1, 1.2)), "D", "predicted"),
}
#: Names of schemes in the figure of all schemes.
OTHERS: Mapping[str, str] = {
    "cubic": "CUBIC",
    "cubic_hystart": "CUBIC, HyStart",
    "cubic_200ms": "CUBIC, 200 ms",
    "cubic_hystart_200ms": "CUBIC, both",
    "cubic_no_sack": "CUBIC, no SACK",
    "cubic_hystart_no_sack": "the same, HyStart",
    "cubic_200ms_no_sack": "the same, 200 ms",
    "cubic_hystart_200ms_no_sack": "the same, both",
    "newreno": "NewReno",
    "dctcp": "DCTCP, ECN",
    "bbr": "BBR",
    "codel": "CUBIC, CoDel",
    "reactive": "reactive",
    "reactive_no_sack": "reactive, no SACK",
    "reactive_free": "reactive, not held",
    "reactive_split": "reactive, split",
    "proactive": "proactive",
    "proactive_no_sack": "proactive, no SACK",
    "proactive_split": "proactive, split",
    "predicted": "predicted",
    "predicted_split": "predicted, split",
}
PACKET = DATA + HEADERS
#: Quantities in the figure of sensitivity; runs of 10 s have too few packets for higher
#: percentiles.
WORST = quantity(99.9)


def look(scheme: str) -> dict[str, Any]:
    """Keyword arguments for ``plot``."""
    color, line, marker, name = LOOKS[scheme]
    return {"color": color, "linestyle": line, "marker": marker, "label": name}


def fig2(outcomes: Outcomes) -> Figure:
    figure, axes = panels(4, height=1.95)
    shown = []
    for room, when in (("a", (0.0, 2.4)), ("b", (0.0, 5.0))):
        times, angles, power = beams.matrices(room)
        for t, word in zip(when, ("free", "blocked"), strict=True):
            shown.append((f"{NAMES[room]}, {word}", power[np.abs(times - t).argmin()] - beams.NOISE))
    image = None
    for a, (_, snr) in zip(axes, shown, strict=True):
        image = a.imshow(snr, origin="lower", extent=(-35, 35, -35, 35), vmin=-20, vmax=22, cmap="viridis")
        best = np.unravel_index(snr.argmax(), snr.shape)
        a.plot(angles[best[1]], angles[best[0]], marker="x", color="white", markersize=5)
        a.grid(visible=False)
        a.set_xticks((-30, 0, 30))
        a.set_yticks((-30, 0, 30))
        a.set_xlabel("Receive beam (°)")
    axes[0].set_ylabel("Transmit beam (°)")
    letter(axes, [f"{name}: {snr.max():.0f} dB" for name, snr in shown])
    figure.colorbar(image, ax=axes, label="SNR (dB)", shrink=0.8)
    return figure


def _rates(a: Axes, trace: Mapping[str, np.ndarray], scheme: str) -> None:
    a.plot(trace["s"], trace["rate"], color=BLACK, linewidth=0.7, label="rate of the channel")
    a.plot(trace["s"], trace["goodput"], color=LOOKS[scheme][0], label="goodput over 100 ms")
    a.set_ylim(0, 1600)
    a.set_ylabel("Mb/s")


def _windows(a: Axes, trace: Mapping[str, np.ndarray], scheme: str) -> None:
    product = trace["rate"] * 1e6 / 8 * 0.04 / PACKET
    a.plot(trace["s"], product, color=BLACK, linewidth=0.7, label="bandwidth-delay product")
    if scheme == "cubic":
        a.plot(trace["s"], product + QUEUE_0, color=BLACK, linewidth=0.7, linestyle=":", label="the same and the queue")
    a.plot(trace["s"], trace["window"] / PACKET, color=PINK, label="window")
    a.set_ylabel("Packets")
    a.set_ylim(0, 4000 if scheme == "cubic" else 1050)


def _over_time(outcomes: Outcomes, scheme: str) -> Figure:
    """Rates and windows over time, for the first seed: without an outage, with SACK and without,
    and with one.
    """
    figure = Figure(figsize=(WIDE, 3.6))
    axes = figure.subplots(2, 3, sharex=True)
    titles = []
    for (above, below), (room, kind) in zip(axes.T, (("b_0", ""), ("b_0", "_no_sack"), ("b", "")), strict=True):
        trace = outcomes[f"main_{room}"].traces[0.0, scheme + kind]
        _rates(above, trace, scheme)
        _windows(below, trace, scheme)
        below.set_xlabel("Time (s)")
        below.set_xlim(0, None)
        titles.append(f"{NAMES[room]}; {KINDS[kind]}")
    if scheme == "cubic":
        for above in axes[0]:
            above.axvline(2, color=SKY, linestyle="--", linewidth=0.8, label="the paper's timeout")
            above.axhline(10, color=SKY, linestyle=":", linewidth=0.8, label="10 Mb/s")
    letter(list(axes[0]), titles)
    legend(figure, axes.flat, 4)
    return figure


def fig8(outcomes: Outcomes) -> Figure:
    """Without an outage: with SACK by segments, and without by all readings."""
    figure, axes = panels(4, height=2.4, sharey=True)
    o = outcomes["main_b_0"]
    shown = [("", "segment"), *(("_no_sack", reading) for reading in READINGS)]
    for a, (kind, reading) in zip(axes, shown, strict=True):
        for scheme in ("reactive", "proactive", "cubic"):
            trace = o.traces[0.0, scheme + kind]
            a.plot(trace["s"], trace[f"rtt_{reading}"], **look(scheme) | {"marker": "", "linewidth": 0.9})
        for high in (70, 200):
            a.axhline(high, color=BLACK, linestyle=":", linewidth=0.6, label="the paper's 70 and 200 ms")
        slower = trace["rate"] < trace["rate"].max()
        a.set_xlim(trace["s"][slower].min() - 0.5, trace["s"][slower].max() + 0.5)
        _log(a, (40, 70, 200, 1000, 3000))
        a.set_ylim(36, 4000)
        a.set_xlabel("Time (s)")
    axes[0].set_ylabel("Longest RTT of 10 ms (ms)")
    letter(axes, [f"{KINDS[kind]}, {reading}" for kind, reading in shown])
    legend(figure, axes, 4)
    return figure


def _log(a: Axes, ticks: Sequence[float], axis: str = "y") -> None:
    """Sets a logarithmic axis with only these ticks."""
    getattr(a, f"set_{axis}scale")("log")
    of = a.yaxis if axis == "y" else a.xaxis
    getattr(a, f"set_{axis}ticks")(ticks)
    of.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    of.set_minor_formatter(NullFormatter())
    getattr(a, f"set_{axis}ticks")([], minor=True)


def fig9(outcomes: Outcomes) -> Figure:
    figure, axes = panels(len(ROOMS_SHOWN), height=2.3)
    shown = (50.0, 99.0, 99.9, 99.999)
    for a, room in zip(axes, ROOMS_SHOWN, strict=True):
        o = outcomes[f"long_{room}"]
        for i, scheme in enumerate(o.experiment.schemes):
            tail = outcomes[f"tail_{room}"] if scheme == "cubic" else o
            values = [(tail if p == shown[-1] else o).mean(0, scheme, f"all_{quantity(p)}") for p in shown]
            place = np.arange(len(shown)) + (i - 1.5) * 0.2
            a.bar(place, values, 0.19, color=LOOKS[scheme][0], label=LOOKS[scheme][3])
        most = a.dataLim.ymax
        _log(a, (40, 60, 80, 120) if most < 200 else (40, 100, 200, 500, 1000) if most < 1200 else (40, 100, 300, 1000, 3000))
        a.set_ylim(35, most * 1.15)
        a.set_xticks(range(len(shown)), [f"{p:g}" for p in shown])
        a.set_xlabel("Percentile")
        a.grid(visible=False, axis="x")
    axes[0].set_ylabel("RTT (ms)")
    letter(axes, [NAMES[room] for room in ROOMS_SHOWN])
    legend(figure, axes)
    return figure


def by_reading(outcomes: Outcomes) -> Figure:
    """Percentiles over 10 s by what round trips are measured on, in A and in B without an outage;
    bars of CUBIC have a line at half of their height, the paper's best reduction.
    """
    figure = Figure(figsize=(WIDE, 4.2))
    axes = figure.subplots(2, len(READINGS), sharey=True)
    shown = (50.0, 99.0, 99.9, 99.999)
    kinds = [(scheme, kind) for kind in KINDS for scheme in ("cubic", "reactive", "proactive")]
    for row, room in zip(axes, ("a", "b_0"), strict=True):
        for a, reading in zip(row, READINGS, strict=True):
            for i, (scheme, kind) in enumerate(kinds):
                values = np.array([outcomes[f"main_{room}"].mean(0, scheme + kind, f"all_{quantity(p, reading)}") for p in shown])
                place = np.arange(len(shown)) + (i - 2.5) * 0.14
                name = f"{LOOKS[scheme][3]}, {KINDS[kind]}"
                a.bar(place, values, 0.13, color=LOOKS[scheme][0], alpha=0.45 if kind else 1, label=name)
                if scheme == "cubic":
                    a.hlines(values / 2, place - 0.07, place + 0.5, color=BLACK, linewidth=0.7, label="half of CUBIC's, the paper's best")
            _log(a, (40, 70, 100, 200, 500, 1000, 3000))
            a.set_ylim(30, 6500)
            a.set_xticks(range(len(shown)), [f"{p:g}" for p in shown])
            a.grid(visible=False, axis="x")
            a.set_title(f"{'A' if room == 'a' else NAMES[room]}; by {reading}", fontsize=8)
        row[0].set_ylabel("RTT (ms)")
    for a in axes[-1]:
        a.set_xlabel("Percentile")
    legend(figure, axes.flat, 4)
    return figure


def _estimate_of_both(outcomes: Outcomes, scheme: str, room: str) -> tuple[float, float]:
    """Mean goodput of A and this B with its half-width, from the means of each seed."""
    from timeplane.studies import estimate

    a, b = (outcomes[f"long_{r}"].values[0.0, scheme, "goodput_mbps"] for r in ("a", room))
    of = estimate((a[s] + b[s]) / 2 for s in sorted(a.keys() & b.keys()))
    return of.mean, of.half


def fig10(outcomes: Outcomes) -> Figure:
    figure, axes = panels(2, sharey=True)
    for a, room in zip(axes, ("b", "b_0"), strict=True):
        for i, scheme in enumerate(LOOKS):
            mean, half = _estimate_of_both(outcomes, scheme, room)
            error = None if np.isnan(half) else half
            a.bar(i, mean, 0.7, yerr=error, capsize=3, color=LOOKS[scheme][0], error_kw={"linewidth": 0.8})
            a.text(i, mean * 0.5, f"{mean:.0f}", ha="center", color="white", fontsize=7)
        a.set_xticks(range(len(LOOKS)), [of[3] for of in LOOKS.values()])
        a.grid(visible=False, axis="x")
    axes[0].set_ylabel("Goodput (Mb/s)")
    letter(axes, [f"mean of A and {NAMES[room]}" for room in ("b", "b_0")])
    return figure


def every_control(outcomes: Outcomes) -> Figure:
    """Goodput against the 99th percentile of round trips."""
    figure, axes = panels(len(ROOMS_SHOWN), height=3.7, sharey=True)
    for a, room in zip(axes, ROOMS_SHOWN, strict=True):
        o = outcomes[f"main_{room}"]
        names = list(OTHERS)
        for i, scheme in enumerate(names):
            e = o.estimate(0, scheme, "use")
            family = RED if scheme.startswith("cubic") else next((LOOKS[c][0] for c in LOOKS if scheme.startswith(c)), SKY)
            a.barh(len(names) - i, 100 * e.mean, 0.75, color=family, xerr=None if np.isnan(e.half) else 100 * e.half, error_kw={"linewidth": 0.7})
            a.text(129, len(names) - i, f"{o.mean(0, scheme, quantity(99.0)):.0f} ms", va="center", ha="right", fontsize=6)
        a.set_yticks([len(names) - i for i in range(len(names))], list(OTHERS.values()))
        a.set_xlim(0, 130)
        a.set_xticks((0, 25, 50, 75, 100))
        a.set_xlabel("Goodput (% of capacity)")
        a.grid(visible=False, axis="y")
    letter(axes, [NAMES[room] for room in ROOMS_SHOWN])
    return figure


def which_settings(outcomes: Outcomes) -> Figure:
    """The number of settings with SACK in which each statement holds, by room, and in which two
    figures hold together.
    """
    every = [(s, of["segment"]) for s, of in settings.all_settings(outcomes) if not s.kind]
    rooms = list(dict.fromkeys(s.room for s, _ in every))
    figure, axes = panels(2, height=3.0, gridspec_kw={"width_ratios": (3, 2)})
    parts = list(settings.PARTS)
    share = np.array([[np.mean([of[part] for s, of in every if s.room == room]) for part in parts] for room in rooms])
    _numbers(axes[0], 100 * share.T, 100)
    axes[0].set_xticks(range(len(rooms)), [NAMES[r].replace(", ", ",\n") for r in rooms], fontsize=6)
    axes[0].set_yticks(range(len(parts)), [f"{settings.PARTS[p]}: {p.replace('_', ' ')}" for p in parts])
    held = [settings.figures_of(of) for _, of in every]
    both = np.array([[sum(of[a] and of[b] for of in held) for a in settings.FIGURES] for b in settings.FIGURES], float)
    _numbers(axes[1], both, len(every))
    axes[1].set_xticks(range(len(settings.FIGURES)), settings.FIGURES, fontsize=6)
    axes[1].set_yticks(range(len(settings.FIGURES)), settings.FIGURES)
    letter(axes, ["settings in which it holds (%)", f"of {len(every)}, both hold in so many"])
    return figure


def without_sack(outcomes: Outcomes) -> Figure:
    """The share of settings without SACK in which each statement holds, by reading, and the number
    in which two figures hold together.
    """
    every = [of for s, of in settings.all_settings(outcomes) if s.kind]
    figure, axes = panels(3, height=3.0, gridspec_kw={"width_ratios": (3, 4, 4)})
    parts = list(settings.PARTS)
    share = np.array([[np.mean([of[reading][part] for of in every]) for part in parts] for reading in READINGS])
    _numbers(axes[0], 100 * share.T, 100)
    axes[0].set_xticks(range(len(READINGS)), ["segm.", "ack", "deliv."], fontsize=6)
    axes[0].set_yticks(range(len(parts)), [f"{settings.PARTS[p]}: {p.replace('_', ' ')}" for p in parts])
    for a, reading in zip(axes[1:], ("acknowledgement", "delivery"), strict=True):
        held = [settings.figures_of(of[reading]) for of in every]
        both = np.array([[sum(of[x] and of[y] for of in held) for x in settings.FIGURES] for y in settings.FIGURES], float)
        _numbers(a, both, len(every))
        a.set_xticks(range(len(settings.FIGURES)), settings.FIGURES, fontsize=6)
        a.set_yticks(range(len(settings.FIGURES)), settings.FIGURES, fontsize=6)
    letter(axes, ["holds in (%)", f"by ack: both, of {len(every)}", f"by delivery: both, of {len(every)}"])
    return figure


def _numbers(a: Axes, values: np.ndarray, most: float) -> None:
    """Draws a matrix with its numbers."""
    a.imshow(values, aspect="auto", cmap="Blues", vmin=0, vmax=most)
    for j, i in np.ndindex(*values.shape):
        a.text(i, j, f"{values[j, i]:.0f}", ha="center", va="center", fontsize=6, color="white" if values[j, i] > 0.6 * most else "black")
    a.grid(visible=False)


def _against(outcomes: Outcomes, name: str, label: str, factor: float = 1.0, log: Sequence[float] = ()) -> Figure:
    """Goodput and a percentile of round trips, by room."""
    figure = Figure(figsize=(WIDE, 3.4))
    axes = figure.subplots(2, len(ROOMS_SHOWN))
    for (high, low), room in zip(axes.T, ROOMS_SHOWN, strict=True):
        o = outcomes[f"{name}_{room}"]
        known = o.keys
        for scheme in dict.fromkeys(c for _, c, _ in known):
            x = [p for p in o.places if (p, scheme, "goodput_mbps") in known]
            for a, value in ((high, "goodput_mbps"), (low, f"all_{WORST}")):
                of = [o.estimate(p, scheme, value) for p in x]
                if o.experiment.numbered and scheme == "cubic":
                    a.axhline(of[0].mean, **{k: v for k, v in look(scheme).items() if k != "marker"})
                else:
                    a.plot(np.array(x) * factor, [e.mean for e in of], **look(scheme))
        high.set_ylim(0, 1550)
        values = [o.mean(p, c, f"all_{WORST}") for p, c, q in o.keys if q == "goodput_mbps"]
        ticks = [t for t in (20, 30, 40, 60, 100, 200, 500, 1000, 3000) if min(values) * 0.7 <= t <= max(values) * 1.4]
        _log(low, ticks)
        low.set_ylim(min(values) * 0.85, max(values) * 1.2)
        low.set_xlabel(label)
        if log:
            for a in (high, low):
                _log(a, log, "x")
    axes[0, 0].set_ylabel("Goodput (Mb/s)")
    axes[1, 0].set_ylabel("p99.9 of RTT (ms)")
    letter(list(axes[0]), [NAMES[r] for r in ROOMS_SHOWN])
    legend(figure, axes.flat)
    return figure


def _needs(*names: str) -> list[str]:
    return [f"{name}_{room}" for name in names for room in ROOMS_SHOWN]


FIGURES: Figures = {
    "fig2": Drawing(fig2, []),
    "fig6": Drawing(lambda o: _over_time(o, "cubic"), _needs("main")),
    "fig7": Drawing(lambda o: _over_time(o, "reactive"), _needs("main")),
    "fig8": Drawing(fig8, _needs("main")),
    "fig9": Drawing(fig9, _needs("long", "tail")),
    "readings": Drawing(by_reading, _needs("main")),
    "fig10": Drawing(fig10, _needs("long")),
    "schemes": Drawing(every_control, _needs("main")),
    "settings": Drawing(which_settings, [f"grid_{room}" for room in GRID]),
    "no_sack": Drawing(without_sack, [f"grid_no_sack_{room}" for room in NO_SACK_GRID]),
    "delay": Drawing(lambda o: _against(o, "delay", "Report delay (ms)"), _needs("delay")),
    "queue": Drawing(lambda o: _against(o, "queue", "Queue (packets)", log=(100, 1000, 10000)), _needs("queue")),
    "ttr": Drawing(lambda o: _against(o, "ttr", "Time to recover (s)", 1e-3), _needs("ttr")),
    "loss": Drawing(lambda o: _against(o, "loss", "Lost messages (%)"), _needs("loss")),
    "wire": Drawing(lambda o: _against(o, "wire", "Wire one way (ms)"), _needs("wire")),
}
