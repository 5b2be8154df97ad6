"""Writing a suite in the native format, for people to read and edit. `read_suite` reads back the
same suite.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import RubricError, UsageError
from honestone.core.json_value import as_json
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    TIERS,
    Check,
    Criterion,
    Rubric,
)
from honestone.core.numbers import exact
from honestone.core.suite.case import (
    SUITE_VERSION,
    AttemptRule,
    Case,
    CaseWorkspace,
    Expect,
    Message,
    Suite,
    TargetSpec,
)
from honestone.formats.rubric.rubric_write import (
    INLINE,
    check_lines,
    check_pairs,
    criterion_lines,
    vouching_lines,
)
from honestone.formats.source import WrittenCases, WrittenPrompt
from honestone.formats.suite.case_reading import check_criteria
from honestone.formats.suite.value_reading import label_of, label_of_file, names_file
from honestone.formats.suite_values import split_ref
from honestone.formats.syntax.yaml_lines import (
    decimal,
    entry,
    flow,
    indent,
    number_text,
    scalar,
    text_lines,
)


def dump_suite(suite: Suite, written: WrittenCases | None = None) -> str:
    """YAML text. What all cases have in common is written once, at the top. Raises UsageError for
    what the format cannot say.

    `written`: prompts with their `{{ name }}`, and variables and tables in the place of cases that
    are filled in; files are named as they lie from the suite's folder. It is not checked that this
    says the same.

    Descriptions and other tools' data have no key in the format; they are kept as comments.
    """
    common = _common(suite.cases)
    lines = [f"suite: {SUITE_VERSION}"]
    if suite.title:
        lines.append(f"title: {scalar(suite.title)}")
    if suite.skill_id:
        lines += _comment(f"skill: {suite.skill_id}")
    if suite.more_artifacts:
        lines += ["artifact:", *(f"  - {scalar(name)}" for name in suite.artifacts)]
    elif suite.artifact:
        lines.append(f"artifact: {scalar(suite.artifact)}")
    if written is not None:
        lines += _prompts(written.prompts)
    lines += _targets(suite.targets)
    with _errors_of("the suite"):
        lines += _common_lines(common)
    if suite.concurrency is not None:
        lines.append(f"concurrency: {suite.concurrency}")
    lines += vouching_lines(asking_of_judges(suite))
    if written is not None and written.defaults:
        lines += ["defaults:", *indent(_vars(written.defaults))]
    lines += ["cases:", *indent(_cases(suite.cases, common, written))]
    return "\n".join(lines) + "\n"


def _cases(cases: Sequence[Case], common: _Common, written: WrittenCases | None) -> Iterator[str]:
    """Each case, or the table in the place of the cases that are its rows."""
    tables = {} if written is None else written.tables
    named: set[Path] = set()
    for case in cases:
        table = tables.get(case.id)
        if table is None:
            yield from _notes(case)
            with _errors_of(f"case `{case.id}`"):
                lines = entry([*_case(case, common, written), *_prompts_of(case, written)])
            yield from lines
        elif table not in named:
            named.add(table)
            yield f"- {scalar(table.as_posix())}"


def _prompts_of(case: Case, written: WrittenCases | None) -> list[str]:
    """The prompts that a case is for, where these are not all."""
    if written is None or len(case.prompts) in (0, len(written.prompts)):
        return []
    return [f"prompts: {flow(list(case.prompts))}"]


def _prompts(prompts: Sequence[WrittenPrompt]) -> Iterator[str]:
    yield "prompts:"
    for prompt in prompts:
        name = None if prompt.file is None else prompt.file.as_posix()
        (first, *more) = prompt.messages
        is_text = not more and first.role == "user"
        if name is not None and names_file(name) and label_of_file(name) == prompt.label:
            yield f"  - {scalar(name)}"
        elif name is not None:
            lines = [f"label: {scalar(prompt.label)}", f"input: {flow({'file': name})}"]
            yield from indent(entry(lines))
        elif (
            is_text and not names_file(first.content) and label_of(prompt.messages) == prompt.label
        ):
            yield f"  - {scalar(first.content)}"
        else:
            yield from indent(entry([f"label: {scalar(prompt.label)}", *_input(prompt.messages)]))


def _vars(variables: Mapping[str, object]) -> list[str]:
    """Raises UsageError for a variable that is neither a text nor a number."""
    for name, value in variables.items():
        if not isinstance(value, str | int | float):
            raise UsageError(f"a suite file cannot say the variable `{name}`")
    return [
        "vars:",
        *indent(
            [
                line
                for name, value in variables.items()
                for line in text_lines(flow(name), value if isinstance(value, str) else flow(value))
            ]
        ),
    ]


def asking_of_judges(suite: Suite) -> Suite:
    """The suite with what the rubrics of its cases ask of their judges, which is written once, for
    all of them.
    """
    rubrics = [case.rubric for case in suite.cases]
    asked = [suite.require_tier, *(rubric.require_tier for rubric in rubrics)]
    tiers = [tier for tier in asked if tier is not None]
    return replace(
        suite,
        require_calibration=suite.require_calibration
        or any(rubric.require_calibration for rubric in rubrics),
        require_tier=min(tiers, key=TIERS.index, default=None),
    )


@contextmanager
def _errors_of(where: str) -> Iterator[None]:
    """Errors raised in the block say which part of the suite cannot be written."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from None


def _notes(case: Case) -> list[str]:
    return _comment(case.description) if case.description else []


def _comment(text: str) -> list[str]:
    return [
        f"# {line}" if line.isprintable() else f"# {json.dumps(line)}" for line in text.split("\n")
    ]


# ----------------------------------------------------------------------------------------------------
# in common


_V = TypeVar("_V")


class _HowItRuns(Struct, frozen=True, kw_only=True):
    """How the attempts at a case are made. The defaults hold where neither it nor the suite says
    it.
    """

    attempts: int = 1
    attempt_rule: AttemptRule = AttemptRule.MEAN
    timeout: float | None = None
    workspace: CaseWorkspace | None = None
    setup: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case) -> _HowItRuns:
        return cls(
            attempts=case.attempts,
            attempt_rule=case.attempt_rule,
            timeout=case.timeout,
            workspace=case.workspace,
            setup=case.setup,
            teardown=case.teardown,
        )

    @classmethod
    def of_all(cls, cases: Sequence[Case]) -> _HowItRuns:
        """What all of them have, part by part."""
        usual = cls()
        return cls(
            attempts=_only([case.attempts for case in cases], usual.attempts),
            attempt_rule=_only([case.attempt_rule for case in cases], usual.attempt_rule),
            timeout=_only([case.timeout for case in cases], usual.timeout),
            workspace=_only([case.workspace for case in cases], usual.workspace),
            setup=_only([case.setup for case in cases], usual.setup),
            teardown=_only([case.teardown for case in cases], usual.teardown),
        )


class _Common(Struct, frozen=True, kw_only=True):
    """What is said once for all cases: criteria and the gate over them, and how all are
    run.
    """

    threshold: Fraction
    floor: Fraction
    criteria: tuple[Criterion, ...]
    title: str
    how_it_runs: _HowItRuns

    def names_gate_of(self, rubric: Rubric) -> bool:
        """Whether a case with this rubric can leave threshold, floor and title to the suite, which
        has no place for the rest.
        """
        gate = rubric.threshold, rubric.floor, rubric.title
        is_own = rubric.combine is not None or rubric.quorum is not None
        return not is_own and gate == (self.threshold, self.floor, self.title)


def _common(cases: Sequence[Case]) -> _Common:
    gates = Counter((case.rubric.threshold, case.rubric.floor) for case in cases)
    threshold, floor = gates.most_common(1)[0][0]
    # A rubric's title can be at the top only with criteria below it.
    title = _only([case.rubric.title for case in cases], "")
    common = _Common(
        threshold=threshold,
        floor=floor,
        criteria=(),
        title=title,
        how_it_runs=_HowItRuns.of_all(cases),
    )
    own_gate = [case for case in cases if not common.names_gate_of(case.rubric)]
    criteria = _shared_criteria(cases, own_gate)
    return replace(common, criteria=criteria, title=title if criteria else "")


def _only(values: Sequence[_V], otherwise: _V) -> _V:
    """The one value that all have."""
    return values[0] if all(value == values[0] for value in values) else otherwise


def _shared_criteria(cases: Sequence[Case], own_gate: Sequence[Case]) -> tuple[Criterion, ...]:
    """What the rubrics of all cases begin with. A case that names its own gate has to keep a
    criterion to name it with.
    """
    if len(cases) < 2:
        return ()
    most = min(len(case.rubric.criteria) - (case in own_gate) for case in cases)
    first = cases[0].rubric.criteria
    same = 0
    while same < most and all(case.rubric.criteria[same] == first[same] for case in cases):
        same += 1
    return first[:same]


def _common_lines(common: _Common) -> list[str]:
    lines: list[str] = []
    if common.criteria:
        lines += rubric_lines(common.criteria, title=common.title)
    if (common.threshold, common.floor) != (DEFAULT_THRESHOLD, DEFAULT_FLOOR):
        lines += gate_lines(common.threshold, common.floor)
    return [*lines, *_how_it_runs(common.how_it_runs, _HowItRuns())]


def gate_lines(threshold: Fraction, floor: Fraction) -> list[str]:
    return [f"threshold: {number_text(threshold * 100)}", f"floor: {number_text(floor * 100)}"]


def _how_it_runs(how: _HowItRuns, otherwise: _HowItRuns) -> Iterator[str]:
    """What differs from what would hold anyway."""
    if how.attempts != otherwise.attempts:
        yield f"attempts: {how.attempts}"
    if how.attempt_rule != otherwise.attempt_rule:
        yield f"attempt_rule: {how.attempt_rule}"
    if how.timeout is not None and how.timeout != otherwise.timeout:
        yield f"timeout: {decimal(exact(how.timeout))}"
    if how.setup != otherwise.setup:
        yield from _commands("setup", how.setup)
    if how.teardown != otherwise.teardown:
        yield from _commands("teardown", how.teardown)
    if how.workspace is not None and how.workspace != otherwise.workspace:
        yield from _workspace(how.workspace)


def rubric_lines(
    criteria: tuple[Criterion, ...], *, title: str = "", gate: list[str] | None = None
) -> list[str]:
    """A list of criteria, or a whole rubric where there is more to say."""
    listed = [line for criterion in criteria for line in entry(list(criterion_lines(criterion)))]
    if not title and gate is None:
        return ["rubric:", *indent(listed)]
    inside = [
        *([f"title: {scalar(title)}"] if title else []),
        *(gate or []),
        "criteria:",
        *indent(listed),
    ]
    return ["rubric:", *indent(inside)]


# ----------------------------------------------------------------------------------------------------
# a case


def _case(case: Case, common: _Common, written: WrittenCases | None) -> Iterator[str]:
    if not case.id.strip() == case.id or not case.id or not case.id.isprintable():
        raise UsageError(
            "a suite file cannot say this id", hint="an id is text without line breaks"
        )
    yield f"id: {scalar(case.id)}"
    if case.split is not None:
        yield f"split: {case.split}"
    if case.tags:
        yield f"tags: {flow(case.tags)}"
    if case.depends_on:
        yield f"depends_on: {flow(case.depends_on)}"
    if case.targets:
        yield f"targets: {flow(case.targets)}"
    if case.skip is not None:
        yield from text_lines("skip", case.skip)
    yield from _how_it_runs(_HowItRuns.of(case), common.how_it_runs)
    if written is None:
        yield from _input(case.messages)
    elif variables := written.variables.get(case.id):
        yield from _vars(variables)
    if case.reference is not None:
        yield from text_lines("reference", case.reference)
    yield from _judged_by(case.rubric, common)
    if case.expect is not None:
        yield from _expect(case.expect)
    if case.metadata:
        yield f"metadata: {flow(as_json(case.metadata))}"


def _judged_by(rubric: Rubric, common: _Common) -> Iterator[str]:
    """What the case has of its own; the last criteria as `checks`, where that says the same."""
    own = rubric.criteria[len(common.criteria) :]
    checks = _as_checks(own, {c.id for top in rubric.criteria for c, _ in top.walk()})
    if common.names_gate_of(rubric):
        listed = own[: len(own) - len(checks)]
        if listed:
            yield from rubric_lines(listed)
    else:
        checks = checks if len(checks) < len(own) else ()
        listed = own[: len(own) - len(checks)]
        yield from rubric_lines(listed, title=rubric.title, gate=_gate_of(rubric))
    if checks:
        yield "checks:"
        for check in checks:
            yield from indent(_check(check))


def _gate_of(rubric: Rubric) -> list[str]:
    lines = gate_lines(rubric.threshold, rubric.floor)
    if rubric.quorum is not None:
        lines.append(f"quorum: {rubric.quorum}")
    return lines if rubric.combine is None else [*lines, f"combine: {rubric.combine}"]


def _as_checks(criteria: tuple[Criterion, ...], ids: set[str]) -> tuple[Check, ...]:
    """The longest end of these criteria that a list of checks would become. `ids` are all ids of
    the rubric.
    """
    for start in range(len(criteria)):
        end = criteria[start:]
        checks = tuple(
            c.items[0].check for c in end if len(c.items) == 1 and c.items[0].check is not None
        )
        if len(checks) == len(end) and check_criteria(checks, ids - {c.id for c in end}) == end:
            return checks
    return ()


def _check(check: Check) -> list[str]:
    if check.value is None and not check.options:
        return [f"- {check.name}"]
    inline = f"- {flow(dict(check_pairs(check)))}"
    return [inline] if len(inline) <= INLINE else entry(check_lines(check))


def _input(messages: tuple[Message, ...]) -> Iterator[str]:
    if len(messages) == 1 and messages[0].role == "user" and messages[0].content.strip():
        yield from text_lines("input", messages[0].content)
    elif messages:
        yield "input:"
        for message in messages:
            lines = [f"role: {scalar(message.role)}", *text_lines("content", message.content)]
            yield from indent(entry(lines))


def _commands(key: str, commands: tuple[str, ...]) -> Iterator[str]:
    if len(commands) == 1:
        yield from text_lines(key, commands[0])
    elif commands:
        yield f"{key}:"
        for command in commands:
            yield f"  - {scalar(command)}"


def _workspace(workspace: CaseWorkspace) -> Iterator[str]:
    lines = [f"copy: {scalar(workspace.copy)}"] if workspace.copy is not None else []
    if workspace.git is not None:
        lines += _git(workspace.git, workspace.ref)
    if workspace.files:
        files = [
            line for name, text in workspace.files.items() for line in text_lines(flow(name), text)
        ]
        lines += ["files:", *indent(files)]
    yield from ["workspace:", *indent(lines)] if lines else ["workspace: {}"]


def _git(repo: str, ref: str | None) -> list[str]:
    short = repo if ref is None else f"{repo}@{ref}"
    if split_ref(short) == (repo, ref):
        return [f"git: {scalar(short)}"]
    return ["git:", *indent([f"repo: {scalar(repo)}", *([f"ref: {scalar(ref)}"] if ref else [])])]


def _targets(targets: Sequence[TargetSpec]) -> list[str]:
    if len(targets) > 1:
        return ["target:", *(row for one in targets for row in indent(entry(_target(one))))]
    (target,) = targets
    if target == TargetSpec():
        return []
    if target.use and target == TargetSpec(use=target.use):
        return [f"target: {scalar(target.use)}"]
    return ["target:", *indent(_target(target))]


def _target(target: TargetSpec) -> list[str]:
    lines = [f"use: {scalar(target.use)}"] if target.use else []
    if target.label is not None:
        lines.append(f"label: {scalar(target.label)}")
    if target.skill is not None:
        lines.append(f"skill: {str(target.skill).lower()}")
    if target.timeout is not None:
        lines.append(f"timeout: {decimal(exact(target.timeout))}")
    if target.output != "text":
        lines.append(f"output: {target.output}")
    if target.sandbox is not None:
        lines.append(f"sandbox: {target.sandbox}")
    if target.repeatable:
        lines.append("repeatable: true")
    if target.base_url is not None:
        lines.append(f"base_url: {scalar(target.base_url)}")
    if target.api_key_env is not None:
        lines.append(f"api_key_env: {scalar(target.api_key_env)}")
    if target.prompts is not None:
        lines.append(f"prompts: {flow(target.prompts)}")
    if target.parameters:
        lines.append(f"parameters: {flow(as_json(target.parameters))}")
    return lines


def _expect(expect: Expect) -> Iterator[str]:
    taken = next((name for name in ("verdict", "score") if name in expect.criteria), None)
    if taken:
        raise RubricError(
            f"`expect` cannot name a criterion `{taken}`", hint="give the criterion another id"
        )
    yield "expect:"
    if expect.verdict is not None:
        yield f"  verdict: {expect.verdict}"
    spans = {**({"score": expect.score} if expect.score else {}), **expect.criteria}
    for name, (low, high) in spans.items():
        yield f"  {flow(name)}: [{decimal(low * 100)}, {decimal(high * 100)}]"
