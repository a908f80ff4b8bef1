"""Table 2, one TCP flow over a link of 20 m: by simulated frames and by the formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from timeplane.studies import Options, write_flows

from . import simulated
from .arithmetic import DRAFT, STANDARD, Mac, tcp_goodput

if TYPE_CHECKING:
    from .study import Outcome

#: MCS of the slowest and the fastest OFDM rate.
RATES = (13, 24)
#: PHY rates in Mb/s.
PHY = {13: 693.0, 24: 6756.75}
METERS = 20.0


@dataclass(frozen=True)
class Column:
    """A way to share the medium."""

    #: Path of acknowledgements, and the rest of the label.
    title: str
    access: str
    acknowledgements: str
    #: Whether results are random. They are not if only one end has data and no back-off is drawn.
    chance: bool = False
    #: Published goodput by rate, Mb/s.
    published: tuple[float, float] | None = None


#: The first, third and fourth columns are the paper's.
COLUMNS = {
    "air_calm": Column("air, no\ncollisions", "dcf_without_collisions", "air", True, (656.0, 4580.0)),
    "air": Column("air,\ncollisions", "dcf", "air", True),
    "wire": Column("wire", "dcf", "wire", True, (672.0, 5360.0)),
    "no_dcf": Column("wire, no\nDCF", "no_backoff", "wire", False, (676.0, 5620.0)),
    "token_air": Column("air,\ntoken", "token", "air"),
    "token": Column("wire,\ntoken", "token", "wire"),
}
MACS = {"draft": DRAFT, "standard": STANDARD}
#: More bytes than a run can send.
ENDLESS = 10**12


def scenario(mac: Mac, chance: bool, milliseconds: int, seeds: int) -> dict[str, Any]:
    """All random columns, or all others: two hosts with a radio each, and a wire between them.

    Wires between a host and its radio take negligible time, so that only the air is measured.
    """
    columns = {name: c for name, c in COLUMNS.items() if c.chance == chance}
    transport = {"tcp": {"initial_window": 32, "receive_window": "4 MB", "min_rto": "10 ms"}}
    return {
        "name": f"table2_{mac.name}_{'drawn' if chance else 'fixed'}",
        "description": "A TCP flow over an air link of 20 m.",
        "seeds": seeds,
        "fabric": {
            "topology": {"graph": {"hosts": 2, "switches": 2, "links": [{"nodes": pair} for pair in ([0, 2], [1, 3], [2, 3])]}},
            "rate": "1 Tb/s",
            "uplink_rate": "10 Gb/s",
            "propagation": "100 ns",
            "mtu": f"{mac.segment + 40} B",
            "radio": {
                "mac": mac.name,
                "antenna": "narrow_beam",
                "link": [{"nodes": [2, 3], "share": 1.0, "mcs": RATES[0], "distance_m": METERS}],
            },
        },
        "workload": {"flows": {"file": "table2.csv"}},
        "window": {"warmup": "20 ms", "measure": f"{milliseconds} ms", "drain": "0 s"},
        "sweep": {"fabric.radio.link.0.mcs": list(RATES)},
        "scheme": {
            name: {"transport": transport, "fabric": {"radio": {"access": c.access, "acknowledgements": c.acknowledgements}}}
            for name, c in columns.items()
        },
    }


#: Medium access with data in both directions, and acknowledgements by wire.
TWO_WAY = {"dcf": "dcf", "token": "token"}


def two_way(milliseconds: int, seeds: int) -> dict[str, Any]:
    """The scenario of table 2 with a flow in each direction."""
    values = scenario(DRAFT, True, milliseconds, seeds)
    transport = values["scheme"]["wire"]["transport"]
    values["scheme"] = {
        name: {"transport": transport, "fabric": {"radio": {"access": access, "acknowledgements": "wire"}}} for name, access in TWO_WAY.items()
    }
    return values | {"name": "two_way", "description": "A TCP flow in each direction of an air link of 20 m.", "workload": {"flows": {"file": "two_way.csv"}}}


def fill_two_way(milliseconds: int, seeds: int) -> Callable[[Outcome, Options], None]:
    """A function that fills an outcome: the goodput of both directions together by rate, and the
    share of the weaker one.
    """

    def both(outcome: Outcome, options: Options) -> None:
        base = options.out / "flows"
        write_flows(base / "two_way.csv", [(0, 0, 1, ENDLESS), (0, 1, 0, ENDLESS)])
        for run, of in simulated.runs(two_way(milliseconds, options.seeds or seeds), options, base):
            got = run.flows["received_bytes"].astype(float)
            found = {"mbps": of["goodput_bps"] / 1e6, "weaker": float(got.min() / got.sum())}
            outcome.add(float(run.point["fabric.radio.link.0.mcs"]), run.scheme_name, run.seed, found)

    return both


def fill(mac: Mac, milliseconds: int, seeds: int) -> Callable[[Outcome, Options], None]:
    """A function that fills an outcome: columns by rate, measured over ``milliseconds``, and the
    formula's values.
    """

    def all_columns(outcome: Outcome, options: Options) -> None:
        base = options.out / "flows"
        write_flows(base / "table2.csv", [(0, 0, 1, ENDLESS)])
        for chance in (True, False):
            values = scenario(mac, chance, milliseconds, (options.seeds or seeds) if chance else 1)
            for run, of in simulated.runs(values, options, base):
                wire = run.links["sent_bytes"][(run.links["from"] == 3) & (run.links["to"] == 2)].sum()
                found = {"mbps": of["goodput_bps"] / 1e6, "ack_mbps": 8 * float(wire) / of["simulated_ps"] * 1e6, "retransmissions": of["retransmissions"], "timeouts": of["timeouts"]}
                outcome.add(float(run.point["fabric.radio.link.0.mcs"]), run.scheme_name, run.seed, found)
        for x in RATES:
            for name, c in COLUMNS.items():
                # There is no closed formula with collisions.
                if name != "air":
                    formula = tcp_goodput(mac, x, c.access.removesuffix("_without_collisions"), by_air=c.acknowledgements == "air")
                    outcome.add(x, name, 0, {"arithmetic_mbps": formula / 1e6})

    return all_columns
