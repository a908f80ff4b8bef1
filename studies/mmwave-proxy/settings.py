"""The parts of the paper's statements, by one set of criteria: for the default setting, which is
judged, and for each setting of the published sweeps, which shows what else is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from timeplane.studies import scale
from timeplane.studies.scale import Range

from .experiments import CUBICS, NAMES, PAIRS
from .measures import quantity

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
RTTS = tuple(quantity(p) for p in (50.0, 99.0, 99.999))


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

    def b(self, scheme: str, name: str) -> Range:
        """A number in room B."""
        return self.of(scheme, name, self.rooms[1])

    def ratios(self, scheme: str, to: str) -> list[list[Range]]:
        """Round trips under a scheme relative to another one's, by room and percentile."""
        return [[self.of(scheme, q, room).over(self.of(to, q, room)) for q in RTTS] for room in self.rooms]


def _overflow(n: Numbers) -> str:
    return scale.together(scale.above(n.b(n.cubic, "window_over"), 1), scale.above(n.b(n.cubic, "lost_queue"), MASSIVE))


def _timeout(n: Numbers) -> str:
    """A timeout as the paper's, which an overflow causes."""
    moment = n.b(n.cubic, "rto_s")
    return scale.together(scale.above(n.b(n.cubic, "rtos_up"), 0.5), *([scale.matches(moment, "about 2 s")] if moment.known else ()))


def _half(n: Numbers) -> str:
    """The best percentile of each room; and no percentile is worse."""
    every = n.ratios("reactive", n.cubic)
    best = [scale.compares(min(of, key=lambda r: r.mean), "up to 50 % less") for of in every]
    return scale.together(*best, *(scale.below(r, scale.STATED) for of in every for r in of))


def _worst(n: Numbers) -> str:
    """Less at the last percentile, and by more than at the median."""
    every = n.ratios("proactive", "reactive")
    return scale.together(*(verdict for median, _, worst in every for verdict in (scale.lower(worst), scale.lower(worst.over(median)))))


#: The criteria of the parts.
CRITERIA: Mapping[str, Callable[[Numbers], str]] = {
    "overflow": _overflow,
    "timeout": _timeout,
    "starved": lambda n: scale.above(n.b(n.cubic, "starved_s"), EXTENDED),
    "follows": lambda n: scale.above(n.b("reactive", "follows"), NEAR),
    "reaches": lambda n: scale.same(n.b("reactive", "use")),
    "peak_cubic": lambda n: scale.matches(n.b(n.cubic, "peak_ms"), "200 ms"),
    "peak_reactive": lambda n: scale.matches(n.b("reactive", "peak_ms"), "at most 70 ms"),
    "half": _half,
    "worst": _worst,
    "double": lambda n: scale.compares(n.goodput("reactive", n.cubic), "more than double"),
    "highest": lambda n: scale.together(*(scale.higher(n.goodput("reactive", other)) for other in (n.cubic, "proactive"))),
    "cost": lambda n: scale.lower(n.goodput("proactive", "reactive")),
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

    def of(self, scheme: str, name: str, room: str) -> Range:
        """A number of its run."""
        return Range.point(self.outcomes[f"grid_{room}"].peek(self.place, scheme, name).mean)

    def goodput(self, scheme: str, to: str) -> Range:
        """Goodput relative to another scheme's: mean of A and B."""
        own, other = (Range.average([self.of(c, "goodput_mbps", room) for room in self.rooms]) for c in (scheme, to))
        return own.over(other)

    def holds(self) -> dict[str, bool]:
        """Whether each part holds in its run."""
        numbers = Numbers(self.of, self.goodput, self.rooms, self.cubic)
        return {part: judge(numbers) == "yes" for part, judge in CRITERIA.items()}


def figures_of(holds: Mapping[str, bool]) -> dict[str, bool]:
    """Whether each figure holds: all its parts have to."""
    return {figure: all(of for part, of in holds.items() if PARTS[part] == figure) for figure in FIGURES}


def all_settings(outcomes: Outcomes) -> list[Setting]:
    """The settings of all variants of B and CUBIC that were run."""
    return [Setting(outcomes, room, place, cubic) for room in PAIRS for place in outcomes[f"grid_{room}"].places for cubic in CUBICS]


def describe(setting: Setting) -> str:
    """A description for readers."""
    level, queue, target = setting.outcomes[f"grid_{setting.room}"].experiment.settings[int(setting.place)].values()
    words = {"cubic": "", "cubic_hystart": ", HyStart", "cubic_200ms": ", 200 ms", "cubic_hystart_200ms": ", HyStart and 200 ms"}
    return f"{NAMES[setting.room]}, {level:g} dBm, {queue} packets, {100 * target:.4g} %{words[setting.cubic]}"
