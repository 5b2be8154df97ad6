"""The use case of `eval ARTIFACT`: score artifacts against a rubric.

First everything is read and checked, so that a mistake costs no call. Then each artifact is judged,
recorded and handed to the caller, in the order given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from honestone.adapters.registry import make_target
from honestone.app.between_calls import LEFT_OPEN
from honestone.app.event_loop import each_interruptibly, run_interruptibly
from honestone.app.judging.evaluated import Evaluated, EvaluationSummary, Writer
from honestone.app.judging.judging_options import (
    BATCH_AT_ONCE,
    ArtifactOptions,
    JudgingOptions,
    make_context,
    make_panel,
    notes_on_unnamed_files,
    refuse_too_big,
)
from honestone.app.judging.measured.vouching import require_vouched
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.judging.sure import require_askable
from honestone.app.judging.trusting import contacts
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.belief.stated import DEFAULT_LOOKS
from honestone.core.checking.checks import checks_of, is_of_text_alone
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import (
    EvaluationStarted,
    RunFinished,
    TableColumns,
    TableFacts,
    judged_by,
)
from honestone.core.judging.contract import Contract, digest_of_list
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Outcome, overall
from honestone.core.judging.spend import Meter, RunGrants
from honestone.core.numbers import show_bar
from honestone.engine.evaluate import Evaluation, JudgedArtifact, JudgedSubject
from honestone.engine.journal import reserve_in
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.evaluator_of_rubric import evaluator_for
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat, functions_of
from honestone.ports import Function, Observer, RunInfo, Store, Target
from honestone.report.documents import PlainDocument
from honestone.system.drawing import count
from honestone.system.files import Loaded, printable
from honestone.system.trust.judging_files import JudgingFiles, files_named, names_commands

if TYPE_CHECKING:
    from honestone.report.documents.scorecard import KnownNoiseDoc

# From this number on, artifacts that only code judges are read when they are judged, not before.
_FEW = 500
# Bytes of artifacts that stay in memory between the check and the judging. Others are read twice.
_MOST_HELD_BYTES = 2_000_000
# The name of an artifact that is a text and not a file. Of several, each has its number after it.
_TEXT = "text"
# The name that stands for the longest text of a table in the check of what judges can be shown.
_LONGEST = Path("the longest text")
# The number of texts that the limit on calls is made for, where nobody knows how many will come.
_UNCOUNTED = 100_000
# The result of a killed run that another run continues.
INTERRUPTED = "interrupted"


class RowsToJudge(Struct, frozen=True, kw_only=True):
    """What `evaluate` judges in place of artifacts.

    `subjects` gives all from the beginning each time it is called. `count`: how many there are, 0
    where it is unknown. `digests`: what they are, as names and digests, for runs of the same.
    `longest`: the longest text, where it is known.
    """

    name: str
    columns: TableColumns
    subjects: Callable[[], Iterator[JudgedSubject]]
    count: int = 0
    digests: Sequence[list[str]] = ()
    longest: JudgedSubject | None = None
    # Rows that are not judged, and the share of the others that has to pass.
    left_out: int = 0
    least: Fraction | None = None


class EvaluateRequest(ArtifactOptions, frozen=True, kw_only=True):
    """What to score, and by which rubric. An artifact that is a `str` is the text itself.

    `finds_judges`: look for judges on this machine where none is named. `keep`: record the run in
    the workspace's store.
    """

    artifacts: tuple[Path | str, ...]
    rubric: Path | Rubric
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    target: str | Target | Function = "identity"
    finds_judges: bool = True
    keep: bool = True
    # The run measures its judges, so it does not require that they were measured before.
    measures: bool = False
    # The rows of a table, instead of artifacts.
    rows: RowsToJudge | None = None


def evaluate(
    workspace: Workspace,
    request: EvaluateRequest,
    observer: Observer,
    show: Callable[[Evaluated], None],
) -> EvaluationSummary:
    """Judge every artifact, record each result, and then pass it to `show`, in the order given.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge when a judge is needed
    and none is there, Interrupted when the person stops it. A judge or target that fails raises
    nothing: it abstains, and the verdict may be inconclusive.
    """
    return _Work(workspace, request, observer).run(show)


def evaluate_one(workspace: Workspace, request: EvaluateRequest, observer: Observer) -> Evaluated:
    """Judge a single artifact, as `evaluate` does."""
    return evaluate_all(workspace, request, observer)[0]


def evaluate_all(
    workspace: Workspace, request: EvaluateRequest, observer: Observer
) -> list[Evaluated]:
    """Judge artifacts as `evaluate` does, and return all results together, in the order given."""
    results: list[Evaluated] = []
    evaluate(workspace, request, observer, results.append)
    return results


def require_pass(evaluated: Evaluated, output: str | Path, input: str | None) -> PlainDocument:
    """The document of an evaluation that passed. Raises AssertionError for one that failed, with
    what it misses and with `input` and `output`; CouldNotJudge for an inconclusive one.
    """
    from honestone.report.case_text import unmet_lines
    from honestone.report.documents.belief import is_undecided
    from honestone.report.documents.states import state_phrase

    __tracebackhide__ = True  # pytest shows the caller's line alone
    if evaluated.passed:
        return evaluated.document
    lines = [
        *unmet_lines(
            evaluated.report,
            input=input,
            output=output if isinstance(output, str) else evaluated.output,
        ),
        *(one for one in evaluated.report.belief_words if one not in evaluated.report.reasons),
    ]
    if evaluated.outcome is Outcome.FAIL:
        names = [
            one.id for one in evaluated.report.criteria if any(item.unmet for item in one.items)
        ]
        where = [f"did not pass: criterion {', '.join(map(repr, names))}"] if names else []
        raise AssertionError("\n".join([*lines, *where]))
    state = state_phrase(evaluated.verdict, is_undecided=is_undecided(evaluated.belief))
    raise CouldNotJudge("\n".join([*lines, f"{state}: the verdict is inconclusive"]))


class _Work:
    """One evaluation. Making it checks the request and reads what it names; `run` spends calls."""

    def __init__(self, workspace: Workspace, request: EvaluateRequest, observer: Observer) -> None:
        self._workspace = workspace
        self._request = request
        self._observer = observer
        judging = request.judging
        files = [artifact for artifact in request.artifacts if isinstance(artifact, Path)]
        self._plan = RubricPlan.read(
            workspace,
            request.rubric,
            judging,
            files,
            accept_loss=request.accept_loss,
            note=observer.note,
        )
        if self._plan.rubric.asks_judges and not judging.judges and not request.finds_judges:
            raise CouldNotJudge(
                "this rubric asks judges, but none was named",
                hint='judges=["cmd:COMMAND"], for example',
            )
        if isinstance(request.target, Target):
            self._target: Target | None = request.target
        else:
            self._target = make_target(request.target, make_context(judging, workspace))
        self._sizes: list[tuple[Path, int]] = []
        # Artifacts that were read for the checks, until they are judged.
        self._loaded: dict[Path, Loaded] = {}
        # The name of a text in a question to a judge. It has no number in it, so that equal texts
        # make equal questions, and the second one is answered from the record.
        self._asked_as: dict[Path, str] = {}
        self._paths = self._with_free_names(request.artifacts)
        self._has_folders = self._read_artifacts()
        self._count = len(self._paths) if request.rows is None else request.rows.count
        is_alone = len(self._paths) == 1 and self._target is None
        self._plan.preflight(self._load(self._paths[0]).version if is_alone else None)
        self._seats: Sequence[Seat] = self._plan.seats()
        self._check_judges()
        self._contract: Contract = self._plan.contract(self._seats)
        # Checks of the text alone read no file, so no file can change what they decide. They are
        # left out here, because the files of the others are looked up for each artifact.
        self._code_checks = [
            check for check in checks_of(self._plan.rubric) if not is_of_text_alone(check)
        ]
        self._programs = [seat for seat in self._seats if names_commands(seat.identity)]
        for note in notes_on_unnamed_files(self._programs, workspace.folder):
            observer.note(note)
        self._judging = JudgingFiles(self._files_that_judge, base=workspace.folder)
        if request.staged:
            self._refuse_what_is_not_staged()
        if request.locked and self._plan.path is not None:
            self._require_locked(self._plan.path)
        # The limit where the person sets none: each look may be asked for again three times, and
        # ten calls more. It stops a judge that fails for ever, not a run that goes well.
        self._meter: Meter = judging.meter(workspace.settings, calls=4 * self._calls + 10)

    def _check_judges(self) -> None:
        """Raise UsageError where a judge cannot be asked what this evaluation asks, or what it would
        be shown is too big for it.
        """
        request, rubric, judging = self._request, self._plan.rubric, self._request.judging
        require_askable(
            rubric,
            self._seats,
            judging,
            gate_only=request.gate_only,
            file=self._plan.path,
        )
        if not request.measures:
            require_vouched(self._workspace, [rubric], self._seats, judging)
        if self._target is not None:
            return  # what a target will say is not known yet
        input, reference = request.input, request.reference
        longest = None if request.rows is None else request.rows.longest
        if longest is not None:
            self._loaded[_LONGEST] = longest.loaded
            self._sizes.append((_LONGEST, longest.loaded.version.size))
            input, reference = longest.input, longest.reference
        refuse_too_big(
            self._seats,
            rubric,
            judging,
            self._sizes,
            lambda path: self._load(path).version,
            input=input,
            reference=reference,
        )

    def _require_locked(self, path: Path) -> None:
        from honestone.app.judging.lock import check_lock, files_that_judge

        judges = [seat.identity for seat in self._seats]
        files = files_that_judge(
            path, self._workspace, self._plan.checker, self._code_checks, judges
        )
        if self._code_checks and self._target is None:
            files = files.with_artifacts((one, self._load(one).version) for one in self._paths)
        check_lock(path, self._contract, files, allows_higher_bar=True)

    def _files_that_judge(self) -> Iterator[Path]:
        if self._code_checks:
            yield from self._plan.checker.judging_files(self._code_checks)
        yield from files_named([seat.identity for seat in self._programs], self._workspace.folder)

    def _with_free_names(self, artifacts: Sequence[Path | str]) -> list[Path]:
        """The artifacts as paths; texts get names that no other artifact has."""
        taken = {artifact for artifact in artifacts if isinstance(artifact, Path)}
        paths: list[Path] = []
        for number, artifact in enumerate(artifacts, 1):
            if isinstance(artifact, str):
                name = Path(_TEXT if len(artifacts) == 1 else f"{_TEXT}-{number}")
                while name in taken:
                    name = Path(f"{name}'")
                self._loaded[name] = Loaded(Version.of_text(artifact, "text.txt"))
                self._asked_as[name] = _TEXT
                artifact = name
            paths.append(artifact)
        return paths

    def _read_artifacts(self) -> bool:
        """Read every artifact, to refuse a bad one before anything is spent, and say whether one of
        them is a folder. Thousands of files that only code judges are not read here: that costs no
        call, so each can be read once, when it is judged.
        """
        staged = self._request.staged
        reads_now = staged or len(self._paths) < _FEW or self._plan.rubric.asks_judges
        held_bytes = 0
        has_folders = False
        for path in self._paths:
            if path in self._loaded:  # a text
                self._sizes.append((path, self._loaded[path].version.size))
                continue
            if not reads_now:
                has_folders = has_folders or os.path.isdir(self._workspace.path(path))
                continue
            loaded = self._load(path)
            version = loaded.version
            self._sizes.append((path, version.size))
            has_folders = has_folders or version.is_folder
            held_bytes += version.size
            if held_bytes <= _MOST_HELD_BYTES or staged:
                self._loaded[path] = loaded
        return has_folders

    def _load(self, path: Path) -> Loaded:
        return self._loaded.get(path) or self._load_artifact(path)

    def _load_artifact(self, path: Path) -> Loaded:
        plan = self._plan
        if not self._request.staged:
            return plan.load(path)
        from honestone.app.git_versions import load_staged

        return Loaded(
            load_staged(plan.workspace.path(path), exclude=plan.exclude, max_bytes=plan.max_bytes)
        )

    def _refuse_what_is_not_staged(self) -> None:
        """Raise UsageError where a file that takes part in the judging has unstaged changes. A pass
        by such a rubric, schema, judge or settings says nothing about the commit.
        """
        from honestone.app.git_versions import not_as_staged

        first = next((one for one in self._request.artifacts if isinstance(one, Path)), None)
        if first is None:
            return
        changed = not_as_staged(self._all_that_judge(), self._workspace.path(first))
        if changed:
            names = ", ".join(printable(self._workspace.shown(path)) for path in changed[:5])
            is_rubric = self._plan.path is not None and changed[0] == self._plan.path.resolve()
            kind = "the rubric " if is_rubric else ""
            raise UsageError(
                f"{kind}{names}, which judges, has changes that are not staged",
                hint="stage them too, or undo them",
            )

    def _all_that_judge(self) -> Iterator[Path]:
        """Every file that takes part in the judging: rubric, lock, settings, checks and judges."""
        rubric, settings = self._plan.path, self._workspace.settings.file
        if rubric is not None:
            yield rubric
            if self._request.locked:
                yield rubric.with_name(f"{rubric.name}.lock")
        if settings is not None:
            yield settings
        yield from self._plan.checker.judging_files(checks_of(self._plan.rubric))
        yield from self._judging.paths

    @property
    def _calls(self) -> int:
        """The looks of judges that the run may need, without retries."""
        rubric = self._plan.rubric
        each = len(self._seats) if rubric.sure is None else rubric.max_looks or DEFAULT_LOOKS
        return (self._count or _UNCOUNTED) * each

    def _cost_in_words(self) -> str:
        """What the run may cost, said before its first call."""
        judges = ", ".join(seat.id for seat in self._seats)
        most = self._meter.calls
        if not self._count:  # a generator of texts, whose number is not known
            return f"texts: at most {most} calls; recorded replies cost nothing"
        artifacts = count(self._count, "artifact" if self._request.rows is None else "text")
        sure = self._plan.rubric.sure
        judged = f"{artifacts} x {count(len(self._seats), 'judge')}"
        calls, limit = count(self._calls, "call"), f"at most {most} with retries"
        if sure is not None:
            judged = f"{artifacts}, asked on until it is {show_bar(sure)}% sure"
            calls, limit = f"up to {self._calls} looks", f"at most {most} calls with retries"
        if most < self._calls:
            limit = f"of which the limit allows {most}"
        return f"{judged} ({judges}): {calls}, {limit}; recorded replies cost nothing"

    def run(self, show: Callable[[Evaluated], None]) -> EvaluationSummary:
        """Judge all of it in a new run, and pass each result to `show`."""
        plan = self._plan
        with self._open_store() as store:
            if self._seats:
                self._observer.note(self._cost_in_words())
            used = [(seat.id, seat.judge.identity) for seat in self._seats]
            if self._target is not None:
                used.append((str(self._request.target), self._target.identity))
            for note in contacts(self._workspace, used):
                self._observer.note(note)
            panel = make_panel(
                self._seats,
                store,
                self._meter,
                plan.options,
                concurrency=self._workspace.settings.concurrency,
            )
            gate_only = plan.scorer if self._request.gate_only else None
            evaluator = evaluator_for(plan.rubric, plan.checker, panel, gate_only=gate_only)
            identity = self._claimed_identity(store)
            killed = self._killed_with_calls(identity, store) if identity else None
            run = store.start_run(
                kind="eval",
                subject=self._subject(),
                identity=identity,
                contract=self._contract.id,
                first=self._started(),
            )
            if not identity:
                return self._judge(store, run, evaluator, show)
            reserve_in(store, run, self._meter)
            # A run that may make no call does not end the killed one: then the next run with calls
            # still finds it, and counts its calls.
            is_used_up = self._meter.no_call_left() or self._meter.exhausted()
            if killed is not None and not is_used_up:
                _end(killed, store, f"run {run} continues it")
            try:
                return self._judge(store, run, evaluator, show)
            finally:
                store.unlock(identity)

    def _subject(self) -> str:
        """What the run is about, for lists of runs."""
        if self._request.rows is not None:
            return printable(self._request.rows.name)
        names = [printable(path) for path in self._paths[:3]]
        return ", ".join(names) + (", ..." if len(self._paths) > 3 else "")

    def _claimed_identity(self, store: Store) -> str:
        """The identity of this run, locked for this process. Empty where no limit has to hold over
        several commands, and where another process does the same work now.

        A limit of the person is for the whole job. So when a run is killed and the same command is
        given again, the identity finds the killed run, whose calls count. Their replies are on
        record, and are read from there at no cost.
        """
        judging, settings = self._request.judging, self._workspace.settings.limits
        limits = [
            settings.get(name) if value is None else value
            for name, value in (("max_calls", judging.max_calls), ("max_usd", judging.max_usd))
        ]
        if not self._seats or not self._request.keep or limits == [None, None]:
            return ""
        request = self._request
        identity = digest_of_list(
            {
                "eval": self._contract.id,
                "limits": limits,
                "target": None if self._target is None else dict(self._target.identity),
                "input": request.input,
                "reference": request.reference,
                **functions_of(self._seats),
            },
            "artifacts",
            self._digests(),
        )
        return identity if store.lock(identity) else ""

    def _digests(self) -> Iterator[list[str]]:
        """The name and the digest of everything that is judged."""
        if self._request.rows is not None:
            yield from self._request.rows.digests
        for path in self._paths:
            yield [printable(path), self._load(path).version.digest]

    def _killed_with_calls(self, identity: str, store: Store) -> RunInfo | None:
        """Find the newest unfinished run of the same job that made calls, and count those.

        Runs that were killed before their first call are ended on the way. Such a run has not yet
        taken over the count of an older one, which is then still unfinished and comes next.
        """
        while (killed := store.unfinished(identity)) is not None:
            taken = store.open_grants(killed.id, RunGrants())
            if taken.calls or taken.usd:
                self._meter.before.judge_calls = taken.calls
                self._meter.before.usd = taken.usd or None
                calls = count(taken.calls, "judge call")
                self._observer.note(
                    f"run {killed.id} of the same files was not finished: {calls} counted"
                )
                return killed
            _end(killed, store, "it was killed before its first call")
        return None

    def _noise(self, store: Store) -> KnownNoiseDoc | None:
        """What is on record of the noise of the judges; code has none."""
        if not self._seats:
            return None
        from honestone.app.judging.measured.known_noise import noise_on_record

        return noise_on_record(store, self._contract.id)

    def _judge(
        self, store: Store, run: str, evaluator: Evaluator, show: Callable[[Evaluated], None]
    ) -> EvaluationSummary:
        """Judge all of it within a run that has been started, and finish the run."""
        evaluation = self._evaluation(store, run, evaluator)
        recorded = run if self._request.keep else None
        writer = Writer(
            plan=self._plan, contract=self._contract.id, run=recorded, noise=self._noise(store)
        )
        outcomes: set[Outcome] = set()
        done, total = 0, self._count

        def take(judgement: JudgedArtifact) -> None:
            nonlocal done
            result = Evaluated(judgement, writer)
            show(result)
            outcomes.add(result.outcome)
            evaluation.live.failing += result.outcome is not Outcome.PASS
            done += 1

        rows = self._request.rows

        async def take_all() -> None:
            if rows is None:
                judgements = evaluation.judge_all(self._paths)
            else:
                judgements = evaluation.judge_subjects(rows.subjects(), total)
            async for judgement in judgements:
                take(judgement)

        evaluator.panel.answered = lambda seat: self._observer.progress(
            done, total, f"judging: {seat} answered"
        )
        # Where all checks look at the text alone, nothing has to be waited for: texts are then
        # judged in bulk and without an event loop, which is faster for thousands of files.
        texts = None if self._has_folders or self._target is not None else self._plan.texts
        if texts is not None:
            if rows is None:
                judged = evaluation.judge_texts(texts, self._paths)
            else:
                judged = evaluation.judge_text_subjects(texts, rows.subjects(), total)
            each_interruptibly(judged, take)
        else:
            run_interruptibly(take_all, lambda: self._close(evaluator.panel))
        verdict = overall(outcomes)
        finished = RunFinished(result=str(verdict), seconds=round(self._meter.seconds, 3))
        store.finish_run(run, str(verdict), finished)
        return EvaluationSummary(run=recorded, verdict=verdict, spent=self._meter.spent)

    async def _close(self, panel: Panel) -> None:
        await panel.close()
        if self._target is not None:
            await self._target.close()

    def _open_store(self) -> AbstractContextManager[Store]:
        """The workspace's store, or one in memory for a run that is not kept. Python's functions
        may leave either open for the next call (`between_calls`).
        """
        left_open = LEFT_OPEN.get()
        if left_open is not None:
            return left_open.store(self._workspace) if self._request.keep else left_open.memory()
        if self._request.keep:
            return self._workspace.open_store()
        from honestone.adapters.stores.memory import MemoryStore

        return closing(MemoryStore())

    def _started(self) -> EvaluationStarted:
        return EvaluationStarted(
            rubric=self._plan.rubric,
            rubric_path=self._plan.name,
            options=self._plan.words_for_improve,
            **self._table_facts(),
            **judged_by(
                self._contract,
                self._plan.options.rule,
                (one.id for one in self._seats),
                self._meter.limits,
            ),
        )

    def _table_facts(self) -> TableFacts:
        rows = self._request.rows
        if rows is None:
            return TableFacts()
        return TableFacts(table=rows.columns, left_out=rows.left_out, min_pass_rate=rows.least)

    def _evaluation(self, store: Store, run: str, evaluator: Evaluator) -> Evaluation:
        concurrency = self._workspace.settings.concurrency or (64 if self._seats else 8)
        if self._plan.options.batch is not None and self._target is None:
            concurrency = BATCH_AT_ONCE
        return Evaluation(
            run=run,
            evaluator=evaluator,
            store=store,
            contract=self._contract.id,
            observer=self._observer,
            looked_at=self._loaded,
            asked_as=self._asked_as,
            base=self._workspace.named,
            target=self._target,
            input=self._request.input,
            reference=self._request.reference,
            exclude=self._plan.exclude,
            max_bytes=self._plan.max_bytes,
            concurrency=concurrency,
            fresh=self._plan.options.fresh,
            changed=self._judging.changed,
            scorer=self._plan.scorer,
        )


def _end(killed: RunInfo, store: Store, reason: str) -> None:
    store.finish_run(killed.id, INTERRUPTED, RunFinished(result=INTERRUPTED, reason=reason))
