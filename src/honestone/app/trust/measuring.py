"""What the commands share that measure judges on one artifact (`noise`, `audit`): read and checked
before anything is spent, and one run on record that the same command resumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions, refuse_too_big
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.judging.trusting import contacts
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import (
    Event,
    JudgedBy,
    RunFinished,
    Started,
    StartedArtifact,
    judged_by,
    total_spend,
)
from honestone.core.judging.contract import Contract, digest_json
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.spend import Meter
from honestone.engine.journal import reserve_in
from honestone.engine.judging.seats import Seat
from honestone.ports import REASKS, Observer, Store
from honestone.system.drawing import count
from honestone.system.files import printable


class Measured(Struct, frozen=True, kw_only=True, dict=True):
    """One artifact, the rubric and the judges that are measured. `fresh`: the person wants no
    answer from before.
    """

    workspace: Workspace
    plan: RubricPlan
    path: Path
    version: Version
    seats: Sequence[Seat]
    fresh: bool

    @classmethod
    def read(
        cls,
        workspace: Workspace,
        artifact: Path | str,
        rubric: Path | Rubric,
        judging: JudgingOptions,
        observer: Observer,
    ) -> Measured:
        """An artifact that is a `str` is the text itself. Raises UsageError and its kinds,
        CouldNotJudge where no judge is found.
        """
        options = replace(judging, repeat=1, fresh=False)
        text, path = (artifact, Path("text")) if isinstance(artifact, str) else (None, artifact)
        files = [path] if text is None else []
        plan = RubricPlan.read(workspace, rubric, options, files, note=observer.note)
        if not plan.rubric.asks_judges:
            raise UsageError(
                "this rubric asks no judge, and code says the same each time",
                hint="honestone eval scores it",
            )
        version = plan.load(path).version if text is None else Version.of_text(text, "text.txt")
        seats = plan.seats()
        refuse_too_big(seats, plan.rubric, options, [(path, version.size)], lambda _: version)
        return cls(
            workspace=workspace,
            plan=plan,
            path=path,
            version=version,
            seats=seats,
            fresh=judging.fresh,
        )

    @cached_property
    def contract(self) -> Contract:
        return self.plan.contract(self.seats)

    @property
    def artifact(self) -> Artifact:
        return Artifact(printable(self.path), self.version)

    @property
    def started_artifact(self) -> StartedArtifact:
        return StartedArtifact(
            path=printable(self.path), digest=self.version.digest, is_folder=self.version.is_folder
        )

    def judged_by(self, meter: Meter) -> JudgedBy:
        return judged_by(
            self.contract, self.plan.options.rule, (seat.id for seat in self.seats), meter.limits
        )

    def meter(self, calls: int) -> Meter:
        """The limits of so many calls, each of which may be repeated as often as its judge is asked
        again.
        """
        looks = 1 + max((seat.reasks for seat in self.seats), default=REASKS)
        return self.plan.options.meter(self.workspace.settings, calls=looks * calls + 10)

    def announce(self, observer: Observer, each: int, what: str, meter: Meter) -> None:
        """What it will cost, before the first call: `each` questions to every judge."""
        calls = each * len(self.seats)
        observer.note(
            f"{count(each, what)} x {count(len(self.seats), 'judge')}: {calls} calls, at most {meter.calls}"
        )
        for note in contacts(
            self.workspace, [(seat.id, seat.judge.identity) for seat in self.seats]
        ):
            observer.note(note)

    def open(
        self, store: Store, first: Started, meter: Meter, *, looks: int | None = None
    ) -> tuple[str, list[Event]]:
        """The unfinished run of the same question, or a new one. Raises UsageError while another
        process is at it.
        """
        subject, kind = printable(self.path), str(first.kind)
        identity = digest_json(
            {"kind": kind, "artifact": self.version.digest, "contract": self.contract.id}
            | ({} if looks is None else {"looks": looks})
        )
        if not store.lock(identity):
            raise UsageError(
                f"this {kind} is being measured already", hint="wait for that run, or stop it"
            )
        old = store.unfinished(identity)
        if old is not None and not self.fresh:
            log = store.events(old.id)
            meter.before.join(total_spend(log))
            reserve_in(store, old.id, meter)
            return old.id, log
        if old is not None:
            ended = RunFinished(result="interrupted", reason="started over with --fresh")
            store.finish_run(old.id, "interrupted", ended)
        run = store.start_run(
            kind=kind, subject=subject, identity=identity, contract=self.contract.id, first=first
        )
        reserve_in(store, run, meter)
        return run, [first]

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def refuse_repeat(judging: JudgingOptions, why: str, hint: str | None = None) -> None:
    if judging.repeat is not None:
        raise UsageError(f"--repeat has no place here: {why}", hint=hint)


def stop_at_limit(refused: str | None, done: str) -> None:
    """Raises CouldNotJudge when a limit kept a judge from being asked."""
    if refused is not None:
        raise CouldNotJudge(
            f"{refused} after {done}", hint="the same command with a higher limit resumes"
        )
