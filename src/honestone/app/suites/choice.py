"""Choosing the cases of a suite that are run: by id, tag, split, shard, or by how they ended last time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from honestone.core.errors import UsageError
from honestone.core.suite.case import Case, Split

ERRORED = ("target-error", "inconclusive", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChoice:
    """What was asked for; nothing is all. `shard` is (i, n), from 1."""

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    failed: bool = False
    errored: bool = False


def choose_cases(
    cases: Sequence[Case], choice: CaseChoice, last: Callable[[], Mapping[str, str] | None]
) -> tuple[Case, ...]:
    """The cases chosen, in the file's order. Raises UsageError for an unknown name and for an empty choice."""
    _refuse_unknown("case", choice.ids, [case.id for case in cases])
    _refuse_unknown("tag", choice.tags, sorted({tag for case in cases for tag in case.tags}))
    _refuse_unknown("split", choice.splits, [str(split) for split in Split])
    chosen = [
        case
        for case in cases
        if (not choice.ids or case.id in choice.ids)
        and (not choice.tags or set(choice.tags) & set(case.tags))
        and (not choice.splits or str(case.in_split) in choice.splits)
    ]
    if choice.failed or choice.errored:
        statuses = last()
        if statuses is None:
            raise UsageError(
                "this suite has no finished run on record, so there is nothing to repeat",
                hint="run it once without --failed",
            )
        wanted = (*(("failed",) if choice.failed else ()), *(ERRORED if choice.errored else ()))
        chosen = [case for case in chosen if statuses.get(case.id) in wanted]
    if choice.shard is not None:
        number, of = choice.shard
        chosen = chosen[number - 1 :: of]
    if not chosen:
        raise UsageError("no case is left by this choice, so nothing would be run", hint=_what_there_is(cases))
    return tuple(chosen)


def parse_shard(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3). Raises UsageError."""
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return int(number), int(of)
    raise UsageError(f"--shard is `{text}`, but must be I/N with I from 1 to N", hint="for example --shard 1/3")


def _refuse_unknown(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known[:20]) or 'none'}"
            raise UsageError(f"the suite has no {what} `{name}`", hint=hint)


def _what_there_is(cases: Sequence[Case]) -> str:
    splits = {str(case.in_split) for case in cases}
    return f"the suite has {len(cases)} cases, in the splits {', '.join(sorted(splits))}"
