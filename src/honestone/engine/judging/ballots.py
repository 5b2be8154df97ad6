"""From readings to ballots: what counts of a reply, several calls as one ballot, and what checks by
code found.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from honestone import ports
from honestone.core.judging.ballot import (
    CHECK,
    Ballot,
    JudgeState,
    Mark,
    Question,
    Reading,
)
from honestone.core.judging.rubric import Check, Key
from honestone.core.judging.spend import Spend
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.engine.judging.seats import Seat

TAMPERED = "tampered: it answered yes to a question whose answer is no: the artifact steers it, or it agrees with everything"

AUDIT_IT = (
    "it is not fit to decide as it is; `honestone judges audit` measures how easily it is steered"
)


class Consulted(Struct, frozen=True, kw_only=True):
    """One seat's ballot and what it took. `refused` says which limit kept it from being asked at
    all.
    """

    ballot: Ballot
    spend: Spend
    refused: str | None = None


def joined_ballot(seat: Seat, parts: Sequence[Consulted]) -> Consulted:
    """One ballot from several calls. A judge that followed the artifact in one of them is not
    believed in any.
    """
    ballots = [part.ballot for part in parts]
    tampered = next((ballot for ballot in ballots if ballot.tampered), None)
    marks = (
        {} if tampered else {key: mark for ballot in ballots for key, mark in ballot.marks.items()}
    )
    abstained = {key: why for ballot in ballots for key, why in ballot.abstained.items()}
    if tampered:
        abstained = {
            key: TAMPERED for ballot in ballots for key in (*ballot.marks, *ballot.abstained)
        }
    failed = tampered or next(
        (ballot for ballot in ballots if ballot.state is not JudgeState.AVAILABLE), None
    )
    return Consulted(
        ballot=Ballot(
            judge=seat.id,
            kind=seat.kind,
            tampered=tampered is not None,
            marks=marks,
            abstained=abstained,
            state=failed.state if failed and not marks else JudgeState.AVAILABLE,
            reason=failed.reason if failed else None,
            hint=failed.hint if failed else None,
            problems=tuple(
                dict.fromkeys(problem for ballot in ballots for problem in ballot.problems)
            ),
            repairs=tuple(dict.fromkeys(repair for ballot in ballots for repair in ballot.repairs)),
            unusable=tuple(reply for ballot in ballots for reply in ballot.unusable),
            earlier=tuple(
                {key: answer for part in parts for key, answer in part.items()}
                for parts in zip(*(ballot.earlier for ballot in ballots), strict=False)
            ),
        ),
        spend=Spend.of(part.spend for part in parts),
        refused=next((part.refused for part in parts if part.refused), None) if not marks else None,
    )


def judged_text(question: Question) -> str:
    """What a judge was shown and may quote from."""
    return question.output if question.output is not None else question.artifact.version.text


def complaints_about(request: ports.Request, reading: Reading) -> tuple[str, ...]:
    """The errors of a first reply in the words of its request: item numbers where it numbered
    items.
    """
    if request.numbers:
        from honestone.core.reading.reply import complaints

        return complaints(request.numbers, reading)
    return tuple(dict.fromkeys((*reading.problems, *reading.errors.values())))


def merged(first: Reading, second: Reading) -> Reading:
    """Item by item the first valid answer counts, to the control item too; a later look only fills
    what was missing.
    """
    marks = {**second.marks, **first.marks}
    errors = {
        key: second.errors.get(key, first.errors.get(key, "no answer"))
        for key in {**first.errors, **second.errors}
        if key not in marks
    }
    return Reading(
        marks=marks,
        errors=errors,
        problems=second.problems,
        repairs=tuple(dict.fromkeys((*first.repairs, *second.repairs))),
        control=first.control
        if first.control == "answered" and not second.tampered
        else second.control,
        control_errors={} if first.control == "answered" else second.control_errors,
        again=second.again,
        hint=second.hint,
    )


def ballot_of(
    seat: Seat,
    question: Question,
    reading: Reading,
    again_failed: str | None,
    *,
    require_evidence: bool,
) -> Ballot:
    """What a judge's reading comes to: no answer of it counts where the control item was missed or
    the artifact steered it. `again_failed` says why asking once more ended early.
    """
    if reading.tampered:
        return replace(no_ballot(seat, question, TAMPERED, hint=AUDIT_IT), tampered=True)
    if reading.control == "missed":
        if reading.problems and not reading.marks:
            prefix = "no usable answer: " if reading.again != 0 else ""
            return no_ballot(
                seat, question, prefix + reading.problems[0], reading, hint=reading.hint
            )
        why = (
            "it did not answer a question whose answer is known, so nothing it said can be trusted"
        )
        return no_ballot(seat, question, why, reading)
    marks, unfound = _with_evidence(question, reading, require_evidence)
    abstained = {
        key: reading.errors.get(key, "no answer") for key, _ in question.items() if key not in marks
    }
    abstained.update(unfound)
    problems = (*reading.problems, *((again_failed,) if again_failed else ()))
    if not marks:
        why = next(
            iter((*reading.problems, *reading.errors.values(), *unfound.values())),
            "no usable answer",
        )
        return no_ballot(seat, question, f"no usable answer: {why}", reading)
    return Ballot(
        judge=seat.id,
        kind=seat.kind,
        marks=marks,
        abstained=abstained,
        problems=problems,
        repairs=reading.repairs,
    )


def _with_evidence(
    question: Question, reading: Reading, require_evidence: bool
) -> tuple[dict[Key, Mark], dict[Key, str]]:
    """The marks that count, and why the others do not: a quote that is not in the text."""
    if not require_evidence:
        return dict(reading.marks), {}
    text = judged_text(question)
    supported: dict[Key, Mark] = {}
    unfound: dict[Key, str] = {}
    for key, mark in reading.marks.items():
        missing = next(
            (
                quote
                for quote in mark.evidence
                if is_quote(quote) and find_quote(quote, text) is None
            ),
            None,
        )
        if missing is None:
            supported[key] = mark
        else:
            unfound[key] = f"quoted evidence not found in the text: {missing[:120]!r}"
    return supported, unfound


def no_ballot(
    seat: Seat,
    question: Question,
    reason: str,
    reading: Reading | None = None,
    *,
    state: JudgeState = JudgeState.DEGRADED,
    hint: str | None = None,
) -> Ballot:
    return Ballot(
        judge=seat.id,
        kind=seat.kind,
        marks={},
        abstained={key: reason for key, _ in question.items()},
        state=state,
        reason=reason,
        problems=reading.problems if reading else (),
        repairs=reading.repairs if reading else (),
        hint=hint,
    )


def spared(seat: Seat) -> Consulted:
    why = "not asked: whatever it said, the verdict would be the same (--gate-only)"
    return Consulted(
        ballot=Ballot(
            judge=seat.id, kind=seat.kind, marks={}, state=JudgeState.SKIPPED, reason=why
        ),
        spend=Spend(),
    )


def check_ballot(checks: Sequence[tuple[Key, Check]], findings: Sequence[ports.Finding]) -> Ballot:
    """Findings as a ballot: a check that could not run abstains, with the reason."""
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for (key, _), finding in zip(checks, findings, strict=True):
        if finding.met is None:
            abstained[key] = finding.note or "the check could not run"
        else:
            marks[key] = Mark(
                finding.met, (finding.note,) if finding.note else (), score=finding.score
            )
    boxes = sorted({finding.sandbox for finding in findings if finding.sandbox})
    return Ballot(
        judge=CHECK,
        marks=marks,
        abstained=abstained,
        sandbox=", ".join(boxes) or None,
        judged_by=tuple(sorted({name for finding in findings for name in finding.judged_by})),
        restored=tuple(sorted({name for finding in findings for name in finding.restored})),
    )
