"""Which cases of a suite are run: by id, tag, split or shard, or by how they ended before."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from msgspec import Struct

from honestone.app.options import Option
from honestone.core.errors import UsageError
from honestone.core.suite.case import Case, Split
from honestone.core.suite.each import Each, Old, each_of
from honestone.system.drawing import count

ERRORED = ("target-error", "inconclusive", "skipped")


class CaseChoice(Struct, frozen=True, kw_only=True):
    """Which cases are run; nothing is all."""

    ids: Annotated[
        tuple[str, ...],
        Option(
            "Run this case only, or those that a pattern matches (`refund-*`); repeat it.",
            name="--case",
            short="-k",
            metavar="ID",
        ),
    ] = ()
    tags: Annotated[tuple[str, ...], Option("Run cases with this tag only.", name="--tag")] = ()
    splits: Annotated[
        tuple[str, ...], Option("Run this split only: train, val or test.", name="--split")
    ] = ()
    shard: Annotated[str | None, Option("Run every N-th case, from the I-th.", metavar="I/N")] = (
        None
    )
    failed: Annotated[bool, Option("Run the cases that failed in the suite's last run.")] = False
    errored: Annotated[bool, Option("Run the cases that the last run gave no verdict.")] = False
    # How the cases ended, instead of how they did in the last run.
    statuses: Mapping[str, Collection[str]] | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for a shard that does not exist."""
        if self.shard is not None:
            parse_shard(self.shard)


def those_of(of: Sequence[Old], is_wanted: Callable[[Old], bool]) -> Sequence[Old]:
    """Some of them, in their order: by their numbers where they are not in memory."""
    if isinstance(of, tuple):
        return tuple(filter(is_wanted, of))
    numbers = array("Q", (number for number, one in enumerate(of) if is_wanted(one)))
    return of if len(numbers) == len(of) else Each(numbers, of.__getitem__)


def choose_cases(
    cases: Sequence[Case],
    choice: CaseChoice,
    last: Callable[[], Mapping[str, Collection[str]] | None],
) -> Sequence[Case]:
    """The cases chosen, in the file's order. Raises UsageError for an unknown name and for an empty
    choice.
    """
    named = _ids_matching(choice.ids, [case.id for case in cases]) if choice.ids else frozenset()
    _refuse_unknown(
        "tag",
        choice.tags,
        sorted({tag for case in cases for tag in case.tags}) if choice.tags else (),
    )
    _refuse_unknown("split", choice.splits, [str(split) for split in Split])

    def is_named(case: Case) -> bool:
        return (
            (not choice.ids or case.id in named)
            and (not choice.tags or bool(set(choice.tags) & set(case.tags)))
            and (not choice.splits or str(case.in_split) in choice.splits)
        )

    is_part = choice.ids or choice.tags or choice.splits
    chosen = those_of(cases, is_named) if is_part else cases
    if choice.failed or choice.errored:
        statuses = choice.statuses or last()
        if statuses is None:
            raise UsageError(
                "this suite has no finished run on record, so there is nothing to repeat",
                hint="run it once without --failed",
            )
        wanted = (*(("failed",) if choice.failed else ()), *(ERRORED if choice.errored else ()))
        ended = {
            id
            for id, case_statuses in statuses.items()
            if any(status in wanted for status in case_statuses)
        }
        chosen = those_of(chosen, lambda case: case.id in ended)
    if choice.shard is not None:
        number, of = parse_shard(choice.shard)
        chosen = chosen[number - 1 :: of]
    if not chosen:
        raise UsageError(
            "no case is left by this choice, so nothing would be run", hint=_what_there_is(cases)
        )
    return chosen


def _ids_matching(asked: Sequence[str], ids: Sequence[str]) -> frozenset[str]:
    """The ids that are named, or that a pattern chooses. Raises UsageError for one that chooses
    nothing.
    """
    known, chosen = frozenset(ids), set[str]()
    for name in asked:
        matching = {name} if name in known else {id for id in ids if fnmatchcase(id, name)}
        if not matching and set(name) & set("*?["):
            raise UsageError(
                f"no case of the suite matches `{name}`", hint=f"its cases: {', '.join(ids[:20])}"
            )
        if not matching:
            _refuse_unknown("case", [name], ids)
        chosen |= matching
    return frozenset(chosen)


def parse_shard(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3). Raises UsageError."""
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return int(number), int(of)
    raise UsageError(
        f"--shard is `{text}`, but must be I/N with I from 1 to N", hint="for example --shard 1/3"
    )


def _refuse_unknown(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = (
                f"did you mean `{near[0]}`?"
                if near
                else f"known: {', '.join(known[:20]) or 'none'}"
            )
            raise UsageError(f"the suite has no {what} `{name}`", hint=hint)


def _what_there_is(cases: Sequence[Case]) -> str:
    splits = {str(case.in_split) for case in cases}
    return f"the suite has {count(len(cases), 'case')}, in the splits {', '.join(sorted(splits))}"


def in_column(cases: Sequence[Case], label: str | None, prompt: str | None) -> Sequence[Case]:
    """The cases as they are for the target with this label and this prompt: some may be skipped
    there.
    """
    if label is None and prompt is None:
        return cases
    return each_of(cases, lambda case: case.asked_with(prompt).in_column(label))
