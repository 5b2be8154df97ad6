"""Why a loop ended as it did, in words that every medium shares."""

from __future__ import annotations

import re
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.report.documents.belief import UNSURE
from honestone.report.documents.findings import own_note
from honestone.report.documents.improvement import ImprovementDoc
from honestone.report.documents.states import state_phrase
from honestone.system.drawing import line


def result_reasons(doc: ImprovementDoc) -> list[str]:
    """Why the loop ended as it did, which version is in the file now, and what was noise."""
    reasons = [*_unconfirmed(doc), *reason_words(doc)]
    if doc.resumed:
        reasons.append("resumed an earlier run; what it had paid for was not asked again")
    return [*reasons, _delivered(doc), *([doc.noise_words] if doc.noise_words else [])]


# What a reason says of how sure it is.
_CLAIM: Final = late_pattern(r"(^|; )((?:less than )?\d+(?:\.\d+)?% sure that )")
# A reason that ends with those of judges.
_NOT_JUDGED: Final = late_pattern(r"(the baseline has no usable mark) \((.*)\)", re.DOTALL)


def reason_words(doc: ImprovementDoc) -> list[str]:
    """Why it ended, without the reasons of absent judges, which a report lists with their names; and
    how sure the verdict is, where that does not say it.
    """
    return [*_ending(doc), *_how_sure(doc), *_doubts(doc)]


def _ending(doc: ImprovementDoc) -> list[str]:
    reason = doc.reason or ""
    if _is_about_another(doc):
        reason = _CLAIM.sub(r"\1of the version kept last it is \2", reason, count=1)
    match = _NOT_JUDGED.fullmatch(reason)
    if match is None:
        return [line(reason)] if reason else []
    left = own_note(match[2], doc.last_card.judges if doc.last_card else ())
    return [line(f"{match[1]} ({left})" if left else match[1])]


def _how_sure(doc: ImprovementDoc) -> list[str]:
    """The sentence of `belief`, where no reason has it."""
    belief = doc.belief
    if belief is None or not belief.is_stated or belief.sentence in (doc.reason or ""):
        return []
    if not _is_about_another(doc):
        return [belief.sentence]
    which = f"version of round {doc.best_round}" if doc.best_round else "original"
    return [f"of the {which} it is {belief.sentence}"]


def _doubts(doc: ImprovementDoc) -> list[str]:
    """What contradicts a result that marks decided; a policy with beliefs decides by them."""
    if doc.belief is None or doc.expected or doc.final is None:
        return []
    against = doc.belief.doubt("pass" if doc.result == "PASSED" else doc.final.verdict)
    return [f"{UNSURE}: {against}"] if against else []


def _is_about_another(doc: ImprovementDoc) -> bool:
    """Whether the reason says how sure it is of another version than the one that is delivered."""
    belief, reason = doc.belief, doc.reason or ""
    is_stated = belief is not None and belief.is_stated and belief.sentence not in reason
    return is_stated and _CLAIM.search(reason) is not None


def _delivered(doc: ImprovementDoc) -> str:
    """Which version is in the file now."""
    if doc.undone:
        return "undone: the file is as it was before the run"
    if not doc.best_round and not doc.rounds and not (doc.usage and doc.usage.worker_calls):
        passes = "it passes already: " if doc.result == "PASSED" else ""
        return f"{passes}no worker was asked, so the original stays"
    why = doc.delivery.reason if doc.delivery else ""
    if not doc.best_round:
        return f"the original was kept: {why or 'no version was better'}"
    if doc.is_held_back:
        return f"the version of round {doc.best_round} is the best; it was not delivered, and the file is as it was"
    where = f" to {line(doc.output)}" if doc.output else ""
    return f"the version of round {doc.best_round} is delivered{where}" + (
        f": {why}" if why else ""
    )


def _unconfirmed(doc: ImprovementDoc) -> list[str]:
    """Who disagrees with a version that is delivered all the same, and the way back."""
    if doc.result != "UNCONFIRMED":
        return []
    apart = [one for one in doc.certification.judges if one.verdict not in (None, "pass")]
    reasons = (
        [
            ", ".join(
                f"{line(one.id)} disagrees ({state_phrase(one.verdict or '')})" for one in apart
            )
        ]
        if apart
        else []
    )
    if doc.run and doc.can_be_undone:
        reasons.append(f"honestone undo {line(doc.run)} puts the file back as it was")
    return ["; ".join(reasons)] if reasons else []
