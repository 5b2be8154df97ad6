"""Tables of this package that are data: kinds of check, words and wordings. A file of them is as
much its code as a module.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pkgutil import get_data
from typing import ClassVar, NotRequired, TypeAlias, TypedDict

from msgspec import Struct

from honestone.core.json_value import Json


def table_text(name: str, package: str = __package__) -> str:
    """The text of `name`.toml in this package, or in another one of ours."""
    data = get_data(package, f"{name}.toml")
    assert data is not None
    return data.decode()


def table_json(name: str) -> str:
    """A table as JSON text, its `parts` put in where `{NAME}` names one; parts may name others."""
    rows = tomllib.loads(table_text(name))
    parts = rows.pop("parts", {})
    text, count = json.dumps(rows), 1
    while count:
        text, count = re.subn(r"\{([A-Z_]+)\}", lambda part: json.dumps(parts[part[1]])[1:-1], text)
    return text


class RuleText(Struct, frozen=True, kw_only=True):
    """What a linter says of a rule: why it matters, what was found, what to do; what was found
    fills the {names}.
    """

    why: str
    message: str
    suggestion: str
    is_advice: bool = False


Fact: TypeAlias = "str | int | float | Fraction | Sequence[str] | None"
"""What a linter found, put into the words of a rule."""


class PlainRemark(TypedDict):
    """A remark as JSON. Rubrics name `criterion` and `item`, and the `check` that would answer it;
    suites the `case`.
    """

    rule: str
    place: str
    message: str
    why: str
    suggestion: str
    criterion: NotRequired[str | None]
    item: NotRequired[str | None]
    check: NotRequired[Json]
    case: NotRequired[str | None]


class RuledRemark:
    """A remark of a linter in the words of its rule. `facts` are what was found, by their names in
    the rule's texts; `place` is where in a file, once that is known.
    """

    __slots__ = ()
    rules: ClassVar[Mapping[str, RuleText]]
    rule: str
    facts: Mapping[str, Fact]
    place: str

    @property
    def is_advice(self) -> bool:
        return self.rules[self.rule].is_advice

    @property
    def why(self) -> str:
        return self.rules[self.rule].why

    @property
    def message(self) -> str:
        return self.rules[self.rule].message.format(**self.facts)

    @property
    def suggestion(self) -> str:
        return self.rules[self.rule].suggestion.format(**self.facts)

    def to_plain(self) -> PlainRemark:
        """One of the findings of `honestone.findings/1`."""
        return {
            "rule": self.rule,
            "place": self.place,
            "message": self.message,
            "why": self.why,
            "suggestion": self.suggestion,
        }


def rule_texts(name: str) -> dict[str, RuleText]:
    """The rules of a table, by id."""
    return {rule: RuleText(**row) for rule, row in tomllib.loads(table_text(name))["rules"].items()}
