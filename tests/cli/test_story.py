"""`honestone show RUN` of an improvement tells what happened and what would help, from the record
alone.
"""

from __future__ import annotations

from .desk import Desk

RUBRIC = """\
rubric: 1
title: A warm note
threshold: 90
floor: 0
criteria:
  - {id: close, requirement: It ends with a farewell, weight: 2}
  - {id: pear, requirement: It names the pear, weight: 2}
  - {id: tone, requirement: The tone is warm, weight: 4, anchors: {0: cold, 100: warm}}
"""
WORKER = """
if "Criterion: close" in brief:
    put(read() + b"This is my farewell.\\n")
    print("I said \\x1b[31mfarewell\\x1b[0m <b>now</b>")
elif "Criterion: pear" in brief:
    put(read() + b"And a pear.\\n")
else:
    put(read() + b"How lovely.\\n")
"""
JUDGE = """
def met(word): return {{"met": word in text and {sees}}}
tone = {{"score": 40 + text.count("lovely")}}
print(json.dumps({{"criteria": {{"close": met("farewell"), "pear": met("pear"), "tone": tone}}}}))
"""


def test_the_story_of_a_run_in_every_form(desk: Desk) -> None:
    """Each round's moves, noise, words and cost; why it stopped; the item that is unclear, and the
    budget.
    """
    desk.rubric(RUBRIC)
    desk.file("note.md", "An apple a day.\n")
    worker = desk.worker("worker", WORKER)
    panel = [
        desk.judge("keen", JUDGE.format(sees="True")),
        desk.judge("blind", JUDGE.format(sees='word != "pear"')),
    ]
    words = [
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--rounds",
        "4",
        "--json",
    ]
    words += ["--policy", "keep-best", "--holdout", "none"]
    result = desk.run(*words, *(word for judge in panel for word in ("--judge", judge.spec)))
    run = result.json
    assert (result.code, run["result"]) == (1, "ROUND_LIMIT"), result.err
    assert [one["focus"] for one in run["rounds"]] == [["close"], ["pear"], ["tone"], ["tone"]]
    assert run["rounds"][0]["said"] == "I said \\x1b[31mfarewell\\x1b[0m <b>now</b>"
    moves = [
        {move["id"]: move["within_noise"] for move in one["criteria"]} for one in run["rounds"]
    ]
    assert moves[1] == {"close": False, "pear": False, "tone": False} and moves[2]["tone"] is True
    assert [one["within_noise"] for one in run["rounds"]] == [False, False, True, True]
    assert [
        (one["usage"]["judge_calls"], one["usage"]["worker_calls"]) for one in run["rounds"]
    ] == [(2, 1)] * 4
    # keep-best decides by marks and states the probability beside: no version has a pear.
    assert all(0 < one["probability"] < 0.01 for one in run["rounds"])
    assert [(one["kind"], one["about"]) for one in run["advice"]] == [("item", "pear")]
    assert "disagreed in 3 of 5 versions" in run["advice"][0]["text"]
    shown = desk.run("show", "last", "--json").json
    assert shown["advice"] == run["advice"] and shown["rounds"] == run["rounds"]
    for form in ("text", "markdown", "html"):
        drawn = desk.run("show", "last", "--format", form).out
        plain = " ".join(drawn.replace("\\", "").split())
        for told in (
            "within noise",
            "2 judge calls, 1 worker call",
            "What would help",
            "4 rounds are done",
            "farewell",
        ):
            assert told in plain, (form, told)
        assert "\x1b" not in drawn and "<b>now" not in (drawn if form != "text" else "")
