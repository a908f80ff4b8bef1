"""The parts of the paper's statements, by one set of criteria: for the default setting, which is
judged, and for each setting of the published sweeps, which shows what else is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from timeplane.studies import scale
from timeplane.studies.scale import Range

from .experiments import CUBICS, NAMES, NO_SACK_GRID, PAIRS, TARGET_0, kind_of
from .measures import PEAKS, READINGS, quantity

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: The parts, each with the figure that needs it.
PARTS: Mapping[str, str] = {
    "overflow": "fig 6",
    "timeout": "fig 6",
    "starved": "fig 6",
    "follows": "fig 7",
    "reaches": "fig 7",
    "peak_cubic": "fig 8",
    "peak_reactive": "fig 8",
    "half": "fig 9",
    "worst": "fig 9",
    "double": "fig 10",
    "highest": "fig 10",
    "cost": "fig 10",
}
FIGURES = tuple(dict.fromkeys(PARTS.values()))
#: Number of packets from which losses by a full queue are "massive", and seconds of goodput below
#: 10 Mb/s, while the link carries traffic, from which they are "extended".
MASSIVE, EXTENDED = 100, 1.0
#: Minimum share of the time that the window is near the rate's.
NEAR = 0.9
#: The percentiles of figure 9.
SHOWN = (50.0, 99.0, 99.999)
#: Parts that depend on how round trips are measured.
BY_READING = ("peak_cubic", "peak_reactive", "half", "worst")


@dataclass(frozen=True)
class Numbers:
    """The numbers of one setting."""

    #: A number by scheme, quantity and room.
    of: Callable[[str, str, str], Range]
    #: Ratio of the goodput of two schemes, as the mean of both rooms.
    goodput: Callable[[str, str], Range]
    #: A room A and a room B.
    rooms: tuple[str, str]
    #: The variant of CUBIC.
    cubic: str = "cubic"
    #: How round trips are measured.
    reading: str = "segment"

    @property
    def reactive(self) -> str:
        """The reactive policy on the same kind of TCP."""
        return "reactive" + kind_of(self.cubic)

    @property
    def proactive(self) -> str:
        """The proactive policy on the same kind of TCP."""
        return "proactive" + kind_of(self.cubic)

    @property
    def rtts(self) -> tuple[str, ...]:
        """Names of the percentiles of round trips."""
        return tuple(quantity(p, self.reading) for p in SHOWN)

    def b(self, scheme: str, name: str) -> Range:
        """A number in room B."""
        return self.of(scheme, name, self.rooms[1])

    def peak(self, scheme: str) -> Range:
        """The longest round trip around a blockage."""
        return self.b(scheme, PEAKS[self.reading])

    def ratios(self, scheme: str, to: str) -> list[list[Range]]:
        """Round trips under a scheme relative to another one's, by room and percentile."""
        return [[self.of(scheme, q, room).over(self.of(to, q, room)) for q in self.rtts] for room in self.rooms]


def _overflow(n: Numbers) -> str:
    return scale.together(scale.above(n.b(n.cubic, "window_over"), 1), scale.above(n.b(n.cubic, "lost_queue"), MASSIVE))


def _timeout(n: Numbers) -> str:
    """A timeout as the paper's, which an overflow causes."""
    moment = n.b(n.cubic, "rto_s")
    return scale.together(scale.above(n.b(n.cubic, "rtos_up"), 0.5), *([scale.matches(moment, "about 2 s")] if moment.known else ()))


def _half(n: Numbers) -> str:
    """The best percentile of each room; and no percentile is worse."""
    every = n.ratios(n.reactive, n.cubic)
    best = [scale.compares(min(of, key=lambda r: r.mean), "up to 50 % less") for of in every]
    return scale.together(*best, *(scale.below(r, scale.STATED) for of in every for r in of))


def _worst(n: Numbers) -> str:
    """Less at the last percentile, and by more than at the median."""
    every = n.ratios(n.proactive, n.reactive)
    return scale.together(*(verdict for median, _, worst in every for verdict in (scale.lower(worst), scale.lower(worst.over(median)))))


#: The criteria of the parts.
CRITERIA: Mapping[str, Callable[[Numbers], str]] = {
    "overflow": _overflow,
    "timeout": _timeout,
    "starved": lambda n: scale.above(n.b(n.cubic, "starved_s"), EXTENDED),
    "follows": lambda n: scale.above(n.b(n.reactive, "follows"), NEAR),
    "reaches": lambda n: scale.same(n.b(n.reactive, "use")),
    "peak_cubic": lambda n: scale.matches(n.peak(n.cubic), "200 ms"),
    "peak_reactive": lambda n: scale.matches(n.peak(n.reactive), "at most 70 ms"),
    "half": _half,
    "worst": _worst,
    "double": lambda n: scale.compares(n.goodput(n.reactive, n.cubic), "more than double"),
    "highest": lambda n: scale.together(*(scale.higher(n.goodput(n.reactive, other)) for other in (n.cubic, n.proactive))),
    "cost": lambda n: scale.lower(n.goodput(n.proactive, n.reactive)),
}


@dataclass(frozen=True)
class Setting:
    """One combination of level, queue and target, in A and in one variant of B, with one variant
    of CUBIC. It has one seed, so nothing is judged by it.
    """

    outcomes: Outcomes
    room: str
    place: float
    cubic: str

    @property
    def rooms(self) -> tuple[str, str]:
        """The two rooms."""
        return PAIRS[self.room], self.room

    @property
    def kind(self) -> str:
        """Its kind of TCP."""
        return kind_of(self.cubic)

    def in_room(self, room: str) -> Outcome:
        """The runs in a room."""
        return self.outcomes[f"grid{self.kind}_{room}"]

    def of(self, scheme: str, name: str, room: str) -> Range:
        """A number of its run."""
        return Range.point(self.in_room(room).peek(self.place, scheme, name).mean)

    def goodput(self, scheme: str, to: str) -> Range:
        """Goodput relative to another scheme's: mean of A and B."""
        own, other = (Range.average([self.of(c, "goodput_mbps", room) for room in self.rooms]) for c in (scheme, to))
        return own.over(other)

    def holds(self, reading: str) -> dict[str, bool]:
        """Whether each part holds in its run, with this reading of round trips."""
        numbers = Numbers(self.of, self.goodput, self.rooms, self.cubic, reading)
        return {part: judge(numbers) == "yes" for part, judge in CRITERIA.items()}


def figures_of(holds: Mapping[str, bool]) -> dict[str, bool]:
    """Whether each figure holds: all its parts have to."""
    return {figure: all(of for part, of in holds.items() if PARTS[part] == figure) for figure in FIGURES}


#: The settings of the sweeps, and which parts hold in each by reading.
Sweep = Sequence[tuple[Setting, Mapping[str, Mapping[str, bool]]]]


def all_settings(outcomes: Outcomes) -> Sweep:
    """The settings of all variants of B and CUBIC that were run: with SACK by segments, and without
    by all readings. Figures show one kind, and have only the runs of this one.
    """
    with_sack = [(room, cubic) for room in PAIRS for cubic in CUBICS if not kind_of(cubic)]
    without = [(room, cubic) for room in NO_SACK_GRID[1:] for cubic in CUBICS if kind_of(cubic)]
    found = []
    for room, cubic in (*with_sack, *without):
        readings = READINGS if kind_of(cubic) else ("segment",)
        rooms = [f"grid{kind_of(cubic)}_{of}" for of in (PAIRS[room], room)]
        for place in outcomes[rooms[1]].places if all(of in outcomes for of in rooms) else ():
            setting = Setting(outcomes, room, place, cubic)
            found.append((setting, {reading: setting.holds(reading) for reading in readings}))
    return found


def describe(setting: Setting) -> str:
    """A description for readers."""
    level, queue, *target = setting.in_room(setting.room).experiment.settings[int(setting.place)].values()
    words = {"cubic": "", "cubic_hystart": ", HyStart", "cubic_200ms": ", 200 ms", "cubic_hystart_200ms": ", HyStart and 200 ms"}
    variant = words[setting.cubic.removesuffix("_no_sack")]
    return f"{NAMES[setting.room]}, {level:g} dBm, {queue} packets, {100 * (target or [TARGET_0])[0]:.4g} %{variant}"
