"""A run of the loop over a suite as `honestone.improvement/1`: the ordinary document, with pass rates for scores.

`baseline`, `final` and the rounds hold scorecards whose criteria are the splits `val` (the score) and `train`, and whose
items are the tasks; `certification` tells of the test split, with rates from 0 to 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from honestone.core import events
from honestone.core.events import Event
from honestone.core.scorecard import Line
from honestone.report.documents import improvement_document
from honestone.report.draw import change, line
from honestone.report.words import Doc, artifact_path

if TYPE_CHECKING:
    from honestone.core.loop.suite_loop import SuiteLoopState


def suite_improvement_document(state: SuiteLoopState, log: Sequence[Event], **facts: Any) -> dict[str, Any]:
    """`facts` are those of `improvement_document`."""
    started = log[0]
    document = improvement_document(state, log, **facts)
    for name, version in (("baseline", state.original), ("final", state.best)):
        document[name]["judges"] = _judges(log, version)
        document[name]["flags"] = [*document[name]["flags"], *_flags(log, version)]
    proposals = [event for event in log if event["type"] == events.PROPOSED]
    for entry, event in zip(document["rounds"], proposals, strict=True):
        entry["judges"] = _judges(log, entry["version"])
        if "candidates" in event:
            entry["candidate"], entry["candidates"] = event["candidate"], event["candidates"]
    document["certification"] = certification(state, log)
    document["suite"] = started["suite"]
    document["target"] = started["target"]
    document["splits"] = started["splits"]
    document["candidates"] = started["candidates"]
    document["mock"] = started["mock"]
    document["flags"] = _all_flags(log)
    return document


def certification(state: SuiteLoopState, log: Sequence[Event]) -> dict[str, Any]:
    """What the test split says of the version that is delivered, beside the original. `ok` is None where it was not run."""
    from honestone.core.loop.suite_loop import TEST, paired_interval

    cards = {version: state.certification_card(version) for version in (state.best, state.original)}
    now, then = (card.line(TEST) if card is not None else None for card in (cards[state.best], cards[state.original]))
    rates = [_rate(one) for one in (now, then)]
    both = rates[0] is not None and rates[1] is not None
    interval = paired_interval(then, now) if now is not None and then is not None else None
    return {
        "needed": True,
        "ok": None if now is None else state.is_certified(state.best),
        "split": TEST,
        "pass_rate": None if rates[0] is None else float(rates[0]),
        "baseline_pass_rate": None if rates[1] is None else float(rates[1]),
        "delta": float(rates[0] - rates[1]) if both and rates[0] is not None and rates[1] is not None else None,
        "interval": None if interval is None else [float(end) for end in interval],
        "tasks": 0 if now is None else len(now.items),
        "failed": _ids(now, met=0),
        "undecided": _ids(now, met=None),
        "runs": {"result": _run_of(log, state.best, "holdout"), "baseline": _run_of(log, state.original, "holdout")},
        "judges": [],
        "reason": _why_not(state, now),
    }


def _why_not(state: SuiteLoopState, now: Line | None) -> str | None:
    if now is None:
        passes = state.verdict(state.best).passed
        return "a limit came first" if passes else "test is run when val passes, and it does not"
    verdict = state.certifications(state.best)
    return "; ".join(reason for one in verdict.values() for reason in one.reasons) or None


def _rate(one: Line | None) -> Fraction | None:
    return None if one is None else one.score


def _ids(one: Line | None, *, met: int | None) -> list[str]:
    return [item.item.id for item in one.items if item.met == met] if one is not None else []


def _looks(log: Iterable[Event], version: str | None) -> list[Event]:
    return [event for event in log if event["type"] == events.BALLOT and event["version"] == version]


def _run_of(log: Iterable[Event], version: str, role: str) -> str | None:
    return next((event["of_run"] for event in _looks(log, version) if event["role"] == role), None)


def _judges(log: Iterable[Event], version: str | None) -> list[dict[str, Any]]:
    """Who judged the tasks of a version: each once, in its worst state."""
    found: dict[str, dict[str, Any]] = {}
    for event in _looks(log, version):
        for judge in event.get("judges", ()):
            known = found.get(judge["id"])
            if known is None or known["state"] == "AVAILABLE":
                found[judge["id"]] = dict(judge)
    return list(found.values())


def _flags(log: Iterable[Event], version: str | None) -> list[str]:
    return list(dict.fromkeys(flag for event in _looks(log, version) for flag in event.get("flags", ())))


def _all_flags(log: Iterable[Event]) -> list[str]:
    """Every flag once: of the original, of what was kept and of what was not."""
    looks = [event for event in log if event["type"] == events.BALLOT]
    return list(dict.fromkeys(flag for event in looks for flag in event.get("flags", ())))


# ------------------------------------------------------------------------------------------------------------ in words


def certification_words(held_out: Mapping[str, Any]) -> str:
    """`2 of 2 passed, the original 0 of 2 (+100.0 points, 95% from +50.0 to +100.0)`, or why test was not run."""
    of = held_out["tasks"]
    if not of:
        return f"not run: {line(held_out.get('reason') or '')}"
    told = f"{_passed(held_out['pass_rate'], of)} passed"
    if held_out["runs"]["result"] != held_out["runs"]["baseline"]:
        told += f", the original {_passed(held_out['baseline_pass_rate'], of)}"
        if held_out["interval"] is not None:
            low, high = (change(0, end * 100, "-") for end in held_out["interval"])
            told += f" ({change(0, held_out['delta'] * 100, '-')} points, 95% from {low} to {high})"
    for name in ("failed", "undecided"):
        if held_out[name]:
            told += f"; {name}: {', '.join(line(id) for id in held_out[name])}"
    return told


def _passed(rate: float | None, of: int) -> str:
    return f"? of {of}" if rate is None else f"{round(rate * of)} of {of}"


def suite_commands(doc: Doc) -> list[str]:
    """What to type after a loop over a suite."""
    again = ["honestone improve", shlex.quote(artifact_path(doc)), "--suite", shlex.quote(line(doc["suite"]["path"]))]
    again += ["--target", shlex.quote(line(doc["target"])), "--worker", shlex.quote(line(doc["worker"]))]
    tested = doc["certification"]["runs"]["result"]
    result = doc["result"]
    if result == "UNCONFIRMED" and tested:
        return [f"honestone show {tested}"]
    if result == "COULD_NOT_JUDGE":
        return ["honestone doctor"]
    return [" ".join([*again, "--effort thorough"])] if result in ("ROUND_LIMIT", "PLATEAU") else []
