"""Ratings as truescore 0.7 reads them: CSV, a row for each unit and rater that rated it.

`example_id` names the unit, `judge` the rater, `judge_passed` is what it said and `human_passed`
the truth, empty where no one labelled the unit. Other columns follow: units to slice by, and
numbers such as a length to look for bias in.

Of a table of ratings these are the table's own columns. Of a suite's run a unit is an item of a
case, in the attempt that counts; the truth is the vote of a person (the judge `human`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from honestone.core.errors import UsageError
from honestone.core.labels import number_of
from honestone.core.statistics.agreement import Value
from honestone.report.documents.scorecard import CriterionDoc, ItemDoc
from honestone.report.documents.suite import CaseDoc, SuiteReportDoc, text_of
from honestone.report.left_out import no_place_in
from honestone.report.rows import csv_text, safe_cell
from honestone.system.drawing import count

# The words that it reads as yes or no; anything else must be a number.
_VERDICTS: Final = frozenset(
    "1 true t yes y pass passed correct good 0 false f no n fail failed incorrect bad".split()
)
_OWN: Final = ("example_id", "judge", "judge_passed", "human_passed")


def truescore_csv(
    units: Sequence[Sequence[str]],
    ratings: Mapping[str, Sequence[Value | None]],
    other: Mapping[str, Sequence[str]],
    truth: str | None,
) -> str:
    """`units` are what names each row, `ratings` and `other` columns as long. Without a truth it
    has no column `human_passed`. Raises UsageError for words that are neither yes nor no.
    """
    more = [name for name in other if name not in _OWN]
    rows = [[*(_OWN if truth is not None else _OWN[:3]), *map(safe_cell, more)]]
    gold = None if truth is None else ratings[truth]
    for at, unit in enumerate(units):
        name = safe_cell("/".join(unit)) or str(at + 1)
        rest = [_number_or_text(other[column][at]) for column in more]
        for rater, column in ratings.items():
            if rater != truth and column[at] is not None:
                human = [] if gold is None else [_written(gold[at])]
                rows.append([name, safe_cell(rater), _written(column[at]), *human, *rest])
    return csv_text(rows)


def _written(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        if value.casefold() not in _VERDICTS and number_of(value) is None:
            raise UsageError(
                f"truescore reads yes or no and numbers, but a rating is {value[:60]!r}",
                hint="leave that column out with --ignore, or write numbers",
            )
        return value
    return str(int(value)) if value.is_integer() else repr(value)


def _number_or_text(cell: str) -> str:
    return cell if number_of(cell) is not None else safe_cell(cell)


# ------------------------------------------------------------------------------------------------------
# a suite's run

# The voter that is code: it is never wrong about itself, so it is not measured.
_CODE: Final = "check"
_PERSON: Final = "human"
_HEAD: Final = (
    "example_id",
    "judge",
    "judge_passed",
    "human_passed",
    "case",
    "criterion",
    "status",
    "output_length",
)


def suite_truescore(doc: SuiteReportDoc) -> str:
    """Votes as numbers from 0 to 1 on their item's scale. Without a person's vote it has no column
    `human_passed`. Raises UsageError where no judge voted.
    """
    found = [
        (case, one, item)
        for case in doc.cases
        for one in case.criteria
        if one.applies
        for item in one.items
    ]
    votes = [
        (*unit, {voter: unit[2].share_of(vote) for voter, vote in unit[2].votes.items()})
        for unit in found
    ]
    has_truth = any(shares.get(_PERSON) is not None for *_, shares in votes)
    raters = (
        {voter for *_, shares in votes for voter in shares}
        - {_CODE}
        - ({_PERSON} if has_truth else set())
    )
    rows = [[name for name in _HEAD if has_truth or name != "human_passed"]]
    named = Counter[str]()
    for case, criterion, item, shares in votes:
        name = "/".join((case.id, criterion.id, item.id))
        named[name] += 1
        name = name if named[name] == 1 else f"{name} ({named[name]})"
        for rater, share in shares.items():
            if rater in raters and share is not None:
                human = [_written(shares.get(_PERSON))] if has_truth else []
                rows.append(
                    [
                        safe_cell(name),
                        safe_cell(rater),
                        _written(share),
                        *human,
                        *_about(case, criterion),
                    ]
                )
    if len(rows) == 1:
        raise UsageError(
            "--format truescore is a table of judges' votes, and in this run no judge voted",
            hint="judge the suite with --judge; --format csv has what checks said",
        )
    return csv_text(rows)


def no_place_in_truescore(doc: SuiteReportDoc) -> list[str]:
    """What the table leaves out of this run, in words."""
    items = [
        item for case in doc.cases for one in case.criteria if one.applies for item in one.items
    ]
    votes = [(voter, item.share_of(vote)) for item in items for voter, vote in item.votes.items()]
    by_code = sum(voter == _CODE for voter, _ in votes)
    not_rated = sum(voter != _CODE and share is None for voter, share in votes)
    empty = sum(
        not any(voter != _CODE for item in _items(case) for voter in item.votes)
        for case in doc.cases
    )
    counted = [
        (by_code, "answer", "of checks"),
        (not_rated, "vote", "that an item does not apply"),
        (empty, "case", "without a judge's vote"),
    ]
    return [
        *(f"{count(number, what)} {which}" for number, what, which in counted if number),
        *no_place_in("truescore", is_suite=True),
    ]


def _items(case: CaseDoc) -> list[ItemDoc]:
    return [item for one in case.criteria if one.applies for item in one.items]


def _about(case: CaseDoc, criterion: CriterionDoc) -> list[str]:
    return [
        safe_cell(case.id),
        safe_cell(criterion.id),
        case.status,
        str(len(text_of(case.output))),
    ]
