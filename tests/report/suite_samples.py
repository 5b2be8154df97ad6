"""Reports of suite runs as `--json` prints them, made up for the tests: every status, a baseline,
hostile words.
"""

from __future__ import annotations

from typing import Any

Doc = dict[str, Any]

HOSTILE = (
    "</script><script>document.title='TAKEN'</script><img src=x onerror=\"document.title='TAKEN'\"> | pipe & \"quote\" "
    "]]> --> \x1b[31m \x00 \u2028 \u202e reversed \U0001f600 @everyone #12 http://evil.test `tick` </details></pre> {{table}} =1+1"
)


def item(id: str, votes: dict[str, Any], **more: Any) -> Doc:
    met = sum(vote == "yes" for vote in votes.values()) / len(votes) if votes else None
    doc = {
        "id": id,
        "requirement": f"Says {id}",
        "kind": "yes-no",
        "scale": None,
        "met": met,
        "unmet": None if met is None else met <= 0.5,
        "applies": True,
        "votes": votes,
        "evidence": [],
        "suggestion": None,
        "suggestions": [],
        "note": None,
    }
    return doc | more


def criterion(id: str, score: float | None, items: list[Doc], **more: Any) -> Doc:
    by_judge = {
        judge: 100.0 if vote == "yes" else 0.0
        for one in items
        for judge, vote in one["votes"].items()
        if judge != "check"
    }
    doc = {
        "id": id,
        "parent": None,
        "requirement": f"What {id} asks for",
        "score": score,
        "interval": [0, 100] if score is None else [score, score],
        "weight": 1,
        "floor": 60,
        "required": False,
        "below_floor": score is not None and score < 60,
        "spread": 0.0,
        "by_judge": by_judge,
        "applies": True,
        "voters": 2 if by_judge or score is None else None,
        "is_penalty": False,
        "items": items,
    }
    return doc | more


JUDGES = ("script:python one.py", "script:python two.py")


def judge(id: str, state: str = "AVAILABLE", reason: str | None = None) -> Doc:
    return {"id": id, "state": state, "reason": reason}


def case(id: str, status: str = "passed", score: float | None = 100.0, **more: Any) -> Doc:
    verdict = {"passed": "pass", "failed": "fail", "skipped": "skipped"}.get(status, "inconclusive")
    known = status in ("passed", "failed")
    answer = "yes" if status == "passed" else "no"
    votes = dict.fromkeys(JUDGES, answer) if known else {}
    judged = status in ("passed", "failed", "inconclusive")
    doc = {
        "id": id,
        "description": None,
        "status": status,
        "verdict": verdict,
        "reasons": [] if status == "passed" else [f"why {id} is {status}"],
        "score": score if known else None,
        "interval": [score, score] if known else [0, 100],
        "threshold": 70,
        "floor": 60,
        "low_confidence": False,
        "criteria": [criterion("good", score if known else None, [item("good", votes)])]
        if judged
        else [],
        "judges": [judge(name) for name in JUDGES] if judged else [],
        "flags": [],
        "attempts": [],
        "duration_ms": 12 if status != "skipped" else None,
        "unstable": False,
        "input": f"input of {id}",
        "reference": None,
        "output": f"output of {id}" if judged else None,
        "error": f"exit code 3: why {id} is {status}" if status == "target-error" else None,
        "diff": None,
        "trace": None,
        "tags": [],
        "split": "train",
        "contract": "sha256:" + "ef" * 32,
    }
    return doc | more


def report(cases: list[Doc], **more: Any) -> Doc:
    counts = {
        name: sum(one["status"] == name for one in cases)
        for name in ("passed", "failed", "inconclusive", "target-error", "skipped")
    }
    judged = len(cases) - counts["skipped"] or 1
    unsure = counts["inconclusive"] + counts["target-error"]
    low, high = counts["passed"] / judged, (counts["passed"] + unsure) / judged
    doc = {
        "schema": "honestone.report/1",
        "suite": {"path": "suite.yaml", "title": "Words and more", "dialect": "native"},
        "artifact": {"path": "prompt.md", "digest": "sha256:" + "ab" * 32},
        "target": "cmd:python t.py",
        "run": "01JRUN",
        "contract": "sha256:" + "cd" * 32,
        "verdict": "fail" if high < 1 else "inconclusive" if low < 1 else "pass",
        "reasons": [f"{counts['failed']} of {judged} cases failed"] if counts["failed"] else [],
        "pass_rate": None if unsure else low,
        "pass_rate_interval": [low, high],
        "min_pass_rate": 1,
        "mean_score": None if unsure else sum(one["score"] or 0 for one in cases) / judged,
        "counts": counts,
        "judges": [judge(name) for name in JUDGES],
        "notes": [],
        "flags": [],
        "low_confidence": False,
        "usage": {
            "judge_calls": 8,
            "cached_calls": 0,
            "worker_calls": 0,
            "input_tokens": 1200,
            "output_tokens": 300,
            "usd": 0.0123,
            "target_calls": 5,
        },
        "cases": cases,
    }
    return doc | more


def every_status() -> Doc:
    """One case of each status."""
    return report(
        [
            case("fine"),
            case("wrong", "failed", 0.0),
            case("dead", "target-error"),
            case("later", "skipped"),
            case("unsure", "inconclusive"),
            case('comma, "quoted" | <b>'),
        ]
    )


def hostile() -> Doc:
    """Every status, and words that try to break out of every field that holds words of others."""
    cases = []
    for status in ("passed", "failed", "inconclusive", "target-error", "skipped"):
        said = [
            {"judge": JUDGES[0] + HOSTILE, "quote": HOSTILE, "found": True},
            {"judge": JUDGES[1], "quote": HOSTILE, "found": False},
        ]
        votes = {JUDGES[0] + HOSTILE: "yes" if status == "passed" else "no", JUDGES[1]: HOSTILE}
        asked = item(
            f"i {HOSTILE}",
            votes,
            requirement=HOSTILE,
            evidence=said,
            suggestion=HOSTILE,
            suggestions=[{"judge": HOSTILE, "text": HOSTILE}],
            note=HOSTILE,
        )
        attempt = {
            "attempt": 1,
            "status": status,
            "verdict": "fail",
            "score": None,
            "interval": [0, 100],
            "duration_ms": 5,
            "reasons": [HOSTILE],
            "output": HOSTILE,
            "diff": f"+{HOSTILE}",
            "trace": None,
        }
        cases.append(
            case(
                f"{status} {HOSTILE}",
                status,
                50.0,
                description=HOSTILE,
                reasons=[HOSTILE],
                criteria=[criterion(f"c {HOSTILE}", 50.0, [asked], requirement=HOSTILE)],
                judges=[judge(HOSTILE, "DEGRADED", HOSTILE) | {"problems": [HOSTILE]}],
                flags=[HOSTILE],
                input=HOSTILE,
                reference=HOSTILE,
                output=f"before {HOSTILE} after",
                error=HOSTILE,
                diff=f"--- a\n+++ b\n@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}",
                trace={
                    "tool_calls": [
                        {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "result": HOSTILE}
                    ],
                    "extra": {HOSTILE: HOSTILE},
                },
                tags=[HOSTILE],
                split=HOSTILE,
                contract=HOSTILE,
                attempts=[attempt, attempt | {"attempt": 2, "output": "other"}],
                unstable=True,
            )
        )
    return report(
        cases,
        suite={"path": HOSTILE, "title": f"Title {HOSTILE}", "dialect": HOSTILE},
        artifact={"path": HOSTILE, "digest": HOSTILE},
        target=HOSTILE,
        run=HOSTILE,
        contract=HOSTILE,
        reasons=[HOSTILE],
        judges=[judge(HOSTILE, "SKIPPED", HOSTILE)],
        notes=[HOSTILE],
        flags=[HOSTILE],
        baseline={"name": HOSTILE, "run": HOSTILE},
        baseline_pass_rate=0.5,
        comparison=comparison(
            baseline=HOSTILE,
            candidate=HOSTILE,
            reasons=[HOSTILE],
            regressions=[cases[1]["id"]],
            missing=[HOSTILE],
            cases=[
                {
                    "id": one["id"],
                    "baseline": side("passed", 100),
                    "candidate": side("failed", 50),
                    "delta": -50.0,
                }
                for one in cases
            ],
        ),
    )


def side(status: str, score: float | None) -> Doc:
    return {"status": status, "verdict": "pass" if status == "passed" else "fail", "score": score}


def comparison(**more: Any) -> Doc:
    doc = {
        "schema": "honestone.comparison/1",
        "baseline": "01JBASE",
        "candidate": "01JRUN",
        "verdict": "fail",
        "reasons": ["passed in the baseline and fails now: down"],
        "delta": 0.0,
        "interval": [-0.6, 0.6],
        "score_delta": 5.0,
        "score_interval": [-12.5, 20.0],
        "p": 1.0,
        "wins": 1,
        "losses": 1,
        "ties": 1,
        "regressions": ["down"],
        "improvements": ["up"],
        "missing": ["gone"],
        "new": ["fresh"],
        "undecided": [],
        "unstable": [],
        "cases": [
            {
                "id": "down",
                "baseline": side("passed", 100),
                "candidate": side("failed", 0),
                "delta": -100.0,
            },
            {
                "id": "up",
                "baseline": side("failed", 0),
                "candidate": side("passed", 100),
                "delta": 100.0,
            },
            {
                "id": "same",
                "baseline": side("passed", 90),
                "candidate": side("passed", 90),
                "delta": 0.0,
            },
        ],
    }
    return doc | more


def with_baseline() -> Doc:
    cases = [case("down", "failed", 0.0), case("up"), case("same", score=90.0), case("fresh")]
    return report(
        cases,
        baseline={"name": "01JBASE", "run": "01JBASE"},
        baseline_pass_rate=0.75,
        delta=0.0,
        interval=[-0.6, 0.6],
        regressions=["down"],
        comparison=comparison(),
        min_pass_rate=None,
    )


def trend() -> Doc:
    counts = {"passed": 3, "failed": 1, "inconclusive": 0, "target-error": 0, "skipped": 0}
    runs = [
        {"run": "01JA", "pass_rate": 0.5, "mean_score": 61.75, "suite": "Words", "counts": counts},
        {"run": "01JB", "pass_rate": 0.75, "mean_score": 70.0, "suite": "Words", "counts": counts},
        {
            "run": "01JC",
            "pass_rate": None,
            "mean_score": None,
            "counts": counts | {"inconclusive": 1},
            "pass_rate_interval": [0.5, 0.75],
        },
    ]
    return {"schema": "honestone.trend/1", "runs": runs}
