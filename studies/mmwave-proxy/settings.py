"""Determines which figures of the paper hold in which setting of the published sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .experiments import CUBICS, NAMES, PAIRS
from .measures import quantity

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: The criteria for a setting, each with the figure that needs it.
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
#: Minimum shares: of the time that the window is near the rate's, and of the link's capacity that
#: goodput reaches.
NEAR, FULL = 0.9, 0.9
#: Round trips in ms that count as "about 200", and upper bound of "at most 70".
HIGH, LOW = (150.0, 250.0), 70.0
#: Reductions that count as "up to 50 %".
HALF = (0.4, 0.6)
RTTS = tuple(quantity(p) for p in (50.0, 99.0, 99.999))


@dataclass(frozen=True)
class Setting:
    """One combination of level, queue and target, in A and in one variant of B, with one variant
    of CUBIC.
    """

    outcomes: Outcomes
    room: str
    place: float
    cubic: str

    def value(self, scheme: str, name: str, room: str | None = None) -> float:
        """A mean over seeds, in B by default."""
        return self.outcomes[f"grid_{room or self.room}"].mean(self.place, scheme, name)

    @property
    def rooms(self) -> tuple[str, str]:
        """The two rooms."""
        return PAIRS[self.room], self.room

    def goodput(self, scheme: str) -> float:
        """Mean goodput of A and B."""
        return sum(self.value(scheme, "goodput_mbps", room) for room in self.rooms) / 2

    def reductions(self) -> list[float]:
        """Reductions by reactive compared with CUBIC, by room and percentile."""
        return [1 - self.value("reactive", q, room) / self.value(self.cubic, q, room) for room in self.rooms for q in RTTS]

    def holds(self) -> dict[str, bool]:
        """Whether each part of the paper's statements holds."""
        v, reductions = self.value, self.reductions()
        below = [1 - v("proactive", q, room) / v("reactive", q, room) for room in self.rooms for q in RTTS]
        cubic, reactive, proactive = (self.goodput(c) for c in (self.cubic, "reactive", "proactive"))
        return {
            "overflow": v(self.cubic, "window_over") > 1 and v(self.cubic, "lost_queue") >= MASSIVE,
            "timeout": v(self.cubic, "timeouts") >= 1,
            "starved": v(self.cubic, "starved_s") >= EXTENDED,
            "follows": v("reactive", "follows") >= NEAR,
            "reaches": v("reactive", "use") >= FULL,
            "peak_cubic": HIGH[0] <= v(self.cubic, "peak_ms") <= HIGH[1],
            "peak_reactive": v("reactive", "peak_ms") <= LOW,
            "half": min(reductions) > -0.02 and HALF[0] <= max(reductions) <= HALF[1],
            "worst": min(below) > -0.02 and max(below[2], below[5]) > 0.02,
            "double": reactive > 2 * cubic,
            "highest": reactive > max(cubic, proactive),
            "cost": proactive < reactive,
        }


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
