"""A rubric of any format with all that judges by it: read and checked before the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.between_calls import LEFT_OPEN
from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.workspace import Bounds, Workspace
from honestone.core.artifact import Version
from honestone.core.checking.checks import checks_of, is_of_text_alone, runs_code
from honestone.core.errors import CommandRefused, UsageError
from honestone.core.judging.contract import Contract, make_contract
from honestone.core.judging.rubric import Quorum, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.numbers import exact, hundredfold
from honestone.engine.evaluate import TextEvaluator
from honestone.system.files import Loaded, load_artifact, printable

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.engine.judging.seats import Seat
    from honestone.formats.rubric.rubric_file import RubricSource
    from honestone.formats.source import ForeignRubric


class RubricPlan(Struct, frozen=True, kw_only=True, dict=True):
    """`path` is the rubric's file, None for one made in Python; `exclude` are files that judge and
    so are not judged; `rounds` is how many rounds of improvement another tool's file asks for.
    """

    workspace: Workspace
    options: JudgingOptions
    rubric: Rubric
    scorer: Scorer
    path: Path | None
    name: str | None
    checker: CheckRunner
    exclude: frozenset[Path]
    rounds: int | None = None

    @classmethod
    def read(
        cls,
        workspace: Workspace,
        rubric: Path | Rubric,
        options: JudgingOptions,
        artifacts: Sequence[Path],
        *,
        accept_loss: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> RubricPlan:
        """`artifacts` are what is judged, as far as they are files. Raises UsageError and its
        kinds.
        """
        if isinstance(rubric, Rubric):
            return cls.of(workspace, rubric, None, options, artifacts)
        from honestone.formats.source import ForeignRubric

        allowed = options.outside(workspace.path)
        place, read_as = workspace.path(rubric), options.read_as
        source = load_source(
            place, accept_loss=accept_loss, allowed=allowed, read_as=read_as, note=note
        )
        plan = cls.of(workspace, source.rubric, rubric, options, artifacts)
        return replace(plan, rounds=source.rounds) if isinstance(source, ForeignRubric) else plan

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        rubric: Rubric,
        named: Path | None,
        options: JudgingOptions,
        artifacts: Sequence[Path],
    ) -> RubricPlan:
        """The same for a rubric that was read already, from the file `named`.

        A call from Python uses the plan of the call before for the same object, where only texts
        and judges are asked.
        """
        left_open = LEFT_OPEN.get() if named is None and workspace.bounds is None else None
        last = None if left_open is None else left_open.plan
        if (
            isinstance(last, cls)
            and last.rubric is rubric
            and (last.workspace, last.options) == (workspace, options)
        ):
            return last
        path = None if named is None else workspace.path(named)
        found = with_sure(
            with_bars(
                rubric,
                threshold=options.threshold,
                floor=options.floor,
                quorum=options.quorum,
                combine=options.combine,
            ),
            options,
        )
        place = path or workspace.folder / "rubric"  # of one without a file: only its folder counts
        checker = make_checker(
            found, place, options, workspace, [workspace.path(artifact) for artifact in artifacts]
        )
        if workspace.bounds is not None:
            _require_within(workspace.bounds, found, place.parent, checker)
            judging_options.refuse_commands(options.judges, workspace, options)
        made = cls(
            workspace=workspace,
            options=options,
            rubric=found,
            scorer=Scorer(found, options.rule),
            path=path,
            name=None if named is None else printable(named),
            checker=checker,
            exclude=never_judged(found, place, checker),
        )
        if left_open is not None:
            left_open.plan = None if made.reads_files else made
        return made

    @cached_property
    def max_bytes(self) -> int:
        return judging_options.max_bytes(self.options, self.workspace.settings)

    @property
    def reads_files(self) -> bool:
        """Whether a check needs more than the text that it looks at."""
        return not all(map(is_of_text_alone, checks_of(self.rubric)))

    @cached_property
    def texts(self) -> TextEvaluator | None:
        """What judges texts where nothing but text checks is asked."""
        return TextEvaluator.of(self.rubric, self.checker)

    def load(self, artifact: Path) -> Loaded:
        """Raises FileError for what cannot be read."""
        return load_artifact(
            self.workspace.path(artifact), exclude=self.exclude, max_bytes=self.max_bytes
        )

    def preflight(self, version: Version | None = None) -> None:
        """Raises UsageError for a check that cannot be started. `version` is what is judged, where
        there is only one.
        """
        self.checker.preflight(checks_of(self.rubric), version)

    def seats(self) -> tuple[Seat, ...]:
        """The panel that these options ask for. Raises CouldNotJudge when a judge is needed and
        none is found.
        """
        judges = judging_options.choose_judges(self.options, self.rubric, self.workspace)
        seats = judging_options.make_seats(
            judges,
            judging_options.make_context(self.options, self.workspace),
            looks=1 if self.rubric.sure is not None else self.options.looks,
        )
        judging_options.require_quorum(self.rubric, seats)
        return seats

    @cached_property
    def words_for_improve(self) -> tuple[str, ...]:
        """Those of its options, for the document of each artifact."""
        return self.options.words_for_improve

    def contract(self, seats: Sequence[Seat]) -> Contract:
        return (
            contract_for(self.rubric, seats, self.checker, self.options)
            if seats
            else self._contract
        )

    @cached_property
    def _contract(self) -> Contract:
        return contract_for(self.rubric, (), self.checker, self.options)


def _require_within(bounds: Bounds, rubric: Rubric, folder: Path, checker: CheckRunner) -> None:
    """Raises UsageError for a check that may not run here, or that looks at files out of bounds."""
    checks = checks_of(rubric)
    for check in checks:
        if runs_code(check) and not bounds.commands:
            raise CommandRefused(f"the check `{check.name}` of the rubric")
        if isinstance(sibling := check.options.get("beside"), str):
            bounds.require(folder / sibling)
    for path in checker.judging_files(checks):
        bounds.require(path)


def make_checker(
    rubric: Rubric,
    rubric_path: Path,
    options: JudgingOptions,
    workspace: Workspace,
    artifacts: Sequence[Path],
) -> CheckRunner:
    """`artifacts` are what is judged: a program among their files is taken from the version, never
    from disk.
    """
    from honestone.adapters.checks import CheckRunner

    # Only checks that run programs look at an artifact's place; resolving thousands of paths for
    # the others is waste.
    runs_code = not all(map(is_of_text_alone, checks_of(rubric)))
    return CheckRunner(
        rubric_path.parent.resolve(),
        sandbox=options.sandbox,
        pass_env=tuple(options.pass_env),
        artifacts=[path.resolve() for path in artifacts] if runs_code else (),
        folder=workspace.folder,
        closed=workspace.closed,
        allowed=options.outside(workspace.path),
        embedder=judging_options.make_embedder(options, workspace),
    )


def never_judged(rubric: Rubric, rubric_path: Path, checker: CheckRunner) -> frozenset[Path]:
    """Files in a folder artifact that do not belong to it: the rubric, its lock, and the tests and
    schemas that judge.
    """
    files = checker.judging_files(checks_of(rubric))
    lock = rubric_path.with_name(f"{rubric_path.name}.lock")
    return frozenset({rubric_path.resolve(), lock.resolve(), *(path.resolve() for path in files)})


def contract_for(
    rubric: Rubric,
    seats: Sequence[Seat],
    checker: CheckRunner,
    options: JudgingOptions,
    **more: str,
) -> Contract:
    """What decides what a score means: the same from every command and from Python. `more` options
    are those of another kind of judgement.
    """
    return make_contract(
        rubric,
        judges=[seat.identity for seat in seats],
        checks=[dict(checker.identity(check)) for check in checks_of(rubric)],
        rule=str(options.rule),
        options={**more, "evidence": options.evidence, "ask": options.ask, "pack": options.pack},
    )


def load_rubric(
    path: Path,
    *,
    accept_loss: bool = False,
    allowed: Sequence[Path] = (),
    read_as: str | None = None,
    note: Callable[[str], None] | None = None,
) -> Rubric:
    """The rubric of `load_source` alone."""
    return load_source(
        path, accept_loss=accept_loss, allowed=allowed, read_as=read_as, note=note
    ).rubric


def load_source(
    path: Path,
    *,
    accept_loss: bool = False,
    allowed: Sequence[Path] = (),
    read_as: str | None = None,
    note: Callable[[str], None] | None = None,
) -> RubricSource | ForeignRubric:
    """A rubric, ours or another tool's, with what else its file says.

    Raises SourceErrors for what a foreign file says and ours cannot, unless that is accepted; then
    it is noted.
    """
    from honestone.formats.source import ForeignRubric, refuse_losses
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(path, allowed, read_as)
    if isinstance(source, ForeignRubric):
        lost = refuse_losses(source.losses, source.dialect, accepted=accept_loss)
        for line in (f"{path} was read as {source.dialect}", *source.notes, *lost):
            if note is not None:
                note(line)
    return source


def with_bars(
    rubric: Rubric,
    *,
    threshold: float | None,
    floor: float | None,
    quorum: Quorum | None = None,
    combine: str | None = None,
) -> Rubric:
    """Bars are points from 0 to 100; None leaves the rubric's own. A `combine` of the command is
    kept with the run, and takes the place of the rubric's. Raises UsageError for other numbers.
    """
    if threshold is not None:
        rubric = replace(rubric, threshold=bar_share("--threshold", threshold))
    if floor is not None:
        rubric = replace(rubric, floor=bar_share("--floor", floor))
    if quorum is not None:
        rubric = replace(rubric, quorum=quorum)
    if combine is not None and rubric.combine is not None:
        rubric = replace(rubric, combine=None)
    return rubric


def with_sure(rubric: Rubric, options: JudgingOptions) -> Rubric:
    """The rubric with the options that say how sure its verdict has to be. Raises UsageError for a
    limit of what is not asked for.
    """
    if options.sure is not None:
        rubric = replace(rubric, sure=exact(options.sure) / 100)
    if options.max_looks is None:
        return rubric
    if rubric.sure is None:
        raise UsageError(
            "--max-looks limits what --sure asks for, and nothing says how sure the verdict has to be",
            hint="add --sure 95, or `sure: 95` in the file",
        )
    return replace(rubric, max_looks=options.max_looks)


def bar_share(option: str, points: float) -> Fraction:
    """A bar as a share 0-1 from points 0-100. Raises UsageError for other numbers, and for one
    between 0 and 1.
    """
    if not 0 <= points <= 100:  # NaN too
        raise UsageError(
            f"{option} is {points:g}, but must be from 0 to 100", hint=f"for example {option} 80"
        )
    meant = hundredfold(exact(points))
    if meant is not None:
        raise UsageError(
            f"{option} is {points:g}, but it is out of 100",
            hint=f"is {meant} meant? {option} {meant}",
        )
    return exact(points) / 100
