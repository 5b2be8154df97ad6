"""Remarks: what a rule of the linter says about one place of a rubric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from honestone.core.judging.rubric import Check, Criterion, Item, Path, Rubric
from honestone.core.tables import Fact, PlainRemark, RuledRemark, rule_texts

_LONGEST: Final = 4000


class Remark(RuledRemark, Struct, frozen=True, kw_only=True):
    """Something that is allowed but rarely meant. `path` leads to it, as in RubricError:
    ("criteria",
    0, "items", 2).

    `at_key`: the key itself is meant, not its value. `text` is the wording remarked on, `check` the
        check that would answer it, `else_path` where to look when the file has nothing at `path`,
        `criterion` and `item` the ids of what it is about.
    """

    rules = rule_texts("authoring/lint/rules")

    rule: str
    path: Path
    facts: Mapping[str, Fact] = field(default_factory=dict)
    place: str = ""
    at_key: bool = False
    else_path: Path | None = None
    criterion: str | None = None
    item: str | None = None
    text: str | None = None
    check: Check | None = None

    def to_plain(self) -> PlainRemark:
        plain = super().to_plain()
        plain["criterion"], plain["item"] = self.criterion, self.item
        if self.check is not None:
            plain["check"] = {self.check.name: self.check.value, **self.check.options}
        return plain


class PlacedQuestion(Struct, frozen=True, kw_only=True):
    """One question of a rubric and its place in the file."""

    criterion: Criterion
    item: Item
    path: Path

    @property
    def text(self) -> str:
        """What is asked, as far as anybody reads it: wordings come from anywhere and may be of any
        length.
        """
        return self.item.requirement[:_LONGEST]

    @property
    def by_judges(self) -> bool:
        return self.item.check is None

    @property
    def is_yes_no(self) -> bool:
        """A yes/no question to judges: the only kind whose wording has to be decidable by itself."""
        return self.item.check is None and self.item.anchors is None

    def remark(
        self, rule: str, check: Check | None = None, *, shown: int = 90, **facts: Fact
    ) -> Remark:
        """`shown`: how much of the question the remark quotes."""
        return Remark(
            rule=rule,
            path=self.path,
            facts={"asked": short(self.text, shown), **facts},
            criterion=self.criterion.id,
            item=None if self.item.whole else self.item.id,
            text=self.item.requirement,
            check=check,
        )


def criteria_of(rubric: Rubric) -> Iterator[tuple[Criterion, Path]]:
    """Every criterion with its path, parents before children."""
    yield from _walk(rubric.criteria, ("criteria",))


def _walk(group: tuple[Criterion, ...], path: Path) -> Iterator[tuple[Criterion, Path]]:
    for index, criterion in enumerate(group):
        here = (*path, index)
        yield criterion, here
        yield from _walk(criterion.children, (*here, "criteria"))


def asked(rubric: Rubric) -> Iterator[PlacedQuestion]:
    """Every question in the order of the file."""
    for criterion, here in criteria_of(rubric):
        for index, item in enumerate(criterion.items):
            path = here if item.whole else (*here, "items", index)
            yield PlacedQuestion(criterion=criterion, item=item, path=path)


def short(text: str, limit: int = 90) -> str:
    """A wording on one line, in quotes."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= limit else f'"{line[: limit - 3]}..."'
