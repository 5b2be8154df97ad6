"""The suite linter: what is allowed in a suite but shows nothing when it is run. Pure: a suite in, remarks out.

A rule tells a flaw of one case (`is_advice` False) or gives advice about the whole; advice never fails `--strict`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from honestone.core.numbers import ZERO
from honestone.core.rubric import Check, Criterion
from honestone.core.suite.case import Case, Split, Suite

WHY: Final = {
    "common-words": "nearly any answer holds words, so the task is passed whatever was done",
    "answer-in-prompt": "an answer that only repeats the task passes it",
    "only-presence": "the task asks for something to be absent, and nothing looks whether it is",
    "silence-passes": "an empty answer holds nothing that it must not, so doing nothing passes",
    "cannot-fail": "a bar of 0 is met by everything",
    "same-prompt": "the same task counts twice",
    "short-timeout": "an agent that is still working is counted as broken",
    "long-timeout": "one agent that hangs holds up the whole run",
    "few-tasks": "with few tasks one lucky answer moves the rate by much",
    "many-tasks": "every task is an agent's run on each side: the suite gets dear and is run seldom",
    "no-code": "judges cost a call a task and may be wrong about what code simply sees",
    "empty-split": "a loop is shown failures of train, accepts on val and certifies on test",
    "no-signal": "a task that is passed without the skill cannot show what the skill does",
    "never-passed": "a task that is never passed shows no difference either; often its judge is wrong",
    "one-author": "who wrote both asks for what the skill says, not for what its users need",
    "other-skill": "a suite for another skill says little about this one",
    "prompt-names-skill": "without the skill the task means something else, so the two sides do not do the same",
}

FEWEST: Final = 5
MOST: Final = 10
SHORTEST: Final = 5.0
LONGEST: Final = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRemark:
    """`case` is the id of the case that it is about, None for the whole suite."""

    rule: str
    message: str
    suggestion: str
    case: str | None = None
    is_advice: bool = False


Rule = Callable[[Suite], Iterator[SuiteRemark]]


def lint_suite(suite: Suite) -> list[SuiteRemark]:
    """Flaws in the order of the cases, then the advice."""
    found = [remark for rule in RULES for remark in rule(suite)]
    order = {case.id: number for number, case in enumerate(suite.cases)}
    return sorted(found, key=lambda r: (r.is_advice, order.get(r.case or "", len(order))))


# ------------------------------------------------------------------------------------------------ keywords


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedWords:
    """Words that an answer must hold: all of them, or any one."""

    words: tuple[str, ...]
    is_any: bool = False
    ignores_case: bool = True

    def holds_for(self, is_so: Callable[[str], bool]) -> bool:
        return any(map(is_so, self.words)) if self.is_any else all(map(is_so, self.words))


_ALL: Final = ("contains", "contains-all", "icontains", "icontains-all")
_ANY: Final = ("contains-any", "icontains-any")


def keywords(criterion: Criterion) -> ExpectedWords | None:
    """What a criterion asks for, when it is keywords alone: a list of words is one criterion with an item for each."""
    if criterion.children or criterion.negate or criterion.is_penalty or criterion.weight == 0:
        return None
    checks = [item.check for item in criterion.items]
    words: list[str] = []
    for check in checks:
        if check is None or check.negated or check.options.get("in", "output") != "output":
            return None
        if check.kind in _ANY and len(checks) == 1:
            return ExpectedWords(words=_words(check), is_any=True, ignores_case=check.kind.startswith("i"))
        if check.kind not in _ALL:
            return None
        words += _words(check)
    ignoring = all(check is not None and check.kind.startswith("i") for check in checks)
    return ExpectedWords(words=tuple(words), ignores_case=ignoring) if words else None


def _words(check: Check) -> tuple[str, ...]:
    value: object = check.value
    if isinstance(value, str):
        return (value,)
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list | tuple) else ()


def _asked_words(case: Case) -> Iterator[ExpectedWords]:
    for criterion, _ in case.rubric.walk():
        wanted = keywords(criterion)
        if wanted is not None:
            yield wanted


_COMMON: Final = frozenset(  # words, for reading
    """a an and any are as at be been but by can could did do does for from had has have he here how i if in into
    is it its just may me more most must my no not now of ok okay on one or other our out over
    see she should so some such sure than thank that the their them then there these they this those to too up us use
    very was we well were what when where which who why will with would yes you your
    的 了 是 在 和 有 我 不 这 个 们 一 에 은 는 이 가 을 를 의 です ます する の に は を が と""".split()
)


def is_common(word: str, *, ignores_case: bool = True) -> bool:
    """Whether nearly any text holds it. It is looked for inside of words, so two letters are too few to mean anything;
    an abbreviation whose case counts (`AI`) is not meant."""
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
                yield SuiteRemark(
                    rule="common-words",
                    case=case.id,
                    message=f"the answer has to hold {_listed(wanted.words)}, which nearly any answer does",
                    suggestion="expect words that only a right answer holds",
                )


def answer_in_prompt(suite: Suite) -> Iterator[SuiteRemark]:
    """Cases that an echo passes: where a judge or another check decides too, or a word is missing, it does not."""
    for case in suite.cases:
        groups = list(_asked_words(case))
        if groups and all(_holds(wanted, case.input) for wanted in groups) and _words_alone(case):
            words = tuple(word for wanted in groups for word in wanted.words)
            if len(groups) == 1 and groups[0].is_any:
                words = tuple(word for word in words if _holds(ExpectedWords(words=(word,)), case.input))
            are = "words are" if len(words) > 1 else "word is"
            yield SuiteRemark(
                rule="answer-in-prompt",
                case=case.id,
                message=f"the expected {are} in the prompt itself: {_listed(words)}",
                suggestion="take it out of the prompt, or expect what only a right answer holds",
            )


def _words_alone(case: Case) -> bool:
    """Whether words that must be there decide it, and nothing else."""
    leaves = [criterion for criterion, _ in case.rubric.walk() if criterion.items and criterion.weight != ZERO]
    return all(keywords(criterion) is not None for criterion in leaves)


def _holds(wanted: ExpectedWords, text: str) -> bool:
    if wanted.ignores_case:
        folded = text.casefold()
        return wanted.holds_for(lambda word: word.casefold() in folded)
    return wanted.holds_for(lambda word: word in text)


_ABSENCE: Final = re.compile(
    r"""(?ix)
      \b(?:must|should|may|shall|can|do|does)\s*(?:not|n['’]t)\s+(?:ever\s+)?
        (?:use|mention|include|contain|say|write|output|reveal|show|print|name|repeat|keep|leave|add|put|have)\b
    | \bcannot\s+(?:use|mention|include|contain|reveal|keep)\b
    | \bnever\s+(?:use|mention|include|contain|say|write|output|reveal|show|print|name|repeat|add)\b
    | \b(?:avoid|without)\s+(?:using|mentioning|including|saying|repeating|adding|any)\b
    | \b(?:remove|delete|strip|drop|eliminate|purge|cut)\s+(?:out\s+)?(?:all|any|every|each)\b
    | \bget\s+rid\s+of\b | \bfree\s+of\s+(?:any|all)\b | \bno\s+longer\s+(?:use|contain|mention)\b
    | (?:不要|不得|不能|禁止|避免)(?:使用|出现|包含|提及|提到|写)
    | (?:去掉|去除|移除|删除|删掉)(?:所有|全部|任何|一切)
    | (?:쓰지|사용하지|언급하지|포함하지)\s*(?:마|말|않) | (?:모두|전부)\s*(?:제거|삭제)
    """
)
_PRESENCE: Final = (*_ALL, *_ANY, "starts-with", "ends-with", "min-words", "min-chars")
_FENCED: Final = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def only_presence(suite: Suite) -> Iterator[SuiteRemark]:
    for case in suite.cases:
        meant = _ABSENCE.search(_FENCED.sub("", case.input))
        if meant is not None and _looks_for_presence_alone(case):
            yield SuiteRemark(
                rule="only-presence",
                case=case.id,
                message=f'the prompt says "{" ".join(meant[0].split())}", but only words that must be there are looked for',
                suggestion="add a check for what must be absent (`not-contains`)",
            )


def _looks_for_presence_alone(case: Case) -> bool:
    turned = any(criterion.negate or criterion.is_penalty for criterion, _ in case.rubric.walk())
    checks = [item.check for _, item in case.rubric.questions()]
    return not turned and all(c is not None and c.kind in _PRESENCE and not c.negated for c in checks)


_SILENT: Final = (
    "contains",
    "contains-any",
    "icontains",
    "icontains-any",
    "icontains-all",
    "contains-all",
    "starts-with",
    "ends-with",
    "regex",
)


def silence_passes(suite: Suite) -> Iterator[SuiteRemark]:
    """Nothing but words that must not be there."""
    for case in suite.cases:
        checks = [item.check for _, item in case.rubric.questions()]
        turned = any(criterion.negate or criterion.weight < ZERO for criterion, _ in case.rubric.walk())
        if not turned and all(c is not None and c.negated and c.kind in _SILENT for c in checks):
            yield SuiteRemark(
                rule="silence-passes",
                case=case.id,
                message="it only looks for what must not be there, so an empty answer passes",
                suggestion="also ask for something that a right answer has, `min-words` at least",
            )


def cannot_fail(suite: Suite) -> Iterator[SuiteRemark]:
    for case in suite.cases:
        rubric = case.rubric
        floors = any(c.required or rubric.floor_of(c, parent) > ZERO for c, parent in rubric.walk())
        if rubric.threshold == ZERO and not floors and case.expect is None and case.skip is None:
            yield SuiteRemark(
                rule="cannot-fail",
                case=case.id,
                message="its threshold is 0 and nothing has a floor or is required",
                suggestion="say from which score on it passes",
            )


def same_prompt(suite: Suite) -> Iterator[SuiteRemark]:
    """The same words over the same starting state; how they are judged may differ, but one run could answer both."""
    first: dict[tuple[str, str], str] = {}
    for case in suite.cases:
        state = repr((case.workspace and case.workspace.to_plain(), case.setup, case.reference))
        key = (" ".join(case.input.split()).casefold(), state)
        if not key[0]:
            continue
        if key in first:
            yield SuiteRemark(
                rule="same-prompt",
                case=case.id,
                message=f"its prompt is that of `{first[key]}`",
                suggestion="ask something else, or judge both things in one task",
            )
        first.setdefault(key, case.id)


# ------------------------------------------------------------------------------------------------ limits and sizes


def timeouts(suite: Suite) -> Iterator[SuiteRemark]:
    by_code = suite.target.use is not None and suite.target.use.startswith(("cmd:", "python:", "identity"))
    for case in suite.cases:
        if case.timeout is not None and case.timeout < SHORTEST and not by_code:
            yield SuiteRemark(
                rule="short-timeout",
                case=case.id,
                is_advice=True,
                message=f"its timeout is {case.timeout:g} s, which an agent needs to start",
                suggestion="30 seconds are few, 120 are usual",
            )
        if case.timeout is not None and case.timeout > LONGEST:
            yield SuiteRemark(
                rule="long-timeout",
                case=case.id,
                is_advice=True,
                message=f"its timeout is {case.timeout:g} s",
                suggestion="split the task, or leave the limit at some minutes",
            )


def how_many(suite: Suite) -> Iterator[SuiteRemark]:
    """Only of suites about a skill: what a model answers may have thousands of cases."""
    count = len(suite.cases)
    if suite.skill_id is None and not suite.target.skill:
        return
    if count < FEWEST:
        yield SuiteRemark(
            rule="few-tasks",
            is_advice=True,
            message=f"the suite has {count} task{'s' if count != 1 else ''}",
            suggestion=f"{FEWEST} to {MOST} cover what a skill is for",
        )
    elif count > MOST:
        yield SuiteRemark(
            rule="many-tasks",
            is_advice=True,
            message=f"the suite has {count} tasks",
            suggestion=f"{FEWEST} to {MOST} cover what a skill is for; `--split` and `--tag` choose some",
        )


def no_code(suite: Suite) -> Iterator[SuiteRemark]:
    judged = [case for case in suite.cases if case.skip is None]
    if judged and not any(case.rubric.has_checks for case in judged):
        yield SuiteRemark(
            rule="no-code",
            is_advice=True,
            message="every task is judged by judges alone, none by code",
            suggestion="where words, a format or a test can tell, let a check answer",
        )


def splits(suite: Suite) -> Iterator[SuiteRemark]:
    """A loop over the suite needs all three; a suite that is only run needs none."""
    counts = Counter(case.in_split for case in suite.cases)
    empty = [str(split) for split in Split if not counts[split]]
    if not empty or len(suite.cases) < len(Split):
        return
    named = all(case.split is not None for case in suite.cases)
    how = ", ".join(f"{counts[split]} {split}" for split in Split if counts[split])
    yield SuiteRemark(
        rule="empty-split",
        is_advice=True,
        message=f"no task is in {' or '.join(empty)} ({how}{'' if named else '; by the hash of the ids'})",
        suggestion="`honestone improve --suite` needs all three: say `split:` where the hash leaves one empty",
    )


RULES: Final[tuple[Rule, ...]] = (
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


# ------------------------------------------------------------------------------------------------ what runs showed


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How one task went in a run: None is unknown. `is_bare`: without the skill."""

    case: str
    passed: bool | None
    is_bare: bool = False


_OFTEN: Final = 2
"""A single failure may be the answer's own fault."""


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
            out.append(
                SuiteRemark(
                    rule="no-signal",
                    case=case.id,
                    message=f"without the skill it was passed, {_times(len(bare))}",
                    suggestion="ask for what only the skill knows, or leave the task out",
                )
            )
        elif len(every) >= _OFTEN and not any(one.passed for one in every):
            out.append(
                SuiteRemark(
                    rule="never-passed",
                    case=case.id,
                    message=f"it was never passed, {_times(len(every))}",
                    suggestion="read an answer: is the judge wrong, or does the skill not teach it?",
                )
            )
    return out


def _times(count: int) -> str:
    return "the one time it ran" if count == 1 else f"all {count} times it ran"


# ------------------------------------------------------------------------------------------------ with the skill


def lint_with_skill(
    suite: Suite, skill: str, *, suite_authors: Sequence[str] = (), skill_authors: Sequence[str] = ()
) -> list[SuiteRemark]:
    """What can be said only with the skill at hand: `skill` is its name, authors are whom version control names."""
    out = []
    if suite.skill_id is not None and suite.skill_id != skill:
        out.append(
            SuiteRemark(
                rule="other-skill",
                is_advice=True,
                message=f"the suite is for `{suite.skill_id}`, the skill is `{skill}`",
                suggestion="name the skill that it is for in `skill_id`",
            )
        )
    named = re.compile(rf"(?<![\w-]){re.escape(skill)}\s+skill\b|\bskill\s+[`'\"]?{re.escape(skill)}(?![\w-])", re.I)
    out += [
        SuiteRemark(
            rule="prompt-names-skill",
            case=case.id,
            is_advice=True,
            message=f"its prompt names the skill `{skill}`",
            suggestion="ask as somebody would who has never heard of the skill",
        )
        for case in suite.cases
        if named.search(case.input)
    ]
    if len(set(suite_authors) | set(skill_authors)) == 1 and suite_authors and skill_authors:
        out.append(
            SuiteRemark(
                rule="one-author",
                is_advice=True,
                message="one person wrote the suite and the skill",
                suggestion="let somebody else read the tasks, or take them from real transcripts (`suite new --from-transcripts`)",
            )
        )
    return out


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(f"`{' '.join(word.split())[:60]}`" for word in words[:5])
    return shown if len(words) <= 5 else f"{shown} and {len(words) - 5} more"
