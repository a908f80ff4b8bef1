"""The scale of judgement of all studies: how a result is compared with what a paper says.

A result is a :class:`Range`, a mean with its 95 % interval. A paper's number is a phrase of
``published.csv``, such as ``about 10``: its wording decides the width of the accepted band
(:func:`read`). All bands are two-sided and count in ratios, unless the phrase has one side, such as
``above 10``. A verdict is a word of :data:`VERDICTS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: The words of the column `agrees`, and their meanings.
VERDICTS: Mapping[str, str] = {
    "yes": "the whole 95 % interval of the result is within the band of the paper's wording",
    "in part": "some parts of the statement hold, or the number is within a factor of 2, or the difference has the paper's direction",
    "no": "the whole interval is outside of the band, beyond a factor of 2 and without the direction",
    "undecided": "the interval reaches across the edge of a band, or there is none: more seeds could decide",
    "arithmetic": "a calculation gives the paper's number, because the paper has calculated the same; nothing was measured",
    "not tried": "no experiment is about the statement",
    "too short": "an experiment of `--quick`, which is too short to judge",
}

#: Accepted ratios of a result to a number of the paper, in both directions, by its wording. Three
#: or more significant digits; fewer, and "the same"; "about" and its synonyms, and "similar".
EXACT, STATED, ABOUT = 1.025, 1.1, 1.25
#: A number outside of its band but within this factor agrees in part.
NEAR = 2.0
#: Share of the points of a curve that must agree for "in part".
MOST = 0.5


@dataclass(frozen=True)
class Range:
    """A number and its 95 % interval. ``nan`` limits: it is random, and its interval unknown."""

    mean: float
    low: float
    high: float

    @classmethod
    def point(cls, value: float) -> Range:
        """A number without randomness."""
        return cls(value, value, value)

    @classmethod
    def at_least(cls, of: Range) -> Range:
        """The range of a number of which ``of`` is a lower bound."""
        return cls(of.mean, of.low, math.inf)

    @property
    def known(self) -> bool:
        """Whether it has a value and an interval."""
        return not (math.isnan(self.mean) or math.isnan(self.low) or math.isnan(self.high))

    def shown(self, form: str = ".3g", unit: str = "") -> str:
        """The mean, with the interval if there is one."""
        if not self.known:
            return f"{self.mean:{form}}{unit} (no interval)"
        if self.low == self.high:
            return f"{self.mean:{form}}{unit}"
        high = "more" if math.isinf(self.high) else f"{self.high:{form}}"
        return f"{self.mean:{form}}{unit} ({self.low:{form}} to {high})"

    def within(self, low: float, high: float) -> bool:
        """Whether the whole interval is between the limits."""
        return self.known and low <= self.low and self.high <= high

    def outside(self, low: float, high: float) -> bool:
        """Whether no part of the interval is between the limits."""
        return self.known and (self.high < low or self.low > high)

    def times(self, factor: float) -> Range:
        """The number multiplied by a factor."""
        return Range(self.mean * factor, *sorted((self.low * factor, self.high * factor)))

    def minus(self, number: float) -> Range:
        """The number minus another, which is exact."""
        return Range(self.mean - number, self.low - number, self.high - number)

    def over(self, other: Range) -> Range:
        """The ratio to an independent number; both are positive. Relative deviations are added as
        those of independent errors.
        """
        if not (self.known and other.known and other.mean > 0):
            mean = self.mean / other.mean if other.mean else math.nan
            return Range(mean, math.nan, math.nan)
        ratio = self.mean / other.mean
        if self.mean <= 0:
            return Range(ratio, self.low / other.mean, self.high / other.mean)
        up = math.hypot(self.high / self.mean - 1, other.mean / other.low - 1 if other.low > 0 else math.inf)
        down = math.hypot(1 - self.low / self.mean, 1 - other.mean / other.high)
        return Range(ratio, ratio * max(1 - down, 0.0), ratio * (1 + up))

    @staticmethod
    def average(of: Sequence[Range]) -> Range:
        """The mean of independent numbers."""
        mean = sum(r.mean for r in of) / len(of)
        down, up = (math.hypot(*deviations) / len(of) for deviations in ([r.mean - r.low for r in of], [r.high - r.mean for r in of]))
        return Range(mean, mean - down, mean + up)


@dataclass(frozen=True)
class Said:
    """A number of a paper, as its phrase says it."""

    value: float
    #: Accepted ratio in both directions.
    width: float
    #: 0: two-sided; 1: the value is a lower bound; -1: an upper bound.
    side: int = 0
    #: Whether it is a ratio or a relative change, and its direction: 1 up, -1 down, 0 neither.
    direction: int = 0


_ABOUT = ("about", "around", "approximately", "~")
_BOUNDS = {"above": 1, "more than": 1, "at least": 1, "below": -1, "at most": -1, "up to": 0}
_DOWN, _UP = ("lower", "less", "shorter", "smaller", "below"), ("higher", "more", "longer", "larger", "above")
_PHRASE = re.compile(
    rf"(?P<bound>{'|'.join(_BOUNDS)})?\s*(?P<about>{'|'.join(_ABOUT)})?\s*(?P<number>\d+(?:\.\d+)?|twice|double)"
    rf"\s*(?P<unit>%|x)?[^;,()]*?(?P<how>\b(?:{'|'.join((*_DOWN, *_UP))}))?$"
)


def read(phrase: str) -> Said:
    """The number of a phrase such as ``about 4.5 Gb/s``, ``3x lower``, ``40 % lower``, ``twice`` or
    ``above 10``.

    With a direction, ``value`` is a factor (``3x lower`` is 1/3) or a relative change (``40 %
    lower`` is -0.4). Raises ``ValueError`` for a phrase without a number.
    """
    found = _PHRASE.fullmatch(phrase.strip())
    if found is None:
        raise ValueError(f"`{phrase}`: expected a number, with its wording before it and its direction after it")
    number = found["number"]
    side = _BOUNDS.get(found["bound"] or "", 0)
    if number in ("twice", "double"):
        return Said(2.0, STATED, side, 1)
    digits = number.lstrip("0.").replace(".", "") if "." in number else number.strip("0")
    width = ABOUT if found["about"] else EXACT if len(digits) >= 3 else STATED
    direction = 0 if found["how"] is None else -1 if found["how"] in _DOWN else 1
    value = float(number)
    if direction and found["unit"] == "%":
        value *= direction / 100
    elif direction and found["unit"] == "x":
        value **= direction
    elif direction:
        raise ValueError(f"`{phrase}`: expected % or x before `{found['how']}`")
    return Said(value, width, side, direction)


def band(value: float, width: float) -> tuple[float, float]:
    """The limits of a band around a value, which may be negative: equal ratios in both directions."""
    low, high = sorted((value / width, value * width))
    return low, high


def matches(result: Range, phrase: str) -> str:
    """The verdict of a number that the paper gives: ``8.1 Gb/s``, ``about 10``, ``at most 70 ms``."""
    said = read(phrase)
    if said.direction:
        raise ValueError(f"`{phrase}`: expected a number; `compares` judges ratios and changes")
    if said.side:
        return above(result, said.value) if said.side > 0 else below(result, said.value)
    if not result.known:
        return "undecided"
    if result.within(*band(said.value, said.width)):
        return "yes"
    if result.within(*band(said.value, NEAR)):
        return "in part"
    return "no" if result.outside(*band(said.value, NEAR)) else "undecided"


def compares(ratio: Range, phrase: str) -> str:
    """The verdict of a ratio to a baseline that the paper gives: ``40 % lower``, ``3x lower``,
    ``twice``, ``above 10``.

    A change agrees if it is the paper's change up to the width of the wording. It agrees in part if
    it surely has the paper's direction, and is more than :func:`same` allows.
    """
    said = read(phrase)
    if not ratio.known:
        return "undecided"
    change = said.direction != 0 and "%" in phrase
    result = ratio.minus(1) if change else ratio
    up = (said.value > 0) if change else (said.value > 1)
    limits = {0: band(said.value, said.width), 1: (said.value, math.inf), -1: (-math.inf, said.value)}
    if result.within(*limits[said.side]):
        return "yes"
    if ratio.low > STATED if up else ratio.high < 1 / STATED:
        return "in part"
    surely_not = ratio.high < STATED if up else ratio.low > 1 / STATED
    return "no" if surely_not else "undecided"


def above(result: Range, bound: float) -> str:
    """The verdict of a statement with one side: the number is above a bound."""
    if not result.known:
        return "undecided"
    return "yes" if result.low > bound else "no" if result.high <= bound else "undecided"


def below(result: Range, bound: float) -> str:
    """The verdict of a statement with one side: the number is at most a bound."""
    if not result.known:
        return "undecided"
    return "yes" if result.high <= bound else "no" if result.low > bound else "undecided"


def higher(ratio: Range) -> str:
    """The verdict of "higher" or "later" without a number: the ratio of the higher to the lower one
    is significantly above 1. It is not if the two are surely equal to within :data:`EXACT`, or the
    order is the other one.
    """
    if not ratio.known:
        return "undecided"
    return "yes" if ratio.low > 1 else "no" if ratio.high <= 1 or ratio.within(*band(1, EXACT)) else "undecided"


def lower(ratio: Range) -> str:
    """Like :func:`higher`, for the ratio of the lower to the higher one."""
    return higher(Range.point(1).over(ratio))


def same(ratio: Range, width: float = STATED) -> str:
    """The verdict of "the same", "even" or "no significant difference"; with :data:`ABOUT`, of
    "similar" or "comparable". ``ratio`` is that of the two.
    """
    if not ratio.known:
        return "undecided"
    limits = band(1.0, width)
    return "yes" if ratio.within(*limits) else "no" if ratio.outside(*limits) else "undecided"


def ordered(ratios: Iterable[Range]) -> str:
    """The verdict of an order from the highest number to the lowest: the ratio of each number to
    the next one is above 1.
    """
    return together(*map(higher, ratios))


def holds(exact: bool) -> str:
    """The verdict of a part that is a fact of a run without randomness, such as a count."""
    return "yes" if exact else "no"


def together(*parts: str) -> str:
    """The verdict of a statement that has several parts."""
    if found := _settled(parts):
        return found
    return "in part" if any(p in ("yes", "in part") for p in parts) else "no"


def readings(*of: str) -> str:
    """The verdict of a statement that can be read in several ways, such as with two quantities: all
    have to agree for "yes".
    """
    if found := _settled(of):
        return found
    return "in part" if any(p in ("yes", "in part") for p in of) else "undecided" if "undecided" in of else "no"


def everywhere(points: Sequence[str]) -> str:
    """The verdict of a statement about a range of points, such as a curve: in part if it holds, or
    holds in part, at more than half of them.
    """
    if found := _settled(points):
        return found
    most = MOST * len(points)
    agree, undecided = sum(p in ("yes", "in part") for p in points), sum(p == "undecided" for p in points)
    return "in part" if agree > most else "undecided" if agree + undecided > most else "no"


def _settled(parts: Sequence[str]) -> str | None:
    """The verdict if all parts agree, or would if the undecided ones did."""
    for part in parts:
        if part not in ("yes", "in part", "no", "undecided"):
            raise ValueError(f"verdict `{part}` of a part: expected yes, in part, no or undecided")
    if not parts:
        return "not tried"
    if all(p == "yes" for p in parts):
        return "yes"
    return "undecided" if all(p in ("yes", "undecided") for p in parts) else None


def arithmetic(agrees: bool) -> str:
    """The verdict of a calculation of ours that is the paper's own."""
    return "arithmetic" if agrees else "no"
