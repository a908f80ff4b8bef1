"""Conversion between objects of :mod:`timeplane.scenario` and JSON."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Self


def _plain(value: Any) -> Any:
    if isinstance(value, Values):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    # numpy's numbers convert themselves.
    return value.item() if hasattr(value, "item") and not isinstance(value, (str, bytes)) else value


def _read(value: Any, how: str, names: Mapping[str, Any]) -> Any:
    """Read JSON as ``how`` says: a class, a table of alternatives, a list (``[name]``) or a dict
    (``{name}``).
    """
    if value is None:
        return None
    if how[0] == "[":
        return [_read(v, how[1:-1], names) for v in value]
    if how[0] == "{":
        return {k: _read(v, how[1:-1], names) for k, v in value.items()}
    known: type[Values] | dict[str, type[Values]] = names[how]
    if isinstance(known, type):
        return known._from_values(value)
    if isinstance(value, str):
        return value
    ((key, inner),) = value.items()
    return known[key]._from_values(inner)


class Values:
    """Base class of all tables of a scenario."""

    #: The key that selects this alternative.
    _key: ClassVar[str | None] = None
    #: Whether it is a single value instead of a table.
    _bare: ClassVar[bool] = False
    #: Fields that hold other tables, and how to read these.
    _reads: ClassVar[Mapping[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts and lists with the keys of a scenario file, without values that are
        ``None``.
        """
        if self._bare:
            inner = _plain(self.value)  # type: ignore[attr-defined]
        else:
            fields = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name != "base"]  # type: ignore[arg-type]
            inner = {name: _plain(value) for name, value in fields if value is not None}
        return {self._key: inner} if self._key else inner

    @classmethod
    def _from_values(cls, values: Any) -> Self:
        if cls._bare:
            return cls(values)  # type: ignore[call-arg]
        names = vars(sys.modules["timeplane.scenario"])
        read = lambda name, value: _read(value, cls._reads[name], names) if name in cls._reads else value
        return cls(**{name: read(name, value) for name, value in values.items()})
