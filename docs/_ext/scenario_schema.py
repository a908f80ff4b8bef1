"""Builds the pages of scenario files from the JSON Schema: every key with type, default and meaning.

Each table of a file has a page. A type has its section on the page of the table that uses it first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from generated import Page

_PLACES = "#/$defs/"
#: A part of a table that has a page of its own.
_PARTS = ("scheme.NAME.plan",)


class _Schema:
    def __init__(self, schema: dict[str, Any]) -> None:
        self.root = schema
        self.defs: dict[str, dict[str, Any]] = schema["$defs"]
        #: Types with a section of their own, in the order in which keys lead to them.
        self.sections: list[str] = []
        #: The dotted key of the first use of each type.
        self.keys: dict[str, str] = {}

    def table(self, name: str) -> str:
        """The dotted key of the table on whose page a type is."""
        key = self.keys[name]
        return next((part for part in _PARTS if f"{key}.".startswith(f"{part}.")), re.split(r"[.[]", key)[0])

    def reference(self, name: str, key: str) -> str:
        """Return a link to the section of a type, and add the section."""
        if name not in self.sections:
            self.sections.append(name)
            self.keys[name] = key
        return f"[{_words(name)}]({_file(self.table(name))}.md#{_label(name)})"

    def kind(self, schema: Any, key: str) -> str:
        """Describe a value in a few words, with links to types."""
        if schema is True:
            return "any value"
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_PLACES)
            target = self.defs[name]
            if target.get("type") == "string" and "oneOf" not in target:
                return f"{_words(name)}, such as `\"{target['examples'][0]}\"`" if target.get("examples") else _words(name)
            return self.reference(name, key)
        if "anyOf" in schema:
            return " or ".join(dict.fromkeys(self.kind(s, key) for s in schema["anyOf"] if s != {"type": "null"}))
        if "oneOf" in schema:
            return " or ".join(dict.fromkeys(self.kind(s, key) for s in schema["oneOf"]))
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        types = schema.get("type")
        if isinstance(types, list):
            return " or ".join(self.kind(schema | {"type": t}, key) for t in types if t != "null")
        if types == "array":
            if "prefixItems" in schema:
                return "[" + ", ".join(self.kind(s, key) for s in schema["prefixItems"]) + "]"
            return f"list of {self.kind(schema.get('items', True), f'{key}[]')}"
        if types == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                return f"table by name: {self.kind(schema['additionalProperties'], f'{key}.NAME')}"
            return "table" + (": " + ", ".join(f"`{name}`" for name in schema["properties"]) if schema.get("properties") else "")
        words = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}[types]
        least, most = schema.get("minimum"), schema.get("maximum")
        if most is not None:
            return f"{words}, {least if least is not None else ''} to {most}"
        return f"{words}, from {least}" if least else words

    def rows(self, schema: dict[str, Any], key: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield the keys of a table."""
        required = schema.get("required", [])
        for name, value in schema.get("properties", {}).items():
            place = f"{key}.{name}" if key else name
            default = "**needed**" if name in required else ""
            if value is not True and "default" in value and name not in required:
                default = f"`{_toml(value['default'])}`" if value["default"] is not None else ""
            about = "" if value is True else value.get("description", "")
            yield f"`{name}`", self.kind(value, place), default, _text(about)


_HEAD = ("key", "value", "default", "")


def _text(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def _toml(value: Any) -> str:
    """Format a default as TOML."""
    if isinstance(value, dict):
        # TOML has no null.
        parts = [f"{key} = {_toml(one)}" for key, one in value.items() if one is not None]
        return "{ " + ", ".join(parts) + " }" if parts else "{}"
    return json.dumps(value, ensure_ascii=False)


def _words(name: str) -> str:
    """Turn `TdmaSpec` into `tdma`, `AirQueue` into `air queue`."""
    name = name.removesuffix("Spec").removesuffix("Name")
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def _label(name: str) -> str:
    return f"scenario-{name.lower()}"


def _file(table: str) -> str:
    """The name of the page of a table: `scenario-fabric`, `scenario-scheme-plan`."""
    return "-".join(("scenario", *(part for part in table.split(".") if part != "NAME")))


def _title(table: str, schema: dict[str, Any]) -> str:
    """The table as its header in TOML."""
    shown = schema["properties"].get(table, {})
    if shown.get("type") == "array":
        return f"[[{table}]]"
    return f"[{table}.NAME]" if shown.get("type") == "object" and "properties" not in shown else f"[{table}]"


def pages(schema: dict[str, Any]) -> dict[str, Page]:
    """Build the index, `scenario`, and the page of each table, by name."""
    s = _Schema(schema)
    whole = list(s.rows(schema, ""))
    sections: dict[str, list[tuple[str, list[str]]]] = {}
    written = 0
    while written < len(s.sections):
        name = s.sections[written]
        written += 1
        sections.setdefault(s.table(name), []).append((name, _section(s, name)))
    # In the order of the file, a part after its table.
    order = list(schema["properties"])
    sections = {table: sections[table] for table in sorted(sections, key=lambda table: (order.index(table.split(".")[0]), table))}
    made = {}
    for table, parts in sections.items():
        own = schema["properties"].get(table, {})
        about = own.get("description") or s.defs[parts[0][0]].get("description", "")
        page = made[_file(table)] = Page(f"`{_title(table, schema)}`", f"{_text(about)} [Scenario files](scenario.md) lists the other tables.")
        if further := [other for other in sections if other != table and other.startswith(f"{table}.")]:
            page.add("On a page of its own: " + ", ".join(f"[`{other}`]({_file(other)}.md)" for other in further) + ".")
        for name, lines in parts:
            page.add(f"({_label(name)})=", f"## {_words(name).capitalize()}", *lines)
    return {"scenario": _index(schema, s, whole, sections)} | made


def _index(schema: dict[str, Any], s: _Schema, whole: list[tuple[str, str, str, str]], sections: dict[str, list[tuple[str, list[str]]]]) -> Page:
    """The page that leads to all others, and to all types. Addresses of types have long been on this page."""
    made = Page(
        "Scenario files",
        f"{_text(schema['description'])} Files are TOML. Quantities are texts with a unit. An unknown key, a value without a unit or "
        "a contradiction is refused before anything runs. These pages are generated from the output of `timeplane schema`, which editors accept as well.",
    )
    made.add("## The whole file")
    made.table(_HEAD, whole)
    made.add("## Tables", "Each table has a page with all keys below it.")
    rows = []
    for table, parts in sections.items():
        anchors = ", ".join(f'<a id="{_label(name)}"></a>[{_words(name)}]({_file(table)}.md#{_label(name)})' for name, _ in parts)
        rows.append((f"[`{_title(table, schema)}`]({_file(table)}.md)", anchors))
    made.table(("table", "its parts"), rows)
    quantities = [(n, d) for n, d in schema["$defs"].items() if d.get("type") == "string" and "examples" in d]
    made.add("(scenario-quantities)=", "## Quantities", "Texts of a number and a unit.")
    made.table(("", "", "example"), [(_words(n), _text(d["description"]), f"`\"{d['examples'][0]}\"`") for n, d in quantities])
    names = "\n".join(_file(table) for table in sections)
    made.add(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return made


def _section(s: _Schema, name: str) -> list[str]:
    """The paragraphs about a type."""
    target, key = s.defs[name], s.keys[name]
    made = Page("", "")
    made.add(f"At `{key}`. {_text(target.get('description', ''))}")
    if "oneOf" in target:
        _choices(made, s, target["oneOf"], key)
    elif target.get("properties"):
        made.table(_HEAD, s.rows(target, key))
    else:
        made.add(s.kind(target, key))
    return made.parts[2:]


def _choices(made: Page, s: _Schema, choices: list[dict[str, Any]], key: str) -> None:
    """Add the alternatives of a value: a word, or a table with one key."""
    rows, tables = [], []
    for choice in choices:
        about = _text(choice.get("description", ""))
        if "x-source" in choice:
            about += f" Source: {choice['x-source']}; departures: {_text(choice['x-departures'])}."
        properties = choice.get("properties", {})
        if "const" in choice:
            rows.append((f"`{json.dumps(choice['const'])}`", "", about))
        elif len(properties) == 1:
            name, inner = next(iter(properties.items()))
            nested = inner is not True and inner.get("type") == "object" and inner.get("properties")
            rows.append((f"`{name}`", "table, below" if nested else s.kind(inner, f"{key}.{name}"), about))
            if nested:
                tables.append((name, inner))
        else:
            rows.append(("", s.kind(choice, key), about))
    made.add("One of these:")
    made.table(("", "value", ""), rows)
    for name, inner in tables:
        made.add(f"**`{name}`**")
        made.table(_HEAD, s.rows(inner, f"{key}.{name}"))
