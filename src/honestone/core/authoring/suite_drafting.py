"""Drafting a task suite from a skill's own text: what it is for, what it is not for, its rules,
examples and outputs.

Code answers first: words that only somebody who follows the skill would write. A task never holds
its own answer, and the linter of suites has to find nothing in what is drafted. It is a draft:
prompts are put together from the skill's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.authoring.skill_text import (
    ARROW,
    TABLES,
    Exchange,
    bare_text,
    one_line,
    read_skill,
)
from honestone.core.authoring.suite_lint import FEWEST, MOST, is_common, lint_suite
from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric, free_id, slug
from honestone.core.numbers import ONE, ZERO
from honestone.core.suite.case import Case, Message, Suite

if TYPE_CHECKING:
    from honestone.core.authoring.skill_text import SkillText


T = TypeVar("T")

PASS_THRESHOLD: Final = Fraction(7, 10)
TIMEOUT: Final = 120.0
_SHORTEST_WORD: Final = 3
_LONGEST_PROMPT: Final = 2000
# An answer that must not hold something has to be an answer at all.
_FEWEST_WORDS: Final = 3


class TaskDraft(Struct, frozen=True, kw_only=True):
    """One task: what is asked, the words that an answer must and must not hold, or else what a
    judge looks for.
    """

    id: str
    prompt: str
    description: str = ""
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    rubric: str = ""

    def case(self) -> Case:
        return Case(
            id=self.id,
            rubric=_rubric(self),
            messages=(Message("user", self.prompt),),
            timeout=TIMEOUT,
            description=self.description or None,
        )


class SuiteDraft(Struct, frozen=True, kw_only=True):
    """A suite and what a person should look at before it is believed."""

    suite: Suite
    to_check: tuple[str, ...]


def draft_suite(skill: str, text: str, *, most: int = MOST) -> SuiteDraft:
    """A suite of 5 to `most` tasks. Raises UsageError when the skill says nothing that a task could
    be made of.
    """
    read = read_skill(skill, text)
    by_code = _spread(list(_by_code(read)), most)
    tasks = _sound(by_code)
    if len(tasks) < min(FEWEST, most):
        tasks = _filled_up(tasks, _by_judges(read), min(FEWEST, most))
    if not tasks:
        raise UsageError(
            f"the skill `{skill}` says too little to draft tasks from",
            hint="write what it does and when to use it, or write the suite by hand (`suite: 1`, `cases:`)",
        )
    return SuiteDraft(suite=made_suite(skill, tasks), to_check=points_to_check(tasks))


def made_suite(skill: str, tasks: Sequence[TaskDraft]) -> Suite:
    return Suite(cases=tuple(task.case() for task in tasks), skill_id=skill, title=skill)


def points_to_check(tasks: Sequence[TaskDraft]) -> tuple[str, ...]:
    """What a person should look at before the suite is believed: of every suite, and of what its
    tasks are made of.
    """
    points: Mapping[str, str] = TABLES["points"]
    return tuple(point for of, point in points.items() if any(getattr(task, of) for task in tasks))


_NEGATIVE: Final = late_pattern(TABLES["negative"])
# May turn a rule round without saying what must not be there.
_WEAK: Final = late_pattern(TABLES["weak"])
_MIXED: Final = late_pattern(TABLES["mixed"])


def telling_words(text: str) -> tuple[str, ...]:
    """Words of an answer that only a right one would hold: what is in quotes or written as code,
    else what looks like a name (digits, joined or capital letters inside). At most four, none that
    is common.
    """
    marked = re.findall(r"`([^`\n]{1,60})`|[\"“「]([^\"”」\n]{1,60})[\"”」]", text)
    words = [code or quoted for code, quoted in marked]
    if not words:
        words = [
            _trimmed(word)
            for word in re.findall(r"[^\s|]+", bare_text(text))
            if _is_name(_trimmed(word))
        ]
    return tuple(dict.fromkeys(word.strip() for word in words if _tells(word.strip())))[:4]


def _trimmed(word: str) -> str:
    return word.strip(".,;:!?()[]（）【】，。；：、")


def _is_name(word: str) -> bool:
    return bool(
        (re.search(r"\d", word) and re.search(r"[^\W\d]", word))
        or re.search(r"[^\W_][-_/.][^\W_]", word)
        or re.search(r"[a-z][A-Z]", word)
        or re.fullmatch(r"[A-Z]{3,}", word)
    )


def _tells(word: str) -> bool:
    is_place = (
        re.search(r"[<>{}$\n]|\.\.\.|…", word) is not None
    )  # a place to be filled in, not a word
    return (
        len(word) >= _SHORTEST_WORD and not is_place and word.isprintable() and not is_common(word)
    )


def _phrase(text: str) -> tuple[str, ...]:
    """The telling words, else the whole where it is so short that an answer would say it so."""
    words = telling_words(text)
    whole = bare_text(text).strip(" .;,")
    if not words and 1 <= len(whole.split()) <= 3 and len(whole) <= 30 and _tells(whole):
        return (whole,)
    return words


_TOPIC: Final = late_pattern(TABLES["topic"])
_NAMED: Final = late_pattern(TABLES["named"])


def _by_code(read: SkillText) -> Iterator[list[TaskDraft]]:
    """Tasks whose answers code can tell, a list for each part of the skill."""
    rules, general = [], []
    for rule in read.rules:
        topic = _about(rule)
        if topic is not None and not _is_turned(rule) and (words := _phrase(topic.answer)):
            rules.append(
                _task(topic.asked, _ask_about(topic.asked), f"The skill's rule: {rule}", must=words)
            )
        elif topic is None and not _MIXED.search(rule) and (words := _ruled(rule)):
            general.append((rule, words))
    outputs = [
        _task(
            f"output {bare_text(row.asked)}",
            _need(bare_text(row.asked)),
            f"The skill's output: {row.answer}",
            must=words,
        )
        for row in read.outputs
        if (words := telling_words(row.answer))
    ]
    examples = [
        _task(
            f"example {bare_text(one.asked)}",
            one.asked[:_LONGEST_PROMPT],
            "An example of the skill",
            must=words,
        )
        for one in read.examples
        if (words := _new_words(one))
    ]
    yield rules
    yield list(_general(general, read))
    yield outputs
    yield examples
    yield list(
        _outside(read, [word for task in [*rules, *outputs, *examples] for word in task.must])
    )
    yield list(_mistakes(read))


def _is_turned(rule: str) -> bool:
    return _NEGATIVE.search(rule) is not None or _WEAK.search(rule) is not None


def _ruled(rule: str) -> tuple[str, ...]:
    """The words that a rule asks for, or of a rule that forbids, those after the forbidding."""
    forbids = _NEGATIVE.search(rule)
    if forbids is not None:
        return telling_words(rule[forbids.end() :])
    return () if _WEAK.search(rule) else telling_words(rule)


def _about(rule: str) -> Exchange | None:
    """A rule that says what to do in some case: the case and what to do."""
    match = _TOPIC.match(rule) or _NAMED.match(rule)
    if match is None:
        return None
    asked, answer = [group for group in match.groups() if group is not None]
    return Exchange(asked=bare_text(asked).strip(' .,:;"“”'), answer=answer)


def _new_words(one: Exchange) -> tuple[str, ...]:
    asked = one.asked.casefold()
    return tuple(word for word in _phrase(one.answer) if word.casefold() not in asked)


def _general(rules: Sequence[tuple[str, tuple[str, ...]]], read: SkillText) -> Iterator[TaskDraft]:
    """Rules for every answer: each asked for with another request of the skill, so that no prompt
    comes twice.
    """
    requests = [*read.requests, *(bare_text(row.asked) for row in read.outputs)]
    for request, (rule, words) in zip(requests, rules, strict=False):
        description = f"The skill's rule: {rule}"
        name = f"{'never' if _NEGATIVE.search(rule) else 'always'} {words[0]}"
        if _NEGATIVE.search(rule):
            yield _task(name, _need(request), description, must_not=words)
        else:
            yield _task(name, _need(request), description, must=words)


def _outside(read: SkillText, own_words: Sequence[str]) -> Iterator[TaskDraft]:
    """What the skill is not for: an answer must not be what the skill would make of it; or it names
    who is for it.
    """
    for line in read.not_uses:
        before, *after = ARROW.split(line, maxsplit=1)
        topic = _without_negation(bare_text(before))
        words = tuple(
            dict.fromkeys(word for word in own_words if word.casefold() not in topic.casefold())
        )[:5]
        if after and (other := telling_words(after[0])):
            yield _task(
                f"not for {topic}", _need(topic), f"Not what the skill is for: {line}", must=other
            )
        elif words:
            yield _task(
                f"not for {topic}",
                _need(topic),
                f"Not what the skill is for: {line}",
                must_not=words,
            )


def _mistakes(read: SkillText) -> Iterator[TaskDraft]:
    requests = list(read.requests)[::-1]
    for line in read.bad:
        words = telling_words(line)
        if words and requests:
            yield _task(
                f"no {words[0]}",
                _need(requests.pop(0)),
                f"A mistake that the skill names: {line}",
                must_not=words,
            )


def _without_negation(text: str) -> str:
    bare = re.sub(TABLES["negation"], "", text)
    return re.sub(TABLES["occasion"], "", bare).strip(" .") or text


def _by_judges(read: SkillText) -> Iterator[TaskDraft]:
    """Tasks that only a judge can mark: a use of the skill, and what the skill says an answer has
    to be like.
    """
    wanted = one_line(" ".join(f"{rule.rstrip('.')}." for rule in (read.rules or read.steps)[:4]))[
        :900
    ]
    good = wanted or read.description[:900]
    if not good:
        return
    for request in read.requests:
        yield _task(request, _need(request), "A use that the skill names", rubric=_scale(good))
    for line in read.not_uses:
        topic = _without_negation(bare_text(line))
        rubric = _scale(f"Treats it as something else than this: {read.description[:400] or good}")
        yield _task(
            f"not for {topic}", _need(topic), f"Not what the skill is for: {line}", rubric=rubric
        )
    for rule in read.rules:
        yield _task(
            f"rule {bare_text(rule)}",
            _need(_first_sentence(read)),
            f"The skill's rule: {rule}",
            rubric=_scale(rule),
        )
    what = _need(_first_sentence(read))
    for name, more in zip(TABLES["ways"]["names"], _in_script(what, TABLES["ways"]), strict=True):
        yield _task(
            name,
            f"{what} {more}".strip(),
            "What the skill's description promises",
            rubric=_scale(good),
        )


def _first_sentence(read: SkillText) -> str:
    """What the skill does; where its description says only when to use it, the first thing that it
    is used for.
    """
    first = re.split(r"(?<=[.!?])\s|(?<=[。！？])", bare_text(read.description) or read.name)[
        0
    ].strip(" .")
    return next(iter(read.requests), first) if re.match(TABLES["only_when"], first) else first


def _scale(text: str) -> str:
    return f"Score 0.0-1.0 by how far the answer does this: {text}"


def _rubric(task: TaskDraft) -> Rubric:
    if task.rubric:
        levels = ((ZERO, "not met at all"), (ONE, "met in full"))
        item = Item(
            id="rubric", requirement=task.rubric, anchors=Anchors(levels=levels), whole=True
        )
        criterion = Criterion(id="rubric", requirement=task.rubric, items=(item,))
        return Rubric(criteria=(criterion,), threshold=PASS_THRESHOLD, floor=ZERO)
    groups: list[Criterion] = []
    if task.must:
        groups.append(
            _group("keywords", "Holds every keyword", "icontains", task.must, negated=False)
        )
    else:
        check = Check(kind="min-words", value=_FEWEST_WORDS)
        item = Item(
            id="says-something",
            requirement=f"Has {_FEWEST_WORDS} words at least",
            check=check,
            whole=True,
        )
        groups.append(Criterion(id=item.id, requirement=item.requirement, items=(item,)))
    if task.must_not:
        groups.append(
            _group("none-of", "Holds none of the words", "icontains", task.must_not, negated=True)
        )
    return Rubric(criteria=tuple(groups), threshold=ONE, floor=ZERO)


def _group(id: str, text: str, kind: str, words: Sequence[str], *, negated: bool) -> Criterion:
    items = []
    used: set[str] = set()
    for word in words:
        name = free_id(slug(word), used)
        used.add(name)
        requirement = f"The text {'does not contain' if negated else 'contains'} `{word}`, whatever the case of letters"
        items.append(
            Item(
                id=name,
                requirement=requirement,
                check=Check(kind=kind, value=word, negated=negated),
            )
        )
    return Criterion(id=id, requirement=text, items=tuple(items))


def _task(
    name: str,
    prompt: str,
    description: str,
    *,
    must: tuple[str, ...] = (),
    must_not: tuple[str, ...] = (),
    rubric: str = "",
) -> TaskDraft:
    short_description = one_line(description)[:300]
    return TaskDraft(
        id=slug(name, limit=40),
        prompt=prompt,
        description=short_description,
        must=must,
        must_not=must_not,
        rubric=rubric,
    )


def _need(what: str) -> str:
    """A request, in the script that it is written in. What is a sentence already stays one."""
    return (
        what if re.search(r"[.!?。！？]$", what) else _in_script(what, TABLES["need"]).format(what)
    )


def _ask_about(topic: str) -> str:
    asked: str = _in_script(topic, TABLES["ask"]).format(topic)
    if asked != topic:
        return asked
    return (
        f"What should I know about {topic}?"
        if len(topic.split()) <= 3
        else f"This is the case: {topic}. What now?"
    )


_SCRIPTS: Final = {"korean": "[가-힣]", "japanese": "[ぁ-んァ-ヶ]", "chinese": "[一-鿿]"}


def _in_script(text: str, choices: Mapping[str, T]) -> T:
    """What is there for the script of a text, else the English."""
    found = (
        choices[name]
        for name, signs in _SCRIPTS.items()
        if name in choices and re.search(signs, text)
    )
    return next(found, choices["english"])


def _spread(parts: Sequence[Sequence[TaskDraft]], most: int) -> list[TaskDraft]:
    """Some of every part: one of each in turn, until there are enough. In the order of the parts."""
    in_turn: list[TaskDraft] = []
    for turn in zip_longest(*parts):
        if len(in_turn) >= 2 * most:
            break
        in_turn += [task for task in turn if task is not None]
    chosen = set(map(id, in_turn))
    places = {
        _content_of(task): at
        for at, task in enumerate(chain.from_iterable(parts))
        if id(task) in chosen
    }
    return sorted(_sound(in_turn)[:most], key=lambda task: places[_content_of(task)])


def _content_of(task: TaskDraft) -> tuple[object, ...]:
    """All but its id, which may be given a number."""
    return task.prompt, task.must, task.must_not


def _filled_up(tasks: list[TaskDraft], more: Iterable[TaskDraft], wanted: int) -> list[TaskDraft]:
    for task in more:
        if len(tasks) >= wanted:
            break
        tasks = _sound([*tasks, task])
    return tasks


def _sound(tasks: Iterable[TaskDraft]) -> list[TaskDraft]:
    """The tasks that the linter has nothing against, with ids and prompts that are not taken."""
    sound: list[TaskDraft] = []
    used: set[str] = set()
    prompts: set[str] = set()
    for task in tasks:
        prompt = " ".join(task.prompt.split()).casefold()
        named = replace(task, id=free_id(task.id, used))
        if prompt and prompt not in prompts and not problems_of(named):
            sound.append(named)
            used.add(named.id)
            prompts.add(prompt)
    return sound


def problems_of(task: TaskDraft) -> list[str]:
    """Why a task would show nothing, by itself."""
    suite = Suite(cases=(task.case(),))
    return [remark.message for remark in lint_suite(suite) if not remark.is_advice]


class ModelTasks(Struct, frozen=True, kw_only=True):
    """What could be used of a model's reply, and what was wrong with the rest (in words for the
    model).
    """

    tasks: tuple[TaskDraft, ...]
    problems: tuple[str, ...]


def read_model_tasks(tasks: object, *, most: int = MOST) -> ModelTasks:
    """Tasks as a model gives them: `id, prompt, expected, forbidden, rubric`. Each is held to what
    a drafted one is.
    """
    if not isinstance(tasks, list):
        return ModelTasks(tasks=(), problems=("`tasks` must be a list",))
    usable: list[TaskDraft] = []
    problems: list[str] = []
    for number, entry in enumerate(tasks[:50], 1):
        task = _from_model(entry)
        if isinstance(task, str):
            problems.append(f"task {number}: {task}")
            continue
        wrong = problems_of(task)
        same = any(" ".join(one.prompt.split()) == " ".join(task.prompt.split()) for one in usable)
        if wrong or same:
            problems.append(f"task `{task.id}`: {wrong[0] if wrong else 'its prompt comes twice'}")
            continue
        usable.append(replace(task, id=free_id(task.id, {one.id for one in usable})))
    if len(usable) < FEWEST:
        problems.append(f"{len(usable)} tasks can be used, but {FEWEST} are needed")
    return ModelTasks(tasks=tuple(usable[:most]), problems=tuple(problems))


def _from_model(entry: object) -> TaskDraft | str:
    if not isinstance(entry, dict):
        return "it must be an object"
    id, prompt, rubric = entry.get("id"), entry.get("prompt"), entry.get("rubric") or ""
    if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > 20_000:
        return "`prompt` must be a text"
    if not isinstance(rubric, str):
        return "`rubric` must be a text"
    must, must_not = _word_list(entry.get("expected")), _word_list(entry.get("forbidden"))
    if must is None or must_not is None:
        return "`expected` and `forbidden` must be lists of texts"
    if not (must or must_not or rubric.strip()):
        return "nothing says how it is judged: give `expected`, `forbidden` or `rubric`"
    if (must or must_not) and rubric.strip():
        return "give either words or a `rubric`, not both"
    name = slug(id if isinstance(id, str) and id.strip() else prompt, limit=40)
    description = entry.get("description")
    return TaskDraft(
        id=name,
        prompt=_printable(prompt.strip()),
        must=must,
        must_not=must_not,
        rubric=_printable(rubric.strip()),
        description=_printable(one_line(description))[:300] if isinstance(description, str) else "",
    )


def _word_list(value: object) -> tuple[str, ...] | None:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > 50:
        return None
    if not all(
        isinstance(word, str) and word.strip() and word.isprintable() and len(word) <= 200
        for word in value
    ):
        return None
    return tuple(dict.fromkeys(word.strip() for word in value))


def _printable(text: str) -> str:
    return "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
