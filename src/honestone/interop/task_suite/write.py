"""Writing a task suite (improvement-evaluator 1.0), with what it cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from honestone.core.errors import RubricError, UsageError
from honestone.core.judging.rubric import Criterion, Item, Rubric, slug
from honestone.core.numbers import ONE, ZERO, exact
from honestone.core.suite.case import AttemptRule, Case, Suite, TargetSpec
from honestone.formats.source import Loss
from honestone.formats.suite.suite_write import asking_of_judges, gate_lines, rubric_lines
from honestone.formats.syntax.yaml_lines import decimal, entry, flow, indent, scalar, text_lines
from honestone.interop.criteria import FROM_0_TO_1
from honestone.interop.task_suite.read import FIXTURES, VERSION

_KEYS = {"id", "description", "prompt", "judge", "timeout_seconds"}


def dump_task_suite(suite: Suite) -> tuple[str, list[Loss]]:
    """YAML text that `read_task_suite` reads back, and everything of the suite that is not in it."""
    losses = list(_suite_losses(suite))
    skill = suite.skill_id or slug(suite.title or suite.artifact or "skill")
    lines = [f"skill_id: {scalar(skill)}", f'version: "{VERSION}"']
    if suite.title and suite.title != skill:
        lines += text_lines("description", suite.title)
    lines.append("tasks:")
    for case in suite.cases:
        losses += _case_losses(case)
        lines += indent(entry(list(_task(case, losses))))
    return "\n".join(lines) + "\n", losses


def _task(case: Case, losses: list[Loss]) -> Iterator[str]:
    yield f"id: {scalar(case.id)}"
    if case.description:
        yield from text_lines("description", case.description)
    if not case.input.strip():
        raise UsageError(f"case `{case.id}` has no input, but a task needs a prompt")
    yield from text_lines("prompt", case.input)
    yield "judge:"
    yield from indent(_judge(case, losses))
    if case.timeout is not None:
        yield f"timeout_seconds: {decimal(exact(case.timeout))}"
    for key, value in case.metadata.items():
        if key not in _KEYS:
            yield f"{flow(key)}: {flow(value)}"


# ----------------------------------------------------------------------------------------------------
# judges


def _judge(case: Case, losses: list[Loss]) -> list[str]:
    """The judge of the format that means exactly this rubric; else ours, which the tool itself does
    not know.
    """
    rubric = case.rubric
    words = _keywords(rubric)
    if words is not None and not words[1]:
        return _keyword_lines("contains", words[0])
    test = _test_file(rubric)
    if test is not None:
        return ["type: pytest", f"test_file: {scalar(test)}"]
    score = _scored(rubric)
    if score is not None:
        threshold = decimal(rubric.threshold)
        return [
            "type: llm-rubric",
            *text_lines("rubric", score.requirement),
            f"pass_threshold: {threshold}",
        ]
    kind = "rubric" if words is None else "not-contains"
    losses.append(
        Loss(
            place=f"case `{case.id}`",
            message=f"its judge is written with the type `{kind}`, which only honestone reads",
            hint="improvement-evaluator itself knows contains, pytest and llm-rubric",
        )
    )
    if words is not None:
        return _keyword_lines("not-contains", words[0])
    try:
        gate = gate_lines(rubric.threshold, rubric.floor)
        return ["type: rubric", *rubric_lines(rubric.criteria, title=rubric.title, gate=gate)]
    except RubricError as error:
        raise UsageError(f"case `{case.id}`: {error.message}", hint=error.hint) from None


def _keyword_lines(kind: str, words: list[str]) -> list[str]:
    return [f"type: {kind}", "expected:", *(f"  - {scalar(word)}" for word in words)]


def _is_plain(criterion: Criterion) -> bool:
    return not (
        criterion.children
        or criterion.negate
        or criterion.fix
        or criterion.is_penalty
        or criterion.weight == 0
    )


def _keywords(rubric: Rubric) -> tuple[list[str], bool] | None:
    """The keywords, when the rubric asks for all of them (False) or for none (True) and scores by
    their share.
    """
    if not all(map(_is_plain, rubric.criteria)) or not _needs_all(rubric):
        return None
    alike = len(rubric.criteria) == 1 or all(
        len(c.items) == 1 and c.weight == rubric.criteria[0].weight for c in rubric.criteria
    )
    words: list[str] = []
    negated: set[bool] = set()
    for criterion in rubric.criteria:
        for item in criterion.items:
            check = item.check
            if (
                check is None
                or check.kind != "icontains"
                or check.options
                or not isinstance(check.value, str)
            ):
                return None
            words.append(check.value)
            negated.add(check.negated)
    return (words, negated.pop()) if alike and len(negated) == 1 else None


def _needs_all(rubric: Rubric) -> bool:
    """Whether one unmet item fails it: at 100, or where each item is a criterion with a floor or
    required.
    """
    return rubric.threshold == ONE or all(
        len(c.items) == 1 and (c.required or rubric.floor_of(c, None) > ZERO)
        for c in rubric.criteria
    )


def _one_item(rubric: Rubric) -> tuple[Criterion, Item] | None:
    """The criterion and its item, where the rubric is one question."""
    if (
        len(rubric.criteria) != 1
        or not _is_plain(rubric.criteria[0])
        or len(rubric.criteria[0].items) != 1
    ):
        return None
    return rubric.criteria[0], rubric.criteria[0].items[0]


def _test_file(rubric: Rubric) -> str | None:
    one = _one_item(rubric)
    check = one[1].check if one else None
    if (
        check is None
        or check.kind != "pytest"
        or check.negated
        or check.options
        or not _needs_all(rubric)
    ):
        return None
    return (
        check.value
        if isinstance(check.value, str) and check.value.startswith(f"{FIXTURES}/")
        else None
    )


def _scored(rubric: Rubric) -> Criterion | None:
    """The criterion, when it is one on the scale 0 to 1, judged by the threshold alone."""
    one = _one_item(rubric)
    if one is None or one[1].anchors is None or dict(one[1].anchors.levels) != dict(FROM_0_TO_1):
        return None
    criterion, item = one
    by_threshold = rubric.floor_of(criterion, None) <= rubric.threshold and not criterion.required
    return criterion if by_threshold and not item.may_not_apply else None


# ----------------------------------------------------------------------------------------------------
# losses


def _suite_losses(suite: Suite) -> Iterator[Loss]:
    for is_set, what in (
        (suite.artifacts, "the artifact"),
        (suite.targets != (TargetSpec(),), "the target"),
        (suite.concurrency, "the concurrency"),
        (asking_of_judges(suite).require_calibration, "require_calibration"),
        (asking_of_judges(suite).require_tier, "require_tier"),
    ):
        if is_set:
            yield Loss(
                place="suite",
                message=f"{what} cannot be said in a task suite",
                hint="name it on the command line",
            )


def _case_losses(case: Case) -> Iterator[Loss]:
    has: Mapping[str, object] = {
        "the reference": case.reference,
        "the split": case.split,
        "the tags": case.tags,
        "the attempts": case.attempts != 1 or case.attempt_rule is not AttemptRule.MEAN,
        "the set-up": case.setup,
        "the teardown": case.teardown,
        "the workspace": case.workspace,
        "that it is skipped": case.skip,
        "the cases that it depends on": case.depends_on,
        "the expected scores": case.expect,
    }
    for what, is_set in has.items():
        if is_set:
            yield Loss(place=f"case `{case.id}`", message=f"{what} cannot be said in a task suite")
    if len(case.messages) > 1 or any(message.role != "user" for message in case.messages):
        yield Loss(
            place=f"case `{case.id}`", message="its messages become one text, each after its role"
        )
