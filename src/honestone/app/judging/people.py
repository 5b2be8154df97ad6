"""What people say of judged texts, compared with what judges said of them: labels from a table that
Python gives, next to results that are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from honestone.app.judging.evaluated import Evaluated
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.events import ArtifactJudged, CalibrationStarted
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.statistics.labels import LabelTarget, PersonLabel, targets_of
from honestone.formats.text_table import cell_text, is_missing

# The criterion that stands for the whole verdict, and the judge that stands for code.
VERDICT: Final = "verdict"
CHECKS: Final = "checks"
_WHOLE: Final = Rubric(
    title="the verdict of a text",
    criteria=(
        Criterion(
            id=VERDICT,
            requirement="It passes",
            items=(Item(id=VERDICT, requirement="It passes", whole=True),),
        ),
    ),
    threshold=Fraction(1),
    floor=Fraction(0),
)


class LabelRows(Struct, frozen=True, kw_only=True):
    """Labels as a table: `raters` by the column that each is in, and a row a text.

    `ids`: which text each row is of, as its place in the results; None where it is of none.
    """

    columns: Mapping[str, Sequence[object]]
    places: Sequence[int | None]


def calibration_events(
    results: Sequence[Evaluated], labels: LabelRows, *, of_run: str | None, contract: str
) -> tuple[CalibrationStarted, list[ArtifactJudged]]:
    """The events that a calibration is worked out from. Columns are raters, who say of a text
    whether it passes; or `RATER/CRITERION`, what it says of one criterion.

    Raises UsageError for a column of neither kind, and for cells that cannot be answers.
    """
    scorer = results[0].scorer
    targets = targets_of(scorer.rubric)
    split = {name: _split(name, targets) for name in labels.columns}
    is_whole = {target is None for _, target in split.values()}
    if len(is_whole) > 1:
        raise UsageError(
            "some columns of the labels are of the whole verdict and some of one criterion",
            hint="calibrate twice, once with each kind: RATER, or RATER/CRITERION",
        )
    whole = is_whole == {True}
    rubric = _WHOLE if whole else scorer.rubric
    events = [
        _whole_event(one, scorer, at) if whole else _event(one, at)
        for at, one in enumerate(results)
    ]
    panel = dict.fromkeys(
        ballot.judge for event in events for ballot in event.ballots if ballot.judge != CHECK
    )
    started = CalibrationStarted(
        contract={},
        contract_id=contract,
        rule=scorer.rule,
        panel=(*panel,),
        rubric=rubric,
        of_run=of_run or "",
        labels=tuple(_labels(labels, split)),
        labels_path="labels",
        population=tuple(_name(at) for at in range(len(results))),
    )
    return started, events


def _name(at: int) -> str:
    """What a text is called here: its place, since two may have one id."""
    return str(at)


def _split(name: str, targets: Mapping[str, LabelTarget]) -> tuple[str, LabelTarget | None]:
    """The rater of a column, and what they label; None for the whole verdict."""
    rater, _, criterion = name.partition("/")
    if not criterion:
        return rater, None
    if criterion not in targets:
        raise UsageError(
            f"the column {visible(repr(name), 80)} names a criterion that no judge is asked about",
            hint=f"RATER/CRITERION, of: {', '.join(targets) or 'none'}",
        )
    return rater, targets[criterion]


def _labels(
    labels: LabelRows, split: Mapping[str, tuple[str, LabelTarget | None]]
) -> Iterator[PersonLabel]:
    whole = targets_of(_WHOLE)[VERDICT]
    for name, cells in labels.columns.items():
        rater, found = split[name]
        target = found or whole
        for number, (cell, at) in enumerate(zip(cells, labels.places, strict=True), 1):
            if at is None or is_missing(cell):
                continue
            try:
                answer = target.read(_plain_cell(cell))
            except ValueError as error:
                raise UsageError(
                    f"row {number} of the labels, column {visible(repr(name), 60)}: {error}",
                    hint=f"it must be {target.choices}",
                ) from None
            yield PersonLabel(artifact=_name(at), rater=rater, key=target.key, answer=answer)


@runtime_checkable
class _Scalar(Protocol):
    """A number of numpy, which gives Python's own."""

    def item(self) -> object: ...


def _plain_cell(cell: object) -> bool | int | float | str:
    """A cell of a data frame, whose numbers are of their own types, as Python's own."""
    if isinstance(cell, bool | int | float | str):
        return cell
    plain = cell.item() if isinstance(cell, _Scalar) else cell
    return plain if isinstance(plain, bool | int | float) else cell_text(plain)


def _event(evaluated: Evaluated, at: int) -> ArtifactJudged:
    return ArtifactJudged(
        path=_name(at),
        digest=evaluated.report.artifact.digest,
        ballots=evaluated.ballots,
        error=evaluated.failed,
    )


def _whole_event(evaluated: Evaluated, scorer: Scorer, at: int) -> ArtifactJudged:
    """The verdict of each judge alone, with what code says, as its answer to one question."""
    code = [one for one in evaluated.ballots if one.judge == CHECK]
    judges = [one for one in evaluated.ballots if one.judge != CHECK]
    ballots = [_verdict_of(one.judge, scorer, [one, *code], one.reason) for one in judges] or [
        _verdict_of(CHECKS, scorer, code, None)
    ]
    return ArtifactJudged(path=_name(at), digest="", ballots=tuple(ballots), error=evaluated.failed)


def _verdict_of(
    judge: str, scorer: Scorer, ballots: Sequence[Ballot], reason: str | None
) -> Ballot:
    key: Key = (VERDICT, VERDICT)
    outcome = judge_gate(scorer.alone(ballots), scorer.rubric).outcome
    if outcome not in (Outcome.PASS, Outcome.FAIL):
        return Ballot(judge=judge, marks={}, abstained={key: "no verdict"}, reason=reason)
    return Ballot(judge=judge, marks={key: Mark(outcome is Outcome.PASS)}, reason=reason)
