"""Statistics over seeds by the rules of the comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from timeplane import _core

#: Two means are the same if proved to differ by at most this share of the baseline.
MARGIN = 0.1
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds."""

    mean: float
    #: Half of the 95 % confidence interval (Student's t); ``nan`` for one seed.
    half: float
    #: Number of seeds.
    n: int


@dataclass(frozen=True)
class Difference:
    """A relative difference of two schemes, paired by seed on the same arrivals."""

    mean: float
    half: float
    n: int
    #: Of two one-sided t-tests against the margin; ``nan`` for one seed.
    p_equivalent: float

    @property
    def verdict(self) -> str:
        """``same`` within the margin, ``differs`` if significant, ``both``, or ``unknown``.

        ``both`` is a significant difference that is proved to be within the margin.
        """
        if math.isnan(self.half):
            return "unknown"
        differs, same = abs(self.mean) > self.half, self.p_equivalent < 1 - LEVEL
        return {(True, True): "both", (True, False): "differs", (False, True): "same", (False, False): "unknown"}[differs, same]


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and interval of one number per seed; seeds without a value (``nan``) do not count."""
    known = [v for v in values if not math.isnan(v)]
    mean, half = _core.interval(known, LEVEL) or (math.nan, None)
    return Estimate(mean, math.nan if half is None else half, len(known))


def difference(values: Sequence[float], baseline: Sequence[float], margin: float = MARGIN) -> Difference:
    """Mean of paired differences of ``values`` from ``baseline``, relative to it, and a test of
    equivalence.

    The test is two one-sided t-tests against ``margin``. Pairs with a missing value or a zero
    baseline do not count.
    """
    pairs = [(v, b) for v, b in zip(values, baseline, strict=True) if not (math.isnan(v) or math.isnan(b) or b == 0)]
    of = estimate(v / b - 1 for v, b in pairs)
    p = _core.equivalence([v for v, _ in pairs], [b for _, b in pairs], margin)
    return Difference(of.mean, of.half, of.n, math.nan if p is None else p)


def jain(values: np.ndarray) -> float:
    """Jain's index of fairness: 1 if all values are equal, 1/n if one has everything; ``nan`` for
    zeros.
    """
    square = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * square) if square > 0 else math.nan
