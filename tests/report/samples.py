"""Documents as `--json` prints them, made up for the tests of the reports: each shows one
situation.
"""

from __future__ import annotations

from typing import Any

Doc = dict[str, Any]


def item(id: str, requirement: str, votes: dict[str, Any] | None = None, **more: Any) -> Doc:
    """A yes/no item; `met` and `unmet` follow from the votes unless given."""
    given = {judge: vote for judge, vote in (votes or {}).items() if vote != "n/a"}
    met = sum(vote == "yes" for vote in given.values()) / len(given) if given else None
    doc = {
        "id": id,
        "requirement": requirement,
        "met": met,
        "unmet": None if met is None else met <= 0.5,
        "applies": True,
        "kind": "yes-no",
        "scale": None,
        "votes": votes or {},
        "note": None,
        "evidence": [],
        "suggestion": None,
        "suggestions": [],
    }
    return doc | more


def criterion(
    id: str, score: float | None, weight: float = 25, items: list[Doc] | None = None, **more: Any
) -> Doc:
    doc = {
        "id": id,
        "parent": None,
        "requirement": f"What {id} asks for",
        "score": score,
        "interval": [score, score],
        "weight": weight,
        "floor": 60,
        "required": False,
        "below_floor": score is not None and score < 60,
        "applies": True,
        "is_penalty": False,
        "spread": 0.0,
        "voters": 2,
        "by_judge": {},
        "items": items or [],
    }
    return doc | more


def judge(id: str, state: str = "AVAILABLE", reason: str | None = None, **more: Any) -> Doc:
    return {"id": id, "state": state, "reason": reason, "problems": []} | more


def usage(**more: Any) -> Doc:
    doc = {
        "judge_calls": 2,
        "cached_calls": 0,
        "worker_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "usd": None,
    }
    return doc | more


def scorecard(verdict: str, score: float | None, criteria: list[Doc], **more: Any) -> Doc:
    doc = {
        "schema": "honestone.scorecard/1",
        "artifact": {"path": "report.md", "digest": "sha256:" + "ab" * 32},
        "title": "A bug report that a stranger can act on",
        "verdict": verdict,
        "reasons": [],
        "score": score,
        "interval": [score, score],
        "threshold": 80,
        "floor": 60,
        "low_confidence": False,
        "self_evaluated": False,
        "criteria": criteria,
        "judges": [judge("codex"), judge("gemini")],
        "flags": [],
        "contract": "sha256:" + "cd" * 32,
        "run": "01JABCDEF0",
        "usage": usage(),
        "evidence_found": None,
    }
    return doc | more


def passed() -> Doc:
    items = [
        item(
            "version", "States the exact version of the software", {"codex": "yes", "gemini": "yes"}
        )
    ]
    return scorecard(
        "pass",
        91.66,
        [
            criterion(
                "reproducible",
                100.0,
                50,
                items,
                required=True,
                by_judge={"codex": 100.0, "gemini": 100.0},
            ),
            criterion("tone", 83.33, 25, by_judge={"codex": 80.0, "gemini": 86.66}),
            criterion("impact", 83.3, 25, by_judge={"codex": 83.3, "gemini": 83.3}),
        ],
        usage=usage(cached_calls=1, input_tokens=12345, output_tokens=1234, usd=0.0312),
        evidence_found={"found": 5, "quoted": 6},
    )


def failed() -> Doc:
    """Below threshold and floor, three judges one of them DEGRADED, a disagreement, quotes found
    and not found.
    """
    steps = item(
        "numbered-steps",
        "Gives numbered steps that start from a fresh installation",
        {"codex": "no", "gemini": "no"},
        evidence=[
            {"judge": "codex", "quote": "First open the app, then it crashes", "found": True},
            {"judge": "gemini", "quote": "It never works for me", "found": False},
        ],
        suggestion="Number the steps and start each with a verb",
        suggestions=[{"judge": "codex", "text": "Number the steps and start each with a verb"}],
    )
    split = item("expected", "Says what was expected", {"codex": "yes", "gemini": "no"}, unmet=True)
    runs = item(
        "runs",
        "The attached script runs",
        {"check": "no"},
        kind="check",
        note="exit code 0, expected 1",
    )
    fine = item(
        "version", "States the exact version of the software", {"codex": "yes", "gemini": "yes"}
    )
    tone = item(
        "tone",
        "Neutral, factual tone",
        {"codex": 75, "gemini": 100},
        kind="anchors",
        scale=[0, 100],
        met=0.875,
        unmet=False,
    )
    doubt = item(
        "users",
        "Names the users hit",
        {"codex": "yes", "gemini": "yes", "claude#2": "no"},
        unmet=False,
    )
    return scorecard(
        "fail",
        61.7,
        [
            criterion(
                "reproducible",
                50.0,
                50,
                [fine, steps, split, runs],
                requirement="A stranger can reproduce the bug",
                floor=70,
                required=True,
                below_floor=True,
                spread=30.0,
                by_judge={"codex": 65.0, "gemini": 35.0},
            ),
            criterion(
                "tone",
                87.5,
                25,
                [tone],
                requirement="Neutral, factual tone",
                spread=25.0,
                by_judge={"codex": 75.0, "gemini": 100.0},
            ),
            criterion(
                "impact",
                69.99,
                25,
                [doubt],
                requirement="Says who is hit and how badly",
                by_judge={"codex": 70.0, "gemini": 69.99},
            ),
        ],
        reasons=[
            "overall score 61.7 is below the threshold 80",
            "criterion 'reproducible' is 50.0, below its floor 70",
        ],
        flags=["disagreement: reproducible (30.0)", "disagreement: tone (25.0)"],
        judges=[
            judge("codex", family="openai"),
            judge("gemini"),
            judge(
                "claude",
                "DEGRADED",
                "timed out after 120 s; the judge was asked twice and nothing came back",
                problems=["item 3: expected true or false, got 7", "item 4: answered twice"],
            ),
        ],
        usage=usage(judge_calls=4, input_tokens=40210, output_tokens=2977),
        evidence_found={"found": 1, "quoted": 2},
    )


def inconclusive() -> Doc:
    """A mark is missing, so there is an interval and no score."""
    missing = item(
        "impact",
        "Says who is hit and how badly",
        note='codex: gave no answer; gemini: answered "n/a", which is not allowed here',
    )
    return scorecard(
        "inconclusive",
        None,
        [
            criterion("reproducible", 100.0, 50),
            criterion("tone", None, 25, [], interval=[50.0, 75.0]),
            criterion("impact", None, 25, [missing], interval=[0.0, 100.0], voters=0),
        ],
        interval=[62.5, 93.75],
        reasons=["the score lies between 62.5 and 93.7, and the threshold is 80"],
        low_confidence=True,
        flags=["LOW CONFIDENCE"],
        judges=[judge("codex"), judge("claude", "SKIPPED", "command not found")],
        usage=usage(judge_calls=2, usd=0.0),
    )


def tree() -> Doc:
    """A tree with a penalty, a criterion that does not apply, and checks alone."""
    swears = item("profanity", "Contains profanity", {"check": "yes"}, kind="check", unmet=True)
    quiet = item("ads", "Advertises something", {"check": "no"}, kind="check", unmet=False)
    alt = item("alt", "Images have alternative texts", {"codex": "n/a"}, applies=False)
    return scorecard(
        "fail",
        55.0,
        [
            criterion("content", 72.0, 3),
            criterion("correct", 80.0, 2, parent="content", floor=0),
            criterion("numbers", 60.0, 1, parent="correct", floor=0),
            criterion("complete", 56.0, 1, parent="content", floor=75, below_floor=True),
            criterion("form", 100.0, 1),
            criterion("alt", None, 1, [alt], parent="form", applies=False, interval=None),
            criterion(
                "profanity",
                100.0,
                -10,
                [swears],
                is_penalty=True,
                floor=0,
                below_floor=False,
                requirement="Contains profanity",
            ),
            criterion("ads", 0.0, -5, [quiet], is_penalty=True, floor=0, below_floor=False),
        ],
        reasons=[
            "overall score 55.0 is below the threshold 80",
            "criterion 'complete' is 56.0, below its floor 75",
        ],
        judges=[],
        usage=usage(judge_calls=0),
    )


def korean() -> Doc:
    steps = item(
        "재현-절차",
        "처음 설치한 상태에서 시작하는 번호 매긴 재현 절차를 제시한다",
        {"codex": "no", "gemini": "no"},
        evidence=[{"judge": "codex", "quote": "앱을 열면 바로 종료됩니다 🙏", "found": True}],
        suggestions=[
            {"judge": "codex", "text": "각 단계를 동사로 시작하고 기대 결과를 함께 적으세요"}
        ],
    )
    return scorecard(
        "fail",
        48.0,
        [
            criterion(
                "재현가능성",
                40.0,
                50,
                [steps],
                requirement="낯선 사람이 버그를 재현할 수 있다",
                by_judge={"codex": 30.0, "gemini": 50.0},
            ),
            criterion("어조", 66.6, 50, by_judge={"codex": 66.6, "gemini": 66.6}),
        ],
        title="낯선 사람도 조치할 수 있는 버그 보고서 👨‍👩‍👧",
        reasons=["criterion '재현가능성' is 40.0, below its floor 60"],
        artifact={"path": "보고서/버그.md", "digest": "sha256:00"},
    )


HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)> | pipe & \"quote\" 'single' ]]> \x1b[31m\x1b]0;owned\x07 \x00 "
    "\u202eesrever\u2066 \u200bzero \u2028next \ufeff ``` ````fence ~~~ [link](http://evil.example/a) ![img](https://evil.example/i.png) "
    "<!-- hidden --> @everyone #1 www.evil.example <http://auto.example> me@evil.example &lt;b&gt; **bold** _em_ $x$ \\ \r\n# heading\n- list"
)


def hostile() -> Doc:
    """The same words in every place that outside text can reach."""
    bad = item(
        HOSTILE,
        HOSTILE,
        {HOSTILE: "no", "codex": "no"},
        note=HOSTILE,
        evidence=[{"judge": HOSTILE, "quote": HOSTILE, "found": False}],
        suggestion=HOSTILE,
        suggestions=[{"judge": HOSTILE, "text": HOSTILE}],
    )
    gone = item("gone", HOSTILE, {}, note=HOSTILE)
    return scorecard(
        "fail",
        10.0,
        [
            criterion(
                HOSTILE,
                10.0,
                1,
                [bad, gone],
                requirement=HOSTILE,
                by_judge={HOSTILE: 10.0, "codex": 10.0},
            )
        ],
        title=HOSTILE,
        reasons=[HOSTILE],
        flags=[HOSTILE],
        judges=[judge(HOSTILE, "DEGRADED", HOSTILE, problems=[HOSTILE], family=HOSTILE)],
        artifact={"path": HOSTILE, "digest": HOSTILE},
        run=HOSTILE,
        contract=HOSTILE,
    )


def one_round(
    number: int, focus: str, decision: str, before: float, after: float | None, **more: Any
) -> Doc:
    doc = {
        "round": number,
        "focus": [focus],
        "outcome": "changed",
        "outcome_detail": None,
        "decision": decision,
        "reason": "",
        "score_before": before,
        "score_after": after,
        "interval_after": None if after is None else [after, after],
        "judges": [judge("codex"), judge("gemini")],
        "criteria": [
            {
                "id": "reproducible",
                "before": before,
                "after": after,
                "by_judge": {"codex": after, "gemini": after},
            }
        ]
        if after is not None
        else [],
        "diff": {"added": 12, "removed": 3, "files": 1},
        "floor_violations": [],
        "flags": [],
    }
    return doc | more


def improvement(result: str, **more: Any) -> Doc:
    final = passed() if result in ("PASSED", "UNCONFIRMED") else failed()
    doc = {
        "schema": "honestone.improvement/1",
        "result": result,
        "reason": "the score met the threshold and every floor",
        "best_round": 3,
        "resumed": False,
        "policy": "keep-best",
        "title": "A bug report that a stranger can act on",
        "threshold": 80,
        "floor": 60,
        "artifact": {"path": "report.md", "digest": "sha256:ef", "original": "sha256:ab"},
        "baseline": failed(),
        "final": final,
        "rounds": [
            one_round(
                1,
                "reproducible",
                "accepted",
                61.7,
                75.0,
                reason="the score rose by 13.3",
                floor_violations=["reproducible"],
            ),
            one_round(
                2,
                "impact",
                "rejected",
                75.0,
                55.0,
                reason="the score fell by 20.0, more than the 2 points allowed",
                judges=[judge("codex"), judge("gemini", "DEGRADED", "timed out after 120 s")],
                low_confidence=True,
            ),
            one_round(
                3,
                "impact",
                "accepted",
                75.0,
                91.66,
                reason="the score rose by 16.6",
                diff={"added": 120, "removed": 14, "files": 3},
            ),
            one_round(
                4,
                "tone",
                "rejected",
                91.66,
                None,
                outcome="out-of-scope",
                outcome_detail="rubric.yaml was changed",
                reason="nothing of it was kept",
                diff=None,
            ),
        ],
        "certification": {
            "needed": True,
            "ok": True,
            "judges": [{"id": "claude", "verdict": "pass", "score": 88.0, "reason": None}],
            "reason": None,
        },
        "limits": {"rounds": 5, "calls": 60, "usd": 5, "minutes": 60},
        "usage": usage(
            judge_calls=10,
            worker_calls=4,
            cached_calls=2,
            input_tokens=182001,
            output_tokens=22007,
            usd=1.234,
        ),
        "report": ".honestone/reports/01JABCDEF0.md",
        "run": "01JABCDEF0",
        "flags": [],
    }
    return doc | more


def unconfirmed() -> Doc:
    return improvement(
        "UNCONFIRMED",
        reason="no held-out judge confirmed it",
        certification={
            "needed": True,
            "ok": False,
            "judges": [
                {
                    "id": "claude",
                    "verdict": "fail",
                    "score": 71.2,
                    "reason": "overall score 71.2 is below the threshold 80",
                }
            ],
            "reason": "a held-out judge did not pass it",
        },
    )


def broken() -> Doc:
    rounds = [
        one_round(
            number,
            "reproducible",
            "rejected",
            61.7,
            55.0,
            reason="the score fell by 6.7, more than the 2 points allowed",
        )
        for number in (1, 2, 3)
    ]
    held_out = {
        "needed": True,
        "ok": None,
        "judges": [],
        "reason": "the panel did not pass it, so nobody was asked",
    }
    return improvement(
        "PLATEAU",
        reason="3 rounds without a better version",
        best_round=0,
        rounds=rounds,
        certification=held_out,
    )
