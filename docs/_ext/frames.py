"""Builds the page of frames: one of each from the encoders, parsed by the dissector."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from built import ROOT, example
from generated import Page

_DISSECTOR = ROOT / "data" / "wireshark" / "timeplane.lua"
#: A list shows at most this many items.
_ITEMS = 3


def _packets(capture: Path) -> Iterator[ElementTree.Element]:
    command = ["tshark", "-r", capture, "-T", "pdml", "-X", f"lua_script:{_DISSECTOR}", "--disable-heuristic", "dns_udp"]
    try:
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    except FileNotFoundError:
        raise RuntimeError("tshark is not installed: run `bash install.sh`") from None
    yield from ElementTree.fromstring(out)


def _fields(proto: ElementTree.Element, depth: int = 0) -> Iterator[tuple[int, ElementTree.Element]]:
    items: dict[str, int] = {}
    for field in proto:
        if field.get("hide") == "yes":
            continue
        name = field.get("name", "")
        if len(field) and not name.startswith("timeplane."):
            # An item of a list; its title starts with its kind.
            kind = field.get("show", field.get("showname", "")).split(" ")[0]
            items[kind] = items.get(kind, 0) + 1
            if items[kind] > _ITEMS:
                continue
        yield depth, field
        yield from _fields(field, depth + 1)


def page() -> Page:
    """All frames."""
    made = Page(
        "Frames",
        "The messages of agents and controllers, byte by byte: one of each from the encoders (`crates/protocol/src/wire`), parsed "
        "by the dissector (`data/wireshark/timeplane.lua`). A test compares both value by value. All numbers are big-endian. Offsets "
        "count from the start of the Ethernet frame, without preamble and check sequence. Names are display filters of Wireshark. A list shows its first "
        "items; a message that does not fit into one datagram takes several.",
    )
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "frames.pcap"
        example("frames", str(capture))
        for packet in _packets(capture):
            protos = {proto.get("name"): proto for proto in packet}
            proto = protos.get("timeplane")
            if proto is None:
                continue
            ether_type = _ether_type(protos)
            title = _title(proto, ether_type)
            if title in seen:
                continue
            seen.add(title)
            carrier = "over UDP, port 51208" if "udp" in protos else f"EtherType {ether_type}"
            length = protos["frame"].find("field[@name='frame.len']").get("show")
            made.add(f"## {title}", f"{carrier}; {length} bytes in all.")
            rows = []
            for depth, field in _fields(proto):
                name = field.get("name", "")
                shown = name.startswith("timeplane.")
                indent = "&nbsp;" * 4 * depth
                at, size = int(field.get("pos", "0")), int(field.get("size", "0"))
                label = field.get("showname") or field.get("show") or ""
                rows.append((str(at), str(size) if size else "", indent + (f"`{name}`" if shown else ""), _escape(label)))
            made.table(("at", "bytes", "field", "here"), rows)
    if len(seen) < 12:
        raise RuntimeError(f"{len(seen)} kinds of frames from the dissector: expected at least 12: {', '.join(sorted(seen))}")
    return made


def _escape(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _ether_type(protos: dict[str | None, ElementTree.Element]) -> str:
    field = protos["eth"].find("field[@name='eth.type']")
    return f"{int(field.get('show', '0'), 16):#06x}" if field is not None else "?"


def _title(proto: ElementTree.Element, ether_type: str) -> str:
    """Return the kind of a frame, without its numbers."""
    shown = proto.get("showname", "").removeprefix("timeplane, ")
    what = re.match(r"[A-Za-z ]+?(?=,|:| \d|$)", shown)
    if what is None:
        raise RuntimeError(f"title `{shown}` of the dissector: expected a kind of frame")
    if what[0] != "Signal":
        return what[0]
    names = {field.get("name") for field in proto.iter("field")}
    hold = "with a hold" if {"timeplane.signal.hold", "timeplane.signal.hold_ns"} & names else "without a hold"
    return f"Signal of EtherType {ether_type}, {hold}" + (" and tagged" if "timeplane.signal.tag" in names else "")
