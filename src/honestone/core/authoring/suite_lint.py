"""The suite linter: what is allowed in a suite but shows nothing when it is run. Pure: a suite in,
remarks out.

A rule tells a flaw of one case (`is_advice` False) or gives advice about the whole; advice never
fails `--strict`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct, field

from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check, Criterion
from honestone.core.numbers import ZERO
from honestone.core.suite.case import Case, Split, Suite
from honestone.core.tables import Fact, RuledRemark, rule_texts, table_text

RULES: Final = rule_texts("authoring/suite_lint")

FEWEST: Final = 5
MOST: Final = 10
SHORTEST: Final = 5.0
LONGEST: Final = 1800.0


class SuiteRemark(RuledRemark, Struct, frozen=True):
    """`case` is the id of the case that it is about, None for the whole suite."""

    rules = RULES

    rule: str
    case: str | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    place: str = ""


Look: TypeAlias = Callable[[Suite], Iterator[SuiteRemark]]


def lint_suite(suite: Suite) -> list[SuiteRemark]:
    """Flaws in the order of the cases, then the advice."""
    remarks = [remark for look in LOOKS for remark in look(suite)]
    order = {case.id: number for number, case in enumerate(suite.cases)}
    return sorted(remarks, key=lambda r: (r.is_advice, order.get(r.case or "", len(order))))


# ------------------------------------------------------------------------------------------------
# keywords


class ExpectedWords(Struct, frozen=True, kw_only=True):
    """Words that an answer must hold: all of them, or any one."""

    words: tuple[str, ...]
    is_any: bool = False
    ignores_case: bool = True

    def holds_for(self, is_so: Callable[[str], bool]) -> bool:
        return any(map(is_so, self.words)) if self.is_any else all(map(is_so, self.words))


_WORDS: Final = tomllib.loads(table_text("authoring/suite_lint"))["words"]
_ALL: Final = ("contains", "contains-all", "icontains", "icontains-all")
_ANY: Final = ("contains-any", "icontains-any")


def keywords(criterion: Criterion) -> ExpectedWords | None:
    """What a criterion asks for, when it is keywords alone: a list of words is one criterion with
    an item for each.
    """
    if criterion.children or criterion.negate or criterion.is_penalty or criterion.weight == 0:
        return None
    checks = [item.check for item in criterion.items]
    words: list[str] = []
    for check in checks:
        if check is None or check.negated or check.options.get("in", "output") != "output":
            return None
        if check.kind in _ANY and len(checks) == 1:
            return ExpectedWords(
                words=_words_of_check(check), is_any=True, ignores_case=check.kind.startswith("i")
            )
        if check.kind not in _ALL:
            return None
        words += _words_of_check(check)
    ignoring = all(check is not None and check.kind.startswith("i") for check in checks)
    return ExpectedWords(words=tuple(words), ignores_case=ignoring) if words else None


def _words_of_check(check: Check) -> tuple[str, ...]:
    value: object = check.value
    if isinstance(value, str):
        return (value,)
    return (
        tuple(word for word in value if isinstance(word, str))
        if isinstance(value, list | tuple)
        else ()
    )


def _asked_words(case: Case) -> Iterator[ExpectedWords]:
    for criterion, _ in case.rubric.walk():
        wanted = keywords(criterion)
        if wanted is not None:
            yield wanted


_COMMON: Final = frozenset(_WORDS["common"].split())


def is_common(word: str, *, ignores_case: bool = True) -> bool:
    """Whether nearly any text holds it. It is looked for inside of words, so two letters are too
    few to mean anything; an abbreviation whose case counts (`AI`) is not meant.
    """
    bare = word.strip().strip(".,;:!?").casefold()
    if not bare:
        return True
    if not ignores_case and word.strip().isupper() and len(bare) > 1:
        return False
    return bare in _COMMON or (len(bare) <= 2 and bare.isascii() and bare.isalpha())


def _is_met_by_anything(wanted: ExpectedWords) -> bool:
    return wanted.holds_for(lambda word: is_common(word, ignores_case=wanted.ignores_case))


def common_words(suite: Suite) -> Iterator[SuiteRemark]:
    for case in suite.cases:
        for wanted in _asked_words(case):
            if _is_met_by_anything(wanted):
                yield SuiteRemark("common-words", case.id, {"words": _first_words(wanted.words)})


def answer_in_prompt(suite: Suite) -> Iterator[SuiteRemark]:
    """Cases that an echo passes: where a judge or another check decides too, or a word is missing,
    it does not.
    """
    for case in suite.cases:
        groups = list(_asked_words(case))
        if groups and all(_holds(wanted, case.input) for wanted in groups) and _words_alone(case):
            words = tuple(word for wanted in groups for word in wanted.words)
            if len(groups) == 1 and groups[0].is_any:
                words = tuple(
                    word for word in words if _holds(ExpectedWords(words=(word,)), case.input)
                )
            are = "words are" if len(words) > 1 else "word is"
            yield SuiteRemark(
                "answer-in-prompt", case.id, {"are": are, "words": _first_words(words)}
            )


def _words_alone(case: Case) -> bool:
    """Whether words that must be there decide it, and nothing else."""
    leaves = [
        criterion
        for criterion, _ in case.rubric.walk()
        if criterion.items and criterion.weight != ZERO
    ]
    return all(keywords(criterion) is not None for criterion in leaves)


def _holds(wanted: ExpectedWords, text: str) -> bool:
    if wanted.ignores_case:
        folded = text.casefold()
        return wanted.holds_for(lambda word: word.casefold() in folded)
    return wanted.holds_for(lambda word: word in text)


_ABSENCE: Final = late_pattern(_WORDS["absence"], re.VERBOSE | re.IGNORECASE)
# One of these is in whatever the pattern matches, and is found in a hundredth of the time.
_SIGNS_OF_ABSENCE: Final = tuple(_WORDS["signs_of_absence"].split())
_PRESENCE: Final = (*_ALL, *_ANY, "starts-with", "ends-with", "min-words", "min-chars")
_FENCED: Final = late_pattern(r"^(```|~~~).*?^\1", re.M | re.S)


def only_presence(suite: Suite) -> Iterator[SuiteRemark]:
    for case in suite.cases:
        if not _looks_for_presence_alone(case):
            continue
        if not any(map(case.input.casefold().__contains__, _SIGNS_OF_ABSENCE)):
            continue
        meant = _ABSENCE.search(_FENCED.sub("", case.input))
        if meant is not None:
            yield SuiteRemark("only-presence", case.id, {"said": " ".join(meant[0].split())})


def _looks_for_presence_alone(case: Case) -> bool:
    turned = any(criterion.negate or criterion.is_penalty for criterion, _ in case.rubric.walk())
    checks = [item.check for _, item in case.rubric.questions()]
    return not turned and all(
        c is not None and c.kind in _PRESENCE and not c.negated for c in checks
    )


_SILENT: Final = (*_ALL, *_ANY, "starts-with", "ends-with", "regex")


def silence_passes(suite: Suite) -> Iterator[SuiteRemark]:
    """Nothing but words that must not be there."""
    for case in suite.cases:
        checks = [item.check for _, item in case.rubric.questions()]
        turned = any(
            criterion.negate or criterion.weight < ZERO for criterion, _ in case.rubric.walk()
        )
        if not turned and all(c is not None and c.negated and c.kind in _SILENT for c in checks):
            yield SuiteRemark("silence-passes", case.id)


def cannot_fail(suite: Suite) -> Iterator[SuiteRemark]:
    for case in suite.cases:
        rubric = case.rubric
        floors = any(c.required or rubric.floor_of(c, parent) > ZERO for c, parent in rubric.walk())
        if rubric.threshold == ZERO and not floors and case.expect is None and case.skip is None:
            yield SuiteRemark("cannot-fail", case.id)


def same_prompt(suite: Suite) -> Iterator[SuiteRemark]:
    """The same words over the same starting state; how they are judged may differ, but one run
    could answer both.
    """
    first: dict[bytes, str] = {}
    for case in suite.cases:
        words = " ".join(case.input.split()).casefold()
        if not words:
            continue
        state = repr((case.workspace and case.workspace.to_plain(), case.setup, case.reference))
        # The digest: the words of all cases would be in memory once more.
        key = hashlib.sha256(f"{words}\0{state}".encode("utf-8", "surrogatepass")).digest()
        if key in first:
            yield SuiteRemark("same-prompt", case.id, {"other": first[key]})
        first.setdefault(key, case.id)


# ------------------------------------------------------------------------------------------------
# limits and sizes


def timeouts(suite: Suite) -> Iterator[SuiteRemark]:
    by_code = suite.target.use is not None and suite.target.use.startswith(
        ("cmd:", "python:", "identity")
    )
    for case in suite.cases:
        if case.timeout is not None and case.timeout < SHORTEST and not by_code:
            yield SuiteRemark("short-timeout", case.id, {"timeout": case.timeout})
        if case.timeout is not None and case.timeout > LONGEST:
            yield SuiteRemark("long-timeout", case.id, {"timeout": case.timeout})


def how_many(suite: Suite) -> Iterator[SuiteRemark]:
    """Only of suites about a skill: what a model answers may have thousands of cases."""
    count = len(suite.cases)
    if (suite.skill_id is not None or suite.target.skill) and not FEWEST <= count <= MOST:
        tasks = f"{count} task{'s' if count != 1 else ''}"
        yield SuiteRemark("few-tasks" if count < FEWEST else "many-tasks", None, {"tasks": tasks})


def no_code(suite: Suite) -> Iterator[SuiteRemark]:
    judged = [case for case in suite.cases if case.skip is None]
    if judged and not any(case.rubric.has_checks for case in judged):
        yield SuiteRemark("no-code")


def splits(suite: Suite) -> Iterator[SuiteRemark]:
    """A loop over the suite needs all three; a suite that is only run needs none."""
    counts = Counter(case.in_split for case in suite.cases)
    empty = [str(split) for split in Split if not counts[split]]
    if not empty or len(suite.cases) < len(Split):
        return
    how = ", ".join(f"{counts[split]} {split}" for split in Split if counts[split])
    if any(case.split is None for case in suite.cases):
        how += "; by the hash of the ids"
    yield SuiteRemark("empty-split", None, {"empty": " or ".join(empty), "how": how})


LOOKS: Final[tuple[Look, ...]] = (
    common_words,
    answer_in_prompt,
    only_presence,
    silence_passes,
    cannot_fail,
    same_prompt,
    timeouts,
    how_many,
    no_code,
    splits,
)


# ------------------------------------------------------------------------------------------------
# what runs showed


class TaskOutcome(Struct, frozen=True, kw_only=True):
    """How one task went in a run: None is unknown. `is_bare`: without the skill."""

    case: str
    passed: bool | None
    is_bare: bool = False


# A single failure may be the answer's own fault.
_OFTEN: Final = 2


def lint_results(suite: Suite, shown: Sequence[TaskOutcome]) -> list[SuiteRemark]:
    """Tasks that a bare model passes, and tasks that are never passed."""
    by_case: Mapping[str, list[TaskOutcome]] = defaultdict(list)
    for one in shown:
        if one.passed is not None:
            by_case[one.case].append(one)
    out = []
    for case in suite.cases:
        every = by_case.get(case.id, [])
        bare = [one for one in every if one.is_bare]
        if bare and all(one.passed for one in bare):
            out.append(SuiteRemark("no-signal", case.id, {"times": _times(len(bare))}))
        elif len(every) >= _OFTEN and not any(one.passed for one in every):
            out.append(SuiteRemark("never-passed", case.id, {"times": _times(len(every))}))
    return out


def _times(count: int) -> str:
    return "the one time it ran" if count == 1 else f"all {count} times it ran"


# ------------------------------------------------------------------------------------------------
# with the skill


def lint_with_skill(
    suite: Suite,
    skill: str,
    *,
    suite_authors: Sequence[str] = (),
    skill_authors: Sequence[str] = (),
) -> list[SuiteRemark]:
    """What can be said only with the skill at hand: `skill` is its name, authors are whom version
    control names.
    """
    out = []
    if suite.skill_id is not None and suite.skill_id != skill:
        out.append(SuiteRemark("other-skill", None, {"wanted": suite.skill_id, "skill": skill}))
    named = re.compile(
        rf"(?<![\w-]){re.escape(skill)}\s+skill\b|\bskill\s+[`'\"]?{re.escape(skill)}(?![\w-])",
        re.I,
    )
    out += [
        SuiteRemark("prompt-names-skill", case.id, {"skill": skill})
        for case in suite.cases
        if named.search(case.input)
    ]
    if len(set(suite_authors) | set(skill_authors)) == 1 and suite_authors and skill_authors:
        out.append(SuiteRemark("one-author"))
    return out


def _first_words(words: Sequence[str]) -> str:
    shown = ", ".join(f"`{' '.join(word.split())[:60]}`" for word in words[:5])
    return shown if len(words) <= 5 else f"{shown} and {len(words) - 5} more"
