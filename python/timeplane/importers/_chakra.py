"""Flows that wait for others, as a Chakra execution trace: one file of protobuf messages per host.

The messages are `GlobalMetadata` and `Node` of `et_def.proto` (mlcommons/chakra), each preceded by
its length. A flow is a send at its source and a receive at its destination. A wait before it is a
computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from timeplane.importers._model import Flow

#: Numbers of `NodeType`.
_METADATA, _COMPUTE, _SEND, _RECEIVE = 1, 4, 5, 6


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _node(number: int, name: str, kind: int, after: Sequence[int] = (), micros: int = 0, **attributes: int) -> bytes:
    made = _number(1, number) + _bytes(2, name.encode()) + _number(3, kind)
    if after:
        made += _bytes(5, b"".join(map(_varint, after)))
    if micros:
        made += _number(7, micros)
    for key, value in attributes.items():
        # Field 13 of an attribute is a uint64.
        made += _bytes(10, _bytes(1, key.encode()) + _number(13, value))
    return _varint(len(made)) + made


def write(flows: Sequence[Flow], prefix: Path) -> tuple[list[Path], bool]:
    """Write `PREFIX.0.et`, `PREFIX.1.et` and so on, up to the last host that has a flow.

    Return the files, and whether their durations are picoseconds instead of microseconds.
    """
    fine = any(flow.start_ps % 10**6 for flow in flows)
    head = _bytes(1, b"0.0.4")
    ranks = [bytearray(_varint(len(head)) + head) for _ in range(1 + max(max(flow[:2]) for flow in flows))]
    used = set()
    for place, flow in enumerate(flows):
        source, destination, size, start, _, after = flow
        send, receive, wait = 3 * place + 1, 3 * place + 2, 3 * place + 3
        before = [3 * other + (1 if flows[other].source == source else 2) for other in after]
        if start:
            ranks[source] += _node(wait, f"wait of flow {place}", _COMPUTE, before, start if fine else start // 10**6)
            before = [wait]
        ranks[source] += _node(send, f"flow {place}", _SEND, before, comm_dst=destination, comm_size=size, comm_tag=place)
        ranks[destination] += _node(receive, f"flow {place}", _RECEIVE, comm_src=source, comm_size=size, comm_tag=place)
        used |= {source, destination}
    made = []
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for rank, content in enumerate(ranks):
        if rank not in used:
            # A file without nodes is refused.
            content += _node(1, "no flow", _METADATA)
        made.append(prefix.parent / f"{prefix.name}.{rank}.et")
        made[-1].write_bytes(content)
    return made, fine
