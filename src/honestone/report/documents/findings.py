"""What a report lists of the answers: items that are not met, have no answer, or are met but not in
full. Each sentence once, with everyone who said it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    JudgeDoc,
    QuoteDoc,
    first_look,
    items_of,
    limits_in,
    named_looks,
    summed,
)
from honestone.system.drawing import count, line

Finding: TypeAlias = tuple[CriterionDoc, ItemDoc]


class FindingGroup(Struct, frozen=True, kw_only=True):
    """Items of one kind. `glyph` is a name of `drawing.GLYPHS`. `remark` holds for all of them, or
    counts those that are not listed; `shows_notes`: whether the note of each is still to be shown.
    """

    title: str
    glyph: str
    found: tuple[Finding, ...]
    remark: str = ""
    shows_notes: bool = True

    @property
    def is_empty(self) -> bool:
        return not self.found and not self.remark


def finding_groups(
    criteria: Sequence[CriterionDoc], judges: Iterable[JudgeDoc]
) -> list[FindingGroup]:
    """The groups that have something to list. `judges` are those whose states the report lists:
    why one of them is absent is not repeated at the items.
    """
    pairs = list(items_of(with_own_notes(criteria, list(judges))))
    unmet = tuple(pair for pair in pairs if pair[1].is_problem)
    partial = tuple(pair for pair in pairs if pair[0].is_improvable(pair[1]))
    noted = [bool(item.note) for _, item in items_of(criteria)]
    unanswered = [one for one in zip(pairs, noted, strict=True) if one[0][1].is_unanswered]
    groups = [
        FindingGroup(title="Not met", glyph="no", found=unmet),
        _unanswered(unanswered),
        FindingGroup(title="Met, but not in full", glyph="split", found=partial),
    ]
    return [group for group in groups if not group.is_empty]


def _unanswered(findings: Sequence[tuple[Finding, bool]]) -> FindingGroup:
    """Items without an answer, each with whether it had a note before the reasons of absent judges
    were taken from it. Those that lack an answer only because judges are absent are counted.
    """
    rest = [pair for pair, had_note in findings if pair[1].note or not had_note]
    explained = len(findings) - len(rest)
    remarks = [f'{count(explained, "item")}: see "Judges" for why'] if explained else []
    shared = common_note(rest)
    return FindingGroup(
        title="Not answered",
        glyph="unknown",
        found=tuple(rest),
        remark="; ".join([*remarks, *([shared] if shared else [])]),
        shows_notes=shared is None,
    )


def with_own_notes(
    criteria: Iterable[CriterionDoc], judges: Sequence[JudgeDoc]
) -> list[CriterionDoc]:
    """The criteria without notes that are the reasons of absent judges as a whole."""
    return [
        replace(one, items=[replace(item, note=own_note(item.note, judges)) for item in one.items])
        for one in criteria
    ]


def own_note(note: str | None, judges: Iterable[JudgeDoc]) -> str | None:
    """Why an item has no answer, without what is the reason of an absent judge as a whole; None
    where nothing is left.
    """
    if not note:
        return None
    left = f"; {note}; "
    for judge in judges:
        if judge.is_absent and judge.reason:
            left = left.replace(f"; {judge.id}: {judge.reason}; ", "; ")
    return left.removeprefix("; ").removesuffix("; ") or None


def common_note(found: Sequence[Finding]) -> str | None:
    """Why none of several items has an answer, where one reason holds for all of them."""
    notes = {item.note for _, item in found if item.is_unanswered}
    note = notes.pop() if len(found) > 1 and len(notes) == 1 else None
    return note and f"{'both' if len(found) == 2 else f'all {len(found):,}'}: {note}"


class SharedQuote(Struct, frozen=True, kw_only=True):
    """A quote with every judge that gave it."""

    quote: str
    judges: tuple[str, ...]
    documents: tuple[QuoteDoc, ...]

    @property
    def found(self) -> bool | None:
        return self.documents[0].found

    def place_words(self, of: str = "artifact") -> str:
        return self.documents[0].place_words(of)

    def source_words(self, of: str = "artifact") -> str:
        """`codex, gemini, in the artifact`: who quoted it, and whether it is there."""
        return ", ".join(
            part for part in (*named_looks(map(line, self.judges)), self.place_words(of)) if part
        )


def shared_quotes(item: ItemDoc) -> list[SharedQuote]:
    """The quotes of an item, equal ones as one, in the order in which they were given first."""
    groups: dict[tuple[str, bool | None], list[QuoteDoc]] = {}
    for one in item.evidence:
        groups.setdefault((one.quote, one.found), []).append(one)
    return [
        SharedQuote(
            quote=quote,
            judges=tuple(dict.fromkeys(one.judge for one in ones)),
            documents=tuple(ones),
        )
        for (quote, _), ones in groups.items()
    ]


def listed_judges(judges: Sequence[JudgeDoc]) -> list[JudgeDoc]:
    """The judges as a report lists them: the looks of one judge that answered, or failed for one
    reason, are one row, `claude (4 looks)`; of one that was not there only its name.
    """
    rows: dict[tuple[str, ...], list[JudgeDoc]] = {}
    for number, judge in enumerate(with_all_looks(judges)):
        is_plain = not (judge.troubles or judge.repairs)
        name = first_look(judge.id)
        key = (name, judge.state, judge.reason or "") if is_plain else (str(number),)
        rows.setdefault(key, []).append(judge)
    return [
        ones[0]
        if len(ones) == 1
        else replace(
            ones[0],
            id=_name_of(name[0], ones),
            unusable=sum(one.unusable_replies for one in ones) or UNSET,
        )
        for name, ones in rows.items()
    ]


def with_all_looks(judges: Sequence[JudgeDoc]) -> list[JudgeDoc]:
    """The judges, each with what is known of all its looks at the first of them."""
    of_judge: dict[str, list[JudgeDoc]] = {}
    for one in judges:
        of_judge.setdefault(first_look(one.id), []).append(one)
    known = {name: summed(looks[0], looks) for name, looks in of_judge.items()}
    return [
        known.pop(name) if (name := first_look(one.id)) in known else replace(one, unanswered=UNSET)
        for one in judges
    ]


def _name_of(judge: str, looks: Sequence[JudgeDoc]) -> str:
    """A judge that was not there, or that a limit kept from an answer, never looked, and a call
    without a mark is no look. Looks at a part of the criteria are counted apart.
    """
    if looks[0].state == "SKIPPED" or limits_in([looks[0].reason]):
        return judge
    if looks[0].state == "DEGRADED":
        return f"{judge} (asked {len(looks)} times)"
    parts = sum(1 for one in looks if one.criteria)
    return f"{judge} ({len(looks)} looks{f', {parts} at a part' if parts else ''})"


def is_listed(judge: JudgeDoc, listed: Iterable[JudgeDoc]) -> bool:
    """Whether a list of judges says of this one what it is, and why."""
    state = (judge.id, judge.state, judge.reason)
    return any((one.id, one.state, one.reason) == state for one in listed)


def states_words(judges: Sequence[JudgeDoc], listed: Iterable[JudgeDoc] = ()) -> str:
    """The judges that were not there, with why; empty when all were. Why is left out for those that
    are `listed` elsewhere with the same reason.
    """
    absent = [one for one in judges if one.is_absent]
    known = list(listed)
    bare = [replace(one, reason=None) if is_listed(one, known) else one for one in absent]
    return "; ".join(
        f"{line(one.id)} {line(one.state)}" + (f": {line(one.reason, 120)}" if one.reason else "")
        for one in listed_judges(bare)
    )


def invented_quotes(criteria: Iterable[CriterionDoc], judge: str) -> str | None:
    """A remark on a judge none of whose quotes is in what it judged."""
    found = [
        quote.found
        for _, item in items_of(criteria)
        for quote in item.evidence
        if quote.judge == judge and quote.found is not None
    ]
    if not found or any(found):
        return None
    none = "its quote is" if len(found) == 1 else f"none of its {len(found)} quotes is"
    negated = " not" if len(found) == 1 else ""
    return (
        f"{none}{negated} in what it judged, so do not let it decide before "
        "`honestone judges calibrate` has measured it"
    )
