"""Outputs that a suite need not ask its target for: those of `--outputs`, and those of a target
declared `repeatable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.suites.choice import in_column
from honestone.app.suites.columns import SuiteName, last_columns, read_table
from honestone.core.checking.checks import is_text_check
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import OutputProduced, StartedArtifact, SuiteStarted
from honestone.core.json_value import listed
from honestone.core.judging.contract import Identity, digest_json
from honestone.core.judging.spend import Spend
from honestone.core.record.event_codec import event_from_plain, event_to_plain
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.runs import LAST, SUITES, TABLE
from honestone.core.suite.case import Case, Suite
from honestone.ports import Journal, Store
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.adapters.targets.record import Attempt
    from honestone.app.workspace import Workspace

_NAMES: Final = "name a run of a suite (`honestone runs` lists them), `last`, or a file of outputs"


class RecordedOutputs(Struct, frozen=True, kw_only=True):
    """The outputs of `--outputs`: `source` says whence, in a table from which `column`, `identity`
    what they are. `prompt`: of a suite of several, the one that they answer. `target`, by the
    suite's name `label`, and `artifact` are what made them, `inputs` what they answer by case and
    `asked` all that the target was asked, as far as that is known. Answers
    `engine.cases.KnownOutputs`.
    """

    source: str
    column: str | None = None
    label: str | None = None
    prompt: str | None = None
    identity: Identity
    outputs: Mapping[Attempt, OutputProduced]
    target: str | None = None
    artifact: StartedArtifact | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    async def find(self, case: Case, attempt: int) -> OutputProduced | None:
        output = self.outputs.get((case.id, attempt))
        if output is None:  # of a case whose attempts end with a pass
            why = f"no output is recorded for attempt {attempt}"
            return OutputProduced(case=case.id, attempt=attempt, output="", error=why)
        return replace(output, spend=Spend())

    async def keep(self, output: OutputProduced) -> None:
        """Nothing to do: they are on record."""


class Answered(Struct, frozen=True, kw_only=True):
    """What recorded outputs have to answer: these `cases` of a suite, with these of its `prompts`;
    `is_prompt_named`: they were asked for by name, and are not just all that it has.
    """

    suite: Suite
    cases: Sequence[Case]
    prompts: Sequence[str]
    is_prompt_named: bool = False

    def cases_of(self, label: str | None, prompt: str | None) -> Sequence[Case]:
        """The cases as the target with this label is asked them with this prompt."""
        return in_column(self.cases, label, prompt)

    def is_wanted(self, prompt: str | None) -> bool:
        """Whether outputs that answer this prompt are judged; None where it is not known."""
        return prompt is None or not self.is_prompt_named or prompt in self.prompts

    def prompt_of(self, source: str, recorded: str | None) -> str | None:
        """The prompt that the outputs of `source` answer. Raises UsageError where the suite has
        several and it is not known which one, or the suite has it no more.
        """
        known = self.suite.prompts
        if not known:
            return None
        prompt = recorded or (self.prompts[0] if len(self.prompts) == 1 else None)
        if prompt is None:
            raise UsageError(
                f"{source} does not say which prompt its outputs answer",
                hint=f"--prompt NAME says it: {', '.join(known)}",
            )
        if prompt not in known:
            raise UsageError(
                f"{source} answers the prompt `{prompt}`, which the suite does not have",
                hint=f"its prompts: {', '.join(known)}",
            )
        return prompt

    def label_of(self, column: str, started: SuiteStarted) -> str | None:
        """The suite's name of the target of a column: the one on record, which runs of several
        prompts have; else that of the one target that is used so; else a part of the column's name.
        """
        targets = self.suite.targets
        used_so = [spec.label for spec in targets if spec.use == started.target]
        if started.label is not None or _prompt_of(started) is not None:
            return started.label
        if len(used_so) == 1:
            return used_so[0]
        parts = column.split(" / ")
        return next((spec.label for spec in targets if spec.label in parts), None)


def read_outputs(
    workspace: Workspace, name: str, suite: SuiteName, answered: Answered, base: Path
) -> list[RecordedOutputs]:
    """Those of the run or file `name` for the cases that are `answered`; of a table those of each
    column whose prompt is wanted. `suite` is what its runs are filed under, `base` its folder.

    Raises UsageError when the name is neither, when no output answers a prompt that is wanted, for
    a case without an output, and for one that is there twice.
    """
    path = workspace.path(name)
    if name in LAST or not (path.exists() or (base / name).exists()):
        with workspace.open_store() as store:
            columns = last_columns(store, suite) if name in LAST else _columns_of(store, name)
        if not columns:
            raise UsageError(
                "this suite has no finished run on record, so `last` names none", hint=_NAMES
            )
        recorded = {column: _prompt_of(record.started) for column, record in columns.items()}
        outputs = [
            _of_run(column, record, answered)
            for column, record in columns.items()
            if answered.is_wanted(recorded[column])
        ]
        if not outputs:
            answers = listed([*dict.fromkeys(str(prompt) for prompt in recorded.values())])
            raise UsageError(
                f"--outputs `{name}` answers {answers}, and no prompt that was asked for",
                hint="name one that it answers with --prompt, or another run",
            )
    else:
        outputs = [_of_file(path if path.exists() else base / name, name, answered)]
    for one in outputs:
        _require_files(one, answered.cases_of(one.label, one.prompt))
    return outputs


def _prompt_of(started: SuiteStarted) -> str | None:
    """The prompt that a run was asked with, where its suite had several."""
    prompt = started.cases[0].plain.get("prompt")
    return None if prompt is None else str(prompt)


def _of_run(column: str, record: SuiteRecord, answered: Answered) -> RecordedOutputs:
    from honestone.adapters.targets.record import require_all, wanted_attempts

    started = record.started
    outputs = {
        (id, number): one
        for id, case in record.cases.items()
        for number, one in case.produced.items()
    }
    label = answered.label_of(column, started)
    prompt = answered.prompt_of(f"run {record.run}", _prompt_of(started))
    cases = answered.cases_of(label, prompt)
    hint = "choose cases that this run has with --case, or name another run"
    require_all(wanted_attempts(cases), outputs, f"run {record.run}", hint)
    inputs = {one.id: one.answered or record.cases[one.id].case.input for one in started.cases}
    wanted = {case.id for case in cases}
    return RecordedOutputs(
        source=f"run {record.run}",
        column=column or None,
        label=label,
        prompt=prompt,
        identity={
            "kind": "outputs",
            "digest": digest_json(
                [event_to_plain(outputs[key]) for key in sorted(outputs) if key[0] in wanted]
            ),
        },
        outputs=outputs,
        target=started.target,
        artifact=started.artifact,
        inputs=inputs,
        asked={case.id: case.asked for case in started.cases},
        notes=_changed_inputs(cases, inputs),
    )


def _columns_of(store: Store, name: str) -> Mapping[str, SuiteRecord]:
    try:
        info = store.find_run(name)
    except StoreError as error:
        raise UsageError(
            f"--outputs `{name}` is neither a file nor a run: {error.message}", hint=_NAMES
        ) from None
    if info.kind == TABLE:
        return read_table(store, info.id).columns
    if info.kind not in SUITES:
        raise UsageError(
            f"run {info.id} is an {info.kind} run, not a suite's: it has no outputs", hint=_NAMES
        )
    return {"": read_record(store.events(info.id), run=info.id)}


def _of_file(path: Path, name: str, answered: Answered) -> RecordedOutputs:
    from honestone.adapters.targets.record import RecordTarget
    from honestone.engine.cases import produced_event

    record = RecordTarget(path, name=name)
    prompt = answered.prompt_of(printable(name), None)
    cases = answered.cases_of(None, prompt)
    record.refuse(cases)
    target = record.about.get("target")
    return RecordedOutputs(
        source=printable(name),
        prompt=prompt,
        identity=record.identity,
        outputs={key: produced_event(*key, output) for key, output in record.outputs.items()},
        target=target if isinstance(target, str) else ", ".join(record.made_by) or None,
        artifact=_artifact_of(record.about.get("artifact")),
        inputs={id: input for id, input in record.inputs.items() if isinstance(input, str)},
        notes=(*record.notes, *_changed_inputs(cases, record.inputs)),
    )


def _artifact_of(plain: object) -> StartedArtifact | None:
    """The artifact that a report of ours names."""
    if not isinstance(plain, dict) or not {"path", "digest"} <= plain.keys():
        return None
    return StartedArtifact(path=str(plain["path"]), digest=str(plain["digest"]))


# Usually a text; a file of recorded outputs may have anything.
Input = TypeVar("Input")


def _changed_inputs(cases: Sequence[Case], inputs: Mapping[str, Input]) -> tuple[str, ...]:
    changed = [case.id for case in cases if inputs.get(case.id, case.input) != case.input]
    return (f"recorded for another input than the suite's: {listed(changed)}",) if changed else ()


def _require_files(outputs: RecordedOutputs, cases: Sequence[Case]) -> None:
    """Raises UsageError where checks look at files that were not kept: they would look at an empty
    folder.
    """
    for case in cases:
        for number in range(1, case.attempts + 1):
            output = outputs.outputs.get((case.id, number))
            if (
                output is not None
                and output.error is None
                and output.files is None
                and needs_files(case)
            ):
                raise UsageError(
                    f"checks of case `{case.id}` look at its workspace, which is not on record",
                    place=outputs.source,
                    hint="run the target again, or name a run that had these checks",
                )


def needs_files(case: Case) -> bool:
    """Whether checks look at the files of its workspace."""
    checks = [item.check for _, item in case.rubric.questions() if item.check is not None]
    return case.workspace is not None and any(
        not is_text_check(check) or "path" in check.options for check in checks
    )


# -----------------------------------------------------------------------------------------------------
# repeatable


class CachedOutputs(Struct, frozen=True, kw_only=True):
    """Outputs by what was asked for them, next to the judges' replies in the store. Answers
    `engine.cases.KnownOutputs`.

    `asked` is the digest of what the target is asked in a case. `since` (ISO time): older ones do
    not count. With `is_fresh` none counts, and the new ones take their place.
    """

    journal: Journal
    asked: Mapping[str, str]
    target: str
    since: str | None = None
    is_fresh: bool = False

    async def find(self, case: Case, attempt: int) -> OutputProduced | None:
        stored = (
            None
            if self.is_fresh
            else await self.journal.reply(self._key(case.id, attempt), since=self.since)
        )
        try:
            event = None if stored is None else event_from_plain(stored)
        except (TypeError, ValueError, KeyError):  # damaged: it is asked again
            return None
        if not isinstance(event, OutputProduced) or (event.files is None and needs_files(case)):
            return None
        return replace(event, case=case.id, attempt=attempt, spend=Spend(cached_outputs=1))

    async def keep(self, output: OutputProduced) -> None:
        """Errors are not kept, and what came from here is here."""
        if output.error is None and not output.spend.cached_outputs:
            key = self._key(output.case, output.attempt)
            await self.journal.keep_reply(key, self.target, event_to_plain(output))

    def _key(self, case: str, attempt: int) -> str:
        return digest_json({"output of": self.asked[case], "attempt": attempt})
