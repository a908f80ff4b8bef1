"""Compares the papers' statements with the results of this study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Share of queries with a timeout from which TCP suffers from them.
SUFFERS = 0.05
#: The band of short flows' mean slowdown that published figures of DCTCP have.
PUBLISHED = (1.5, 3.0)


def band(of: Range, low: float, high: float) -> str:
    """The verdict of a range that the paper gives."""
    return "yes" if of.within(low, high) else "no" if of.outside(low, high) else "undecided"


def much(ratio: Range) -> str:
    """The verdict of "much longer" or "much higher": twice as much, or in part if it is more."""
    if ratio.known and scale.STATED < ratio.low <= scale.NEAR:
        return "in part"
    return scale.above(ratio, scale.NEAR)


def spread(o: Outcome, x: float, scheme: str) -> Range:
    """Distance of a queue's 5th and 95th percentiles in packets."""
    low, high = (o.range(x, scheme, f"queue_p{p}") for p in (5, 95))
    return Range(high.mean - low.mean, max(high.low - low.high, 0.0), high.high - low.low)


def percentiles(o: Outcome, x: float, scheme: str) -> str:
    """The median of a queue, and where 90 % of the samples are."""
    low, mid, high = (o.mean(x, scheme, f"queue_p{p}") for p in (5, 50, 95))
    return f"{mid:.0f} packets ({low:.0f} to {high:.0f})"


def queue_dctcp(outcomes: Outcomes) -> Found:
    o = outcomes["queue"]
    text = f"{percentiles(o, 2, 'dctcp')}; 20 flows: {percentiles(o, 20, 'dctcp')}; hosts of today: {percentiles(o, 2, 'dctcp_today')}"
    return text, scale.matches(o.range(2, "dctcp", "queue_p50"), "about 20 packets")


def queue_tcp(outcomes: Outcomes) -> Found:
    o = outcomes["queue"]
    ratio = o.ratio(2, "tcp", "queue_p50", "dctcp")
    text = f"{ratio.shown('.1f')} times; {percentiles(o, 2, 'tcp')}; 20 flows: {percentiles(o, 20, 'tcp')}; CUBIC of today: {percentiles(o, 2, 'tcp_today')}"
    return text, scale.compares(ratio, "10x larger")


def queue_spread(outcomes: Outcomes) -> Found:
    o = outcomes["queue"]
    tcp, dctcp = (spread(o, 2, scheme) for scheme in ("tcp", "dctcp"))
    text = f"90 % of the samples are within {tcp.shown('.0f')} packets under TCP, within {dctcp.shown('.1f')} under DCTCP"
    return text, scale.together(scale.higher(tcp.over(dctcp)), scale.above(tcp.over(dctcp), scale.NEAR))


def throughput(outcomes: Outcomes) -> Found:
    o = outcomes["queue"]
    of = {(x, scheme): o.range(x, scheme, "goodput_Gbps") for x in (2, 20) for scheme in ("tcp", "dctcp")}
    text = "; ".join(f"{scheme.upper()}, {x} flows: {r.shown('.3f')} Gb/s" for (x, scheme), r in of.items())
    return text, scale.together(*(scale.matches(r, "0.95 Gb/s") for r in of.values()))


def small_k(outcomes: Outcomes) -> Found:
    o = outcomes["queue"]
    ratios = {x: o.ratio(x, "dctcp_k5", "goodput_Gbps", "dctcp") for x in (2, 20)}
    text = "; ".join(f"{x} flows: {r.shown('.3f')} of that with K = 20" for x, r in ratios.items())
    return text, scale.together(*(scale.same(r) for r in ratios.values()))


def short(outcomes: Outcomes, scheme: str, phrase: str) -> Found:
    o = outcomes["short"]
    new, open_ = (o.range(2, name, "fct_p50_ms") for name in (scheme, f"{scheme}_open"))
    text = f"window that is open: {open_.shown('.2f')} ms; window of a new connection: {new.shown('.2f')} ms"
    if scheme == "dctcp":
        text += f"; hosts of today, new connection: {o.range(2, 'dctcp_today', 'fct_p50_ms').shown('.2f')} ms"
    return text, scale.readings(*(scale.matches(of, phrase) for of in (new, open_)))


def short_timeouts(outcomes: Outcomes) -> Found:
    o = outcomes["short"]
    of = {scheme: o.range(2, scheme, "chunk_timeouts") for scheme in ("tcp", "tcp_open", "dctcp", "dctcp_open")}
    names = {"tcp": "TCP, new connections", "tcp_open": "open", "dctcp": "DCTCP, new connections", "dctcp_open": "open"}
    text = "; ".join(f"{names[scheme]}: {r.shown('.1f')}" for scheme, r in of.items())
    return text, scale.together(*(scale.below(r, 0) for r in of.values()))


def late(o: Outcome, scheme: str, servers: Sequence[float] | None = None) -> str:
    """Shares of queries with a timeout, by number of servers."""
    return ", ".join(f"{x:g}: {100 * o.mean(x, scheme, 'with_timeout'):.0f} %" for x in servers or o.places)


def suffers(o: Outcome, scheme: str, x: float) -> str:
    return scale.above(o.range(x, scheme, "with_timeout"), SUFFERS)


def spared(o: Outcome, scheme: str, x: float) -> str:
    return scale.below(o.range(x, scheme, "with_timeout"), SUFFERS)


def incast_least(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    x = min(o.places, key=lambda x: abs(x - 20))
    of = o.range(x, "dctcp_10", "qct_mean_ms")
    return f"{of.shown('.2f')} ms on average, {x:g} servers, DCTCP", scale.matches(of, "around 8 ms")


def incast_begin(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    parts = [suffers(o, "tcp_10", x) if x > 10 else spared(o, "tcp_10", x) for x in o.places]
    text = f"least timeout 10 ms, servers: {late(o, 'tcp_10')}; 300 ms: {late(o, 'tcp_300', o.places[:3])}; 10 ms and RACK: {late(o, 'tcp_rack')}; CUBIC of today, 200 ms: {late(o, 'cubic_today')}"
    return text, scale.everywhere(parts)


def incast_dctcp(outcomes: Outcomes) -> Found:
    o, small = outcomes["incast"], outcomes["incast_100kB"]
    before = [spared(o, "dctcp_10", x) for x in o.places if x < 35]
    after = [suffers(o, "dctcp_10", x) for x in o.places if x > 35]
    text = f"100 packets of 1500 B: {late(o, 'dctcp_10')}; 100 kB, with which the paper calculates: {late(small, 'dctcp_10')}"
    return text, scale.together(scale.everywhere(before), *after)


def incast_better(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    text, parts = [], []
    for least in (10, 300):
        ratios = {x: o.ratio(x, f"tcp_{least}", "qct_mean_ms", f"dctcp_{least}") for x in o.places if x < 35}
        text.append(f"{least} ms: " + ", ".join(f"{x:g}: {r.mean:.2g}" for x, r in ratios.items()))
        parts += [much(r) for r in ratios.values()]
    return f"times, by servers: {'; '.join(text)}", scale.everywhere(parts)


def incast_converges(outcomes: Outcomes) -> Found:
    o, small = outcomes["incast"], outcomes["incast_100kB"]
    of = [r.ratio(40, "tcp_10", "qct_mean_ms", "dctcp_10") for r in (o, small)]
    text = f"{of[0].shown('.2f')} times; with 100 kB {of[1].shown('.2f')} times"
    return text, scale.same(of[0])


def shared(outcomes: Outcomes, name: str) -> Found:
    o = outcomes["incast_shared"]
    text, parts = [], []
    for scheme, which in ((f"{name}_open", "windows that are open"), (f"{name}_10", "windows of new connections")):
        text.append(f"{which}, servers: {late(o, scheme)}")
        if name == "dctcp":
            parts.append(scale.together(*(scale.below(o.range(x, scheme, "with_timeout"), 0) for x in o.places)))
        else:
            parts.append(suffers(o, scheme, 40))
    return "; ".join(text), scale.readings(*parts)


def slowdowns(o: Outcome, scheme: str, loads: Sequence[float]) -> Found:
    of = {x: o.range(x, scheme, "short_mean") for x in loads}
    tail = ", ".join(f"{x:g}: {o.mean(x, scheme, 'short_p99'):.1f}" for x in loads)
    text = "; ".join(f"load {x:g}: {r.shown('.2f')}" for x, r in of.items())
    return f"{text}; 99th percentile {tail}", scale.everywhere([band(r, *PUBLISHED) for r in of.values()])


def web_short(outcomes: Outcomes) -> Found:
    o = outcomes["websearch"]
    text, parts = [], []
    for scheme, name in (("spraying", "spraying"), ("ecmp", "ECMP")):
        found, verdict = slowdowns(o, scheme, [x for x in o.places if x <= 0.6])
        text.append(f"{name}: {found}")
        parts.append(verdict)
    return "; ".join(text), scale.readings(*parts)


def web_own(outcomes: Outcomes, scheme: str) -> Found:
    o = outcomes["marking"]
    return slowdowns(o, scheme, [x for x in o.places if x <= 0.6])


def own_timeouts(outcomes: Outcomes) -> Found:
    o = outcomes["marking"]
    of = [o.range(x, scheme, "baseless_timeouts") for x in o.places for scheme in o.experiment.schemes]
    dropped = max(o.mean(x, scheme, "dropped") for x in o.places for scheme in o.experiment.schemes)
    text = f"at most {max(r.mean for r in of):g} timeouts in runs without a lost packet; at most {dropped:g} lost packets in a run"
    return text, scale.together(*(scale.below(r, 0) for r in of))


def spraying(outcomes: Outcomes, phrase: str) -> Found:
    o = outcomes["spraying"]
    x = o.places[0]
    ratio = o.ratio(x, "spraying", "goodput_share", "ecmp")
    shares = ", ".join(f"{name} {100 * o.mean(x, c, 'goodput_share'):.0f} %" for c, name in (("spraying", "spraying"), ("ecmp", "ECMP")))
    text = f"{ratio.shown('.2f')} times; {shares} of full links"
    return text, scale.compares(ratio, phrase) if phrase else much(ratio)


def spray_queues(outcomes: Outcomes) -> Found:
    o = outcomes["spraying"]
    x = o.places[0]
    ratio = o.ratio(x, "spraying", "queue_deviation", "ecmp")
    of = ", ".join(
        f"{name} {o.mean(x, c, 'queue_mean'):.1f} ± {o.mean(x, c, 'queue_deviation'):.1f} packets"
        for c, name in (("spraying", "spraying"), ("ecmp", "ECMP"))
    )
    return f"mean and deviation over links: {of}", scale.lower(ratio)


def spray_reordering(outcomes: Outcomes) -> Found:
    o = outcomes["spraying"]
    x = o.places[0]
    parts, text = [], []
    for scheme, name in (("spraying", "loss detection by time (RACK)"), ("spraying_rfc", "three duplicates")):
        of = o.range(x, scheme, "goodput_share")
        again, lost = (o.mean(x, scheme, quantity) for quantity in ("retransmissions", "dropped"))
        text.append(f"{name}: {of.times(100).shown('.0f')} % of full links, {again:.0f} retransmissions for {lost:.0f} lost packets")
        parts.append(scale.same(of, scale.ABOUT))
    return "; ".join(text), scale.readings(*parts)


def spray_failure(outcomes: Outcomes) -> Found:
    o, failed = outcomes["spraying"], outcomes["spraying_failed"]
    x = o.places[0]
    ratios = {c: failed.range(x, c, "goodput_share").over(o.range(x, c, "goodput_share")) for c in ("spraying", "ecmp")}
    least = {c: failed.range(x, c, "goodput_least").over(o.range(x, c, "goodput_least")) for c in ratios}
    text = "; ".join(
        f"{name}: {ratios[c].shown('.3f')} of the goodput without a failure, {least[c].shown('.2f')} for the slowest flow"
        for c, name in (("spraying", "spraying"), ("ecmp", "ECMP"))
    )
    return text, scale.lower(ratios["spraying"])


def guideline(outcomes: Outcomes) -> Found:
    o = outcomes["marking"]
    x = o.places[-1]
    ratio = o.ratio(x, "k20", "long_mean", "k150")
    text = f"load {x:g}, slowdown of flows above 10 MB with K = 20 kB over that with 150 kB: {ratio.shown('.3f')}"
    return text, scale.same(ratio)


CLAIMS: Claims = {
    "queue_dctcp": (["queue"], queue_dctcp),
    "queue_tcp": (["queue"], queue_tcp),
    "queue_spread": (["queue"], queue_spread),
    "throughput": (["queue"], throughput),
    "small_k": (["queue"], small_k),
    "short_dctcp": (["short"], lambda o: short(o, "dctcp", "below 1 ms")),
    "short_tcp": (["short"], lambda o: short(o, "tcp", "19 ms")),
    "short_timeouts": (["short"], short_timeouts),
    "incast_least": (["incast"], incast_least),
    "incast_begin": (["incast"], incast_begin),
    "incast_dctcp": (["incast", "incast_100kB"], incast_dctcp),
    "incast_better": (["incast"], incast_better),
    "incast_converges": (["incast", "incast_100kB"], incast_converges),
    "shared_dctcp": (["incast_shared"], lambda o: shared(o, "dctcp")),
    "shared_tcp": (["incast_shared"], lambda o: shared(o, "tcp")),
    "web_short": (["websearch"], web_short),
    "spray_higher": (["spraying"], lambda o: spraying(o, "")),
    "spray_queues": (["spraying"], spray_queues),
    "spray_gain": (["spraying"], lambda o: spraying(o, "37 % higher")),
    "spray_reordering": (["spraying"], spray_reordering),
    "spray_failure": (["spraying", "spraying_failed"], spray_failure),
    "guideline": (["marking"], guideline),
    "own_20": (["marking"], lambda o: web_own(o, "k20")),
    "own_40": (["marking"], lambda o: web_own(o, "k40")),
    "own_65": (["marking"], lambda o: web_own(o, "k65")),
    "own_handshake": (["marking"], lambda o: web_own(o, "handshake")),
    "own_fifo": (["marking"], lambda o: web_own(o, "fifo")),
    "own_timeouts": (["marking"], own_timeouts),
}
