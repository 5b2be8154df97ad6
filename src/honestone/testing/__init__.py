"""For tests: judges, models and workers that follow a script, and checks of the ports.

A script is either one step, which is repeated for ever, or a list of steps, taken one after
another; a list that runs out is an error of the test. What was asked is kept, so that a test can
look at it.

    judge = ScriptedJudge({"steps": True, "tone": 75})                  # by item or criterion
    judge = ScriptedJudge(lambda question: {"steps": "1." in question.artifact.version.text})
    judge = ScriptedJudge([CallFailed("busy", retryable=True), True])   # fails once, then says yes to everything
    model = ScriptedModel([fill_in(True), "no JSON at all"])            # answers a prompt; then a raw reply
    worker = ScriptedWorker(["# Better", unchanged, crash])             # new text; nothing; an error

Whoever writes an adapter runs the check of its port in a test of their own. Each raises
AssertionError and says which promise of `honestone.ports` is broken:

    def test_my_judge():
        check_judge(MyJudge("mine"))

    def test_my_store(tmp_path):
        check_store(lambda: MyStore(tmp_path))      # called again, it opens the same store
"""

from __future__ import annotations

from honestone.testing.port_checks import check_judge, check_model, check_worker, sample_question
from honestone.testing.scripted import (
    ScriptedJudge,
    ScriptedModel,
    ScriptedWorker,
    crash,
    fill_in,
    reply_json,
    unchanged,
)
from honestone.testing.store_checks import check_store

__all__ = [
    "ScriptedJudge",
    "ScriptedModel",
    "ScriptedWorker",
    "check_judge",
    "check_model",
    "check_store",
    "check_worker",
    "crash",
    "fill_in",
    "reply_json",
    "sample_question",
    "unchanged",
]
