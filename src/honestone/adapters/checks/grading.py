"""`grader`: what a grading program is asked, how its answer is read, and how a program ended in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypedDict

from honestone.adapters.checks.check_input import Subject
from honestone.adapters.checks.trace import known_of
from honestone.core.checking.checks import CheckAnswer, visible
from honestone.core.json_value import is_number, json_once
from honestone.core.judging.rubric import Check
from honestone.core.numbers import exact
from honestone.ports import Output
from honestone.system.loose_json import records
from honestone.system.processes.process import Ended
from honestone.system.processes.program import how_ended, last_words


def request(check: Check, subject: Subject, *, workspace: Path | None) -> str:
    """One JSON object, as AgentV's programs know it."""
    output = subject.output
    has_workspace = output is not None and output.files is not None
    return json.dumps(
        {
            "input": subject.input,
            "expected_output": subject.reference,
            "output": subject.text,
            "file_changes": subject.diff,
            "workspace_path": str(workspace) if has_workspace and workspace else None,
            "trace_summary": None if output is None else _summary(output),
            "config": check.options.get("config"),
        }
    )


class _Tokens(TypedDict):
    """The tokens of a run."""

    input: int | None
    output: int | None


class _TraceSummary(TypedDict):
    """A run in figures, as graders are given it."""

    event_count: int | None
    tool_calls: dict[str, int] | None
    token_usage: _Tokens | None
    cost_usd: float | None
    duration_ms: float | None


class _Assertion(TypedDict, total=False):
    """One thing that a grader looked at."""

    text: object
    passed: object


def _summary(output: Output) -> _TraceSummary:
    """Null is unknown."""
    known = known_of(output)
    calls = known.tool_calls
    tokens: _Tokens = {"input": known.input_tokens, "output": known.output_tokens}
    return {
        "event_count": None if calls is None else len(calls),
        "tool_calls": None if calls is None else dict(Counter(call.name for call in calls)),
        "token_usage": None
        if known.input_tokens is None and known.output_tokens is None
        else tokens,
        "cost_usd": known.usd,
        "duration_ms": known.duration_ms,
    }


def points_of(check: Check, ended: Ended) -> float | None:
    """The points from 0 to 100 that it gave, where its score is to count as it is; turned round by
    `not-`.
    """
    if not check.option("scored", False):
        return None
    printed = ended.stdout.decode("utf-8", "replace").strip()
    try:
        is_bare = not printed or _is_only_text(check, printed)
        score = Fraction(ended.exit == 0) if is_bare else score_of(json_once(printed))
    except (ValueError, RecursionError):
        return None  # `answer` says why
    return float(100 * (1 - score if check.negated else score))


def answer(check: Check, ended: Ended) -> CheckAnswer:
    """A score, or only an exit code. A program that failed with words on stderr has judged nothing,
    whatever it printed.
    """
    if ended.exit != 0 and (ended.exit is None or ended.exit < 0 or ended.stderr.strip()):
        return None, visible(
            f"the grader {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": ")
        )
    printed = ended.stdout.decode("utf-8", "replace").strip()
    if not printed and ended.stderr.strip():
        return None, visible(f"the grader gave no answer, but said: {last_words(ended.stderr)}")
    if not printed or _is_only_text(check, printed):
        return ended.exit == 0, visible(
            ": ".join(filter(None, (f"the grader ended with exit code {ended.exit}", printed)))
        )
    try:
        report: Any = json_once(printed)
        score = score_of(report)
    except (ValueError, RecursionError) as error:
        return None, visible(f"the grader's answer cannot be read: {error}")
    least = exact(check.option("min_score", 1.0))
    return score >= least, _note(report.get("assertions"), score)


def _is_only_text(check: Check, printed: str) -> bool:
    """Words without JSON in front, where those decide nothing."""
    return check.option("takes_text", False) and not printed.startswith(("{", "["))


def score_of(report: Any) -> Fraction:
    """The score from 0 to 1; without one the share of the assertions that passed. Raises
    ValueError.
    """
    if not isinstance(report, Mapping):
        raise ValueError("it is not a JSON object")
    if "score" in report:
        written = report["score"]
        if not is_number(written):
            raise ValueError(f"its `score` is {written!r}, not a number")
        score = exact(written)
        if not 0 <= score <= 1:
            raise ValueError(f"its `score` is {written}, not from 0 to 1")
        return score
    passed = [one.get("passed") for one in records(report.get("assertions"), _Assertion)]
    if not passed or not all(isinstance(one, bool) for one in passed):
        raise ValueError("it has no `score`")
    return Fraction(passed.count(True), len(passed))


def _note(assertions: object, score: Fraction) -> str:
    failed = [
        str(one.get("text", ""))
        for one in records(assertions, _Assertion)
        if one.get("passed") is False
    ]
    return f"score {float(score):g}" + (f": {'; '.join(failed[:3])}" if failed else "")


def exit_words(code: int | None) -> str:
    return f"ended by signal {-code}" if code is not None and code < 0 else f"exit {code}"


def last_words_of(ended: Ended) -> str:
    """The last line of stderr, else of stdout, that says something."""
    for stream in (ended.stderr, ended.stdout):
        lines = [
            line.strip()
            for line in stream[-4000:].decode(errors="replace").splitlines()
            if line.strip()
        ]
        if lines:
            return f": {visible(lines[-1], 200)}"
    return ""
