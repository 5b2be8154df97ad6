"""Events as the JSON of a store, and back: fields that have their default are left out, and events of
later versions are kept as they are.

The forms are found by the types of the fields, so no list of fields is kept here by hand: a new
field with a default changes no old record, and a type without a form is an error in a test, not a
record that cannot be read. `SidesComparison` has a stand-in here, because its module is imported
only where a run was compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Final,
    cast,
)

from msgspec.structs import asdict

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Delivery, DeliveryRule, Standing
from honestone.core.json_value import Codec, Form, Json, JsonObject
from honestone.core.judging.ballot import (
    Ballot,
    ballot_from_plain,
    ballot_to_plain,
)
from honestone.core.judging.rubric import Key, Rubric, Rule, from_plain, to_plain
from honestone.core.judging.spend import Spend, spend_from_plain
from honestone.core.statistics.labels import PersonLabel
from honestone.core.suite.trace import Trace

if TYPE_CHECKING:
    from honestone.core.skill.sides import SidesComparison
from honestone.core.events import (
    AttemptAnswers,
    AuditStarted,
    CalibrationStarted,
    CaseAnswers,
    CheckedArtifact,
    EvaluationStarted,
    Event,
    ImprovementStarted,
    JudgesAnswered,
    LoopImported,
    NoiseStarted,
    OtherEvent,
    RecordedCase,
    Spending,
    StagesStarted,
    Started,
    StartedArtifact,
    StartedColumn,
    StartedSuite,
    SuiteImprovementStarted,
    SuiteStarted,
    TableColumns,
    TableStarted,
)

_DELIVERY: Final = Codec(
    Delivery, {DeliveryRule: Form(str, DeliveryRule)}, always=("version", "rule", "reason")
)


_BALLOTS: Final = Form(
    lambda ballots: [ballot_to_plain(ballot) for ballot in ballots],
    lambda rows: tuple([ballot_from_plain(row) for row in rows]),
)
_ATTEMPT: Final = Codec(AttemptAnswers, {tuple[Ballot, ...]: _BALLOTS}, always=("text",))
_ATTEMPTS: Final = Form(
    lambda rows: [_ATTEMPT.write(one) for one in rows],
    lambda rows: tuple([_ATTEMPT.read(row) for row in rows]),
)
_ANSWERS: Final = Codec(
    CaseAnswers,
    {tuple[Ballot, ...]: _BALLOTS, tuple[AttemptAnswers, ...]: _ATTEMPTS},
    always=("case", "text", "rubric"),
)


def _given(one: StartedArtifact | StartedSuite | TableColumns) -> dict[str, Json]:
    return {name: value for name, value in asdict(one).items() if value not in (None, "", False)}


def _sides_to_plain(sides: SidesComparison) -> Json:
    from honestone.core.skill.sides import sides_to_plain

    return cast(Json, sides_to_plain(sides))


def _sides_from_plain(plain: Json) -> SidesComparison:
    """Imported when it is needed: most runs are not compared."""
    from honestone.core.skill.sides import sides_from_plain

    return sides_from_plain(plain)


# Stands in for `SidesComparison`, whose module is imported where a run has one.
_SIDES: Final = object()
_FORMS: Final[Mapping[object, Form]] = {
    Ballot: Form(ballot_to_plain, ballot_from_plain),
    Fraction: Form(str, Fraction),
    Mapping[str, Rubric]: Form(
        lambda rubrics: {key: to_plain(rubric) for key, rubric in rubrics.items()},
        lambda plain: {key: from_plain(rubric) for key, rubric in plain.items()},
    ),
    Mapping[str, Spend]: Form(
        lambda spends: {name: spend.to_plain() for name, spend in spends.items()},
        lambda plain: {name: spend_from_plain(spend) for name, spend in plain.items()},
    ),
    ProposalOutcome: Form(str, ProposalOutcome),
    Delivery: Form(_DELIVERY.write, _DELIVERY.read),
    Rubric: Form(to_plain, from_plain),
    Standing: Form(asdict, lambda plain: Standing(**plain)),
    Rule: Form(str, Rule),
    _SIDES: Form(_sides_to_plain, _sides_from_plain),
    Sequence[CheckedArtifact]: Form(
        lambda rows: [list(row) for row in rows],
        lambda rows: [CheckedArtifact(*row) for row in rows],
    ),
    Sequence[RecordedCase]: Form(
        lambda cases: [one.plain for one in cases], lambda rows: tuple(map(RecordedCase, rows))
    ),
    Spend: Form(Spend.to_plain, spend_from_plain),
    StartedArtifact: Form(_given, lambda plain: StartedArtifact(**plain)),
    TableColumns: Form(_given, lambda plain: TableColumns(**plain)),
    StartedSuite: Form(_given, lambda plain: StartedSuite(**plain)),
    Trace: Form(Trace.to_plain, Trace.from_plain),
    tuple[CaseAnswers, ...]: Form(
        lambda rows: [_ANSWERS.write(one) for one in rows],
        lambda rows: tuple([_ANSWERS.read(row) for row in rows]),
    ),
    tuple[Ballot, ...]: _BALLOTS,
    tuple[Key, ...]: Form(
        lambda keys: [list(key) for key in keys], lambda rows: tuple((c, i) for c, i in rows)
    ),
    tuple[PersonLabel, ...]: Form(
        lambda labels: [
            [*one.key, one.artifact, one.rater, one.answer, one.digest] for one in labels
        ],
        lambda rows: tuple(
            PersonLabel(
                key=(criterion, item), artifact=artifact, rater=rater, answer=answer, digest=digest
            )
            for criterion, item, artifact, rater, answer, digest in rows
        ),
    ),
    tuple[StartedArtifact, ...]: Form(
        lambda skills: [_given(one) for one in skills],
        lambda rows: tuple(StartedArtifact(**row) for row in rows),
    ),
    tuple[StartedColumn, ...]: Form(
        lambda columns: [[one.name, one.run] for one in columns],
        lambda rows: tuple(StartedColumn(name=name, run=run) for name, run in rows),
    ),
    tuple[str, ...]: Form(list, tuple),
}


def event_to_plain(event: Event) -> dict[str, Json]:
    """An event as the JSON object that is kept."""
    if isinstance(event, OtherEvent):
        return dict(event.facts)
    plain: dict[str, Json] = {"type": event.type}
    if event.kind is not None:
        plain["kind"] = event.kind
    return plain | _CODECS[event.__class__].write(event)


_TYPES: Final[Mapping[object, type[Event]]] = {
    one.type: one
    for base in (Event, Spending, JudgesAnswered)
    for one in base.__subclasses__()
    if one.type
}
_STARTS: Final = (
    EvaluationStarted,
    NoiseStarted,
    AuditStarted,
    CalibrationStarted,
    ImprovementStarted,
    SuiteImprovementStarted,
    SuiteStarted,
    TableStarted,
    StagesStarted,
    LoopImported,
)
_KINDS: Final[Mapping[object, type[Event]]] = {
    one.kind: one for one in _STARTS if one is not SuiteImprovementStarted
}
# Fields whose name in the stored JSON is an older one.
_STORED_AS: Final = {"sides": "fields"}
_CLASSES: Final[Sequence[type[Event]]] = (*_TYPES.values(), *_STARTS)
_CODECS: Final[Mapping[type[Event], Codec[Event]]] = {
    one: Codec(
        one,
        _FORMS,
        keys=_STORED_AS,
        last=("seconds",),
        stand_ins={"SidesComparison": _SIDES},
    )
    for one in _CLASSES
}


def event_from_plain(plain: JsonObject) -> Event:
    """The event that a JSON object holds; of a type that is not known an `OtherEvent`. Names that
    are not known are left out. Raises TypeError, ValueError or KeyError for one that is not whole.
    """
    of = _class_of(plain)
    if of is None:
        return OtherEvent(name=str(plain.get("type")), facts=plain)
    return _CODECS[of].read(plain)


def _class_of(plain: JsonObject) -> type[Event] | None:
    name, kind = plain.get("type"), plain.get("kind")
    if not isinstance(name, str) or not isinstance(kind, str | None):
        return None
    if name != Started.type:
        return _TYPES.get(name)
    if "certifying" in plain:
        return SuiteImprovementStarted
    return _KINDS.get(kind)
