"""Suites: cases, each with its input and its rubric, and the rules about attempts and splits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Final, Literal, TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.json_value import Codec, Form, Json, JsonObject, as_json, built
from honestone.core.judging.choices import SandboxChoice
from honestone.core.judging.contract import ContractDocument
from honestone.core.judging.images import IMAGE_MARK, Image, written_images
from honestone.core.judging.rubric import Rubric, to_plain
from honestone.core.suite.message import REPLY as REPLY
from honestone.core.suite.message import Message as Message

SUITE_VERSION = 1

ExpectedVerdict: TypeAlias = Literal["pass", "fail", "inconclusive"]


class AttemptRule(StrEnum):
    """How the attempts at one case become its result."""

    PASS_AT_K = "pass@k"
    PASS_HAT_K = "pass^k"
    MEAN = "mean"
    BEST = "best"


class Split(StrEnum):
    """Which part of a suite a case belongs to: failures in `train` are shown to a worker, `val`
    accepts, `test` certifies.
    """

    TRAIN = "train"
    VAL = "val"
    TEST = "test"


def is_url(repository: str) -> bool:
    return "://" in repository or (":" in repository.partition("/")[0] and "@" in repository)


class CaseWorkspace(Struct, frozen=True, kw_only=True):
    """The folder a case runs in: a copy of `copy` (a path in the suite's folder), or of a git
    repository at a ref, then `files`.
    """

    copy: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    git: str | None = None
    ref: str | None = None

    @property
    def paths(self) -> list[str]:
        """What it is made of on this machine."""
        git = (
            self.git
            if self.git is not None and (self.git.startswith("file://") or not is_url(self.git))
            else None
        )
        return [path.removeprefix("file://") for path in (self.copy, git) if path is not None]

    def to_plain(self) -> dict[str, Json]:
        return {"copy": self.copy, "files": dict(self.files), "git": self.git, "ref": self.ref}


# What a command prints: its text as it is, without the white space around it, or a JSON object.
OutputForm: TypeAlias = Literal["text", "trimmed", "json"]
OUTPUT_FORMS: Final[tuple[OutputForm, ...]] = ("text", "trimmed", "json")


class TargetSpec(Struct, frozen=True, kw_only=True):
    """What a suite says about its target. `use` is what `--target` takes. `skill`: the artifact is
    installed as an agent skill.

    `repeatable`: an output is taken from the record when the same was asked before. `label` is its
        name in a table of several. `parameters` are those of a model API, as in its settings.
        `sandbox` is what a command runs in, None where nothing is said of it. `base_url` is the server
        of a model API that is not the provider's own, `api_key_env` the variable with its key.
        `prompts` are those of the suite's prompts that it is asked with; all of them where it is None.
    """

    use: str | None = None
    label: str | None = None
    skill: bool | None = None
    timeout: float | None = None
    output: OutputForm = "text"
    repeatable: bool = False
    parameters: JsonObject = field(default_factory=dict)
    sandbox: SandboxChoice | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    prompts: tuple[str, ...] | None = None


class Expect(Struct, frozen=True, kw_only=True):
    """A test of the judges themselves: ranges (0-1, both ends included) that the scores have to
    stay in.
    """

    verdict: ExpectedVerdict | None = None
    score: tuple[Fraction, Fraction] | None = None
    criteria: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    @property
    def wants_met(self) -> bool | None:
        """Whether the output has to meet its rubric; None where that is not said."""
        return None if self.verdict in (None, "inconclusive") else self.verdict == "pass"

    @property
    def asks_scores(self) -> bool:
        return self.score is not None or bool(self.criteria)

    def to_plain(self) -> dict[str, Json]:
        return {
            "verdict": self.verdict,
            "score": None if self.score is None else [str(end) for end in self.score],
            "criteria": {
                name: [str(low), str(high)] for name, (low, high) in self.criteria.items()
            },
        }


class Case(Struct, frozen=True, kw_only=True):
    """One input and how its output is judged. `rubric` is whole: shared, own and checks, with the
    gate
    that holds.

    `stops_at_pass`: no further attempt once one has passed (task suites count an agent's runs
        dearly). `timeout` in seconds limits one run of the target. `setup` and `teardown` are
        command lines, run in order.
    `depends_on`: ids of cases that come before it; it is not run where the target failed in one of
        them. `targets`: labels of the targets of the suite that it is for; all of them, where it
        names none.
    `metadata`: what else its file says of it, kept and shown; nothing reads it, and it is not in
        the contract.
    `prompts`: in a suite of several prompts its messages by the name of the prompt, empty where
        code that was not run makes them; `messages` are then those of the first. `prompt` is the one
        that it is asked with, `variables` are what fills the prompts in. The contract has the
        variables in the place of the messages: prompts are compared with each other, as targets are.
    """

    id: str
    rubric: Rubric
    messages: tuple[Message, ...] = ()
    reference: str | None = None
    split: Split | None = None
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    attempts: int = 1
    attempt_rule: AttemptRule = AttemptRule.MEAN
    stops_at_pass: bool = False
    setup: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()
    workspace: CaseWorkspace | None = None
    skip: str | None = None
    depends_on: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    expect: Expect | None = None
    description: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    prompts: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    prompt: str | None = None
    variables: Mapping[str, object] = field(default_factory=dict)

    @property
    def input(self) -> str:
        """The input as people and judges read it: an image is shown as a number and a digest."""
        return self._with_images[0]

    @property
    def images(self) -> tuple[Image, ...]:
        return self._with_images[1]

    @property
    def _with_images(self) -> tuple[str, tuple[Image, ...]]:
        text = as_prompt(self.messages)
        return written_images(text) if IMAGE_MARK in text else (text, ())

    def in_column(self, label: str | None) -> Case:
        """The case as the target with this label runs it: a case for other targets is skipped. A
        target without a label runs all cases.
        """
        if label is None or not self.targets or label in self.targets:
            return self
        return replace(
            self, skip=self.skip or f"is for {', '.join(f'`{name}`' for name in self.targets)}"
        )

    def asked_with(self, prompt: str | None) -> Case:
        """The case with one prompt of the suite: skipped where that is not for it, or not known."""
        if prompt is None:
            return self
        messages = self.prompts.get(prompt)
        skip = self.skip
        if not messages and skip is None:
            why = "not for this case" if messages is None else "made by code that was not run"
            skip = f"the prompt `{prompt}` is {why}"
        return replace(self, prompts={}, prompt=prompt, messages=messages or (), skip=skip)

    @property
    def in_split(self) -> Split:
        """The split that it names, else a stable one by its id."""
        return self.split or split_of(self.id)


class Suite(Struct, frozen=True, kw_only=True):
    """A named set of cases. `artifact` is a path in the suite's folder; `concurrency` how many
    cases
    run at a time.

    `more_artifacts` and `more_targets` are those after the first: each target with each artifact is
    a column of a table.
    `require_calibration`, `require_tier`: as of a rubric, for all cases. Raises UsageError when it
        breaks a rule (no case, a doubled id, attempts below 1). Cases that are not a tuple are kept
        elsewhere than in memory, and were looked at when they were put there.
    `prompts`: the names of several prompts, each of them a column for each target.
    """

    cases: Sequence[Case]
    title: str = ""
    artifact: str | None = None
    target: TargetSpec = field(default_factory=TargetSpec)
    concurrency: int | None = None
    skill_id: str | None = None
    more_artifacts: tuple[str, ...] = ()
    more_targets: tuple[TargetSpec, ...] = ()
    require_calibration: bool = False
    require_tier: str | None = None
    sure: Fraction | None = None
    max_looks: int | None = None
    prompts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.cases:
            raise UsageError("a suite needs at least one case")
        seen: set[str] = set()
        for case in self.cases if isinstance(self.cases, tuple) else ():
            if case.id in seen:
                raise UsageError(f"two cases have the id `{case.id}`")
            if case.attempts < 1:
                raise UsageError(
                    f"case `{case.id}` has {case.attempts} attempts, but needs one at least"
                )
            seen.add(case.id)
        if self._has_dependencies:
            from honestone.core.suite.dependencies import wrong_dependencies

            for id, why in wrong_dependencies({case.id: case.depends_on for case in self.cases}):
                raise UsageError(f"case `{id}`: {why}")

    @property
    def _has_dependencies(self) -> bool:
        if isinstance(self.cases, tuple):
            return any(case.depends_on for case in self.cases)
        from honestone.core.suite.outline import outline_of

        return outline_of(self.cases).has_dependencies

    @property
    def artifacts(self) -> tuple[str, ...]:
        return (*(() if self.artifact is None else (self.artifact,)), *self.more_artifacts)

    @property
    def targets(self) -> tuple[TargetSpec, ...]:
        """One at least; the first says nothing where the suite says nothing."""
        return (self.target, *self.more_targets)

    def case(self, id: str) -> Case:
        return next(case for case in self.cases if case.id == id)


def as_prompt(messages: Sequence[Message]) -> str:
    """One message is its content; several are `ROLE: content` blocks parted by an empty line."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)


def split_of(id: str) -> Split:
    """60 train / 20 val / 20 test by a stable hash of the id: adding a case moves no other."""
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()
    percent = int.from_bytes(digest[:8], "big") % 100
    if percent < 60:
        return Split.TRAIN
    return Split.VAL if percent < 80 else Split.TEST


class TaskDocument(TypedDict):
    """What a target is given of a case: messages with role and content, files, commands."""

    input: Sequence[Json]
    workspace: JsonObject | None
    setup: Sequence[str]


class CaseDocument(TypedDict):
    """What decides what a score of a case means; its digest is the case's contract."""

    input: Json
    workspace: JsonObject | None
    setup: Sequence[str]
    rubric: ContractDocument
    reference: str | None
    attempts: int
    attempt_rule: str
    expect: JsonObject | None


def case_document(
    case: Case, *, workspace: str | None = None, rubric: ContractDocument | None = None
) -> CaseDocument:
    """What decides what a score of this case means, as plain JSON values: hashed, it is the case's
    contract.

    `workspace` is the digest of the files that `copy` or `git` brought. Target and artifact do not
    belong to it. `rubric`: that of the case as plain values, where it is at hand.
    """
    task = task_document(case, workspace=workspace)
    is_prompted = case.prompt is not None or bool(case.prompts)
    return {
        "rubric": to_plain(case.rubric) if rubric is None else rubric,
        "input": as_json(case.variables) if is_prompted else task["input"],
        "reference": case.reference,
        "workspace": task["workspace"],
        "setup": task["setup"],
        "attempts": case.attempts,
        "attempt_rule": str(case.attempt_rule),
        "expect": None if case.expect is None else case.expect.to_plain(),
    }


def task_document(case: Case, *, workspace: str | None = None) -> TaskDocument:
    """The part of a case that a target is given."""
    return {
        "input": _messages(case.messages),
        "workspace": None
        if case.workspace is None
        else {**case.workspace.to_plain(), "digest": workspace},
        "setup": list(case.setup),
    }


def _messages(messages: Sequence[Message]) -> list[Json]:
    return [[message.role, message.content] for message in messages]


def case_to_plain(case: Case) -> dict[str, Json]:
    """A case without its rubric as plain JSON values; `case_from_plain` reads it back."""
    return {**_CASE.write(case), "split": str(case.in_split)}


def case_from_plain(recorded: JsonObject, rubric: Rubric) -> Case:
    return _CASE.read(recorded, rubric=rubric)


def _expect(
    verdict: ExpectedVerdict | None,
    score: Sequence[str] | None,
    criteria: Mapping[str, Sequence[str]],
) -> Expect:
    ranges = {name: _span(span) for name, span in criteria.items()}
    return Expect(verdict=verdict, score=None if score is None else _span(score), criteria=ranges)


def _span(ends: Sequence[str]) -> tuple[Fraction, Fraction]:
    return Fraction(ends[0]), Fraction(ends[1])


_CASE: Final = Codec(
    Case,
    {
        AttemptRule: Form(str, AttemptRule),
        CaseWorkspace: Form(CaseWorkspace.to_plain, partial(built, CaseWorkspace)),
        Expect: Form(Expect.to_plain, partial(built, _expect)),
        Mapping[str, object]: Form(as_json),
        Split: Form(str, Split),
        tuple[Message, ...]: Form(_messages, lambda rows: tuple(Message(*row) for row in rows)),
        tuple[str, ...]: Form(list, tuple),
    },
    always=("attempts", "attempt_rule", "messages"),
    keys={"messages": "input"},
    never=("rubric", "prompts"),
)
