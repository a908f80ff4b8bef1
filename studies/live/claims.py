"""Compares the simulator with the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from timeplane.studies import Claims, Found, Outcome, scale
from timeplane.studies.scale import Range

from .experiments import LIVE, SIMULATED, Experiment

Outcomes = Mapping[str, Outcome[Experiment]]

POLICIES = ("reactive", "proactive", "predicted")


def ratio(outcome: Outcome[Experiment], x: float, scheme: str, quantity: str) -> Range:
    """Live over simulated. Runs of both worlds are independent."""
    live, simulated = (outcome.range(x, f"{scheme} {world}", quantity) for world in (LIVE, SIMULATED))
    return live.over(simulated)


def same(outcomes: Outcomes, name: str, places: Sequence[float], schemes: Sequence[str], quantities: Mapping[str, str]) -> Found:
    """The same in both worlds, in all quantities (their names and units) and at all places."""
    o, parts, verdicts = outcomes[name], [], []
    for x in places:
        for scheme in schemes:
            for quantity, unit in quantities.items():
                live, simulated = (o.mean(x, f"{scheme} {world}", quantity) for world in (LIVE, SIMULATED))
                of = ratio(o, x, scheme, quantity)
                where = " ".join(word for word in (scheme if len(schemes) > 1 else "", quantity.split("_")[1] if len(quantities) > 1 else "") if word)
                at = f"{x:g}: " if len(places) > 1 else f"{where}: " if where else ""
                parts.append(f"{at}simulated {simulated:.3g}{unit}, live {live:.3g}{unit}, {of.shown('.3f')} times")
                verdicts.append(scale.same(of))
    return "; ".join(parts), scale.together(*verdicts)


def simulator(outcomes: Outcomes) -> Found:
    """Goodput of the flows, as REACToR compares it."""
    of = ratio(outcomes["circuits"], 6, "circuits", "goodput_Mbps")
    low, high = sorted(abs(100 * (limit - 1)) for limit in (of.low, of.high))
    error = Range(abs(100 * (of.mean - 1)), 0.0 if of.low < 1 < of.high else low, high)
    return f"live over simulated {of.shown('.3f')}, an error of {error.shown('.1f', ' %')}", scale.matches(error, "below 1 %")


def violations(outcomes: Outcomes) -> Found:
    """What the observer at the switch counts, over all runs."""
    o = outcomes["slots"]
    found = {x: sum(o.values[x, f"slots {LIVE}", "violations"].values()) if (x, f"slots {LIVE}", "violations") in o.values else 0.0 for x in o.places}
    frames = sum(o.mean(x, f"slots {LIVE}", "frames") * o.experiment.seeds for x in o.places)
    text = ", ".join(f"{x:g} ms: {n:.0f}" for x, n in found.items())
    return f"{text}, of {frames:.0f} frames in all", scale.holds(not any(found.values()))


CLAIMS: Claims = {
    "simulator": (["circuits"], simulator),
    "circuits_time": (["circuits"], lambda o: same(o, "circuits", [6], ["circuits"], {"completion_ms": " ms"})),
    "circuits_share": (["circuits"], lambda o: same(o, "circuits", [6], ["circuits"], {"circuit_share": ""})),
    "slots_time": (["slots"], lambda o: same(o, "slots", [2.0], ["slots"], {"completion_ms": " ms"})),
    "slots_filled": (["slots"], lambda o: same(o, "slots", [2.0], ["slots"], {"filled": ""})),
    "slots_shorter": (["slots"], lambda o: same(o, "slots", [1.0, 0.5, 0.3], ["slots"], {"completion_ms": " ms"})),
    "violations": (["slots"], violations),
    "rates_time": (["rates"], lambda o: same(o, "rates", [4, 8], ["rates"], {"completion_ms": " ms"})),
    "proxy_rtt": (["proxy"], lambda o: same(o, "proxy", [5], POLICIES, {"rtt_p50_ms": " ms", "rtt_p99_ms": " ms"})),
    "proxy_goodput": (["proxy"], lambda o: same(o, "proxy", [5], POLICIES, {"goodput_Mbps": " Mb/s"})),
    "cubic_rtt": (["proxy"], lambda o: same(o, "proxy", [5], ["cubic"], {"rtt_p50_ms": " ms", "rtt_p99_ms": " ms"})),
}
