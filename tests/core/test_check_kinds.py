"""The table of kinds of check, of which each kind is read when it is looked up."""

from __future__ import annotations

import json
import re
import tomllib

from honestone.core.checking.checks import OWN
from honestone.core.tables import table_text


def test_each_kind_is_what_the_whole_table_says() -> None:
    """In its order, with its options before the shared ones, and every shape put in."""
    rows = tomllib.loads(table_text("checking/check_kinds"))
    shared = rows.pop("shared")["options"]
    shapes = rows.pop("shapes")
    assert list(OWN) == list(rows)
    for name, row in rows.items():
        kind, options = OWN[name], row.get("options", {})
        assert (kind.doc, kind.takes, kind.example) == (row["doc"], row["takes"], row["example"])
        assert list(kind.options) == [*options, *row.get("shared", ())]
        for key, option in kind.options.items():
            assert option.doc == {**shared, **options}[key]["doc"]
        assert kind.schema == filled(row["schema"], shapes)


def filled(value: object, shapes: dict[str, object]) -> object:
    """The same with the shapes that it names."""
    text, count = json.dumps(value), 1
    while count:
        text, count = re.subn(r'"@(\w+)"', lambda name: json.dumps(shapes.get(name[1])), text)
    return json.loads(text)
