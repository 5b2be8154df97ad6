"""`honestone improve ARTIFACT --suite SUITE` as a person uses it, with an agent that knows only
what it is given.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from .desk import PYTHON, Desk, Program, Result

SPLIT = {
    "amber": "train",
    "birch": "train",
    "cedar": "train",
    "daisy": "val",
    "elder": "val",
    "fern": "test",
    "ginger": "test",
}
KNOWN = ("amber", "daisy")

_AGENT = """\
import os, sys, time
prompt = sys.stdin.read()
topic = prompt.split()[-1].strip("?")
place = os.environ.get("HONESTONE_SKILL")
path = os.path.join(place, "SKILL.md") if place else os.environ["HONESTONE_ARTIFACT"]
text = open(path, encoding="utf-8").read()
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(topic + "\\n")
knows = topic in text or "GENERAL" in text
{body}
print("ans-" + topic if knows else "I do not know.")
"""

ADD = "put(read() + b'{}\\n')"
EDIT = "path = os.path.join(path, 'SKILL.md') if os.path.isdir(path) else path\n"


def agent(desk: Desk, body: str = "") -> Program:
    log = desk.logs / "agent.log"
    path = desk.file("agent.py", _AGENT.format(log=str(log), body=body))
    return Program(f"cmd:{PYTHON} {path}", path, log)


def worker(desk: Desk, body: str) -> Program:
    """`put` and `read` are about SKILL.md in the worker's copy, or about the prompt."""
    return desk.worker("worker", EDIT + body)


def suite(
    desk: Desk, where: str = "suite.yaml", splits: dict[str, str] = SPLIT, **more: Any
) -> Path:
    cases = [
        {
            "id": id,
            "input": f"What about {id}?",
            "checks": [{"contains": [f"ans-{id}"]}],
            "split": split,
        }
        for id, split in splits.items()
    ]
    return desk.file(where, json.dumps({"suite": 1, "title": "Plants", **more, "cases": cases}))


def skill(desk: Desk, known: tuple[str, ...] = KNOWN) -> str:
    text = "---\nname: helper\ndescription: Answers.\n---\n" + "".join(f"{one}\n" for one in known)
    desk.file("skill/SKILL.md", text)
    return text


def improve(
    desk: Desk, edit: Program, target: Program, *more: str, artifact: str = "skill", **extra: Any
) -> Result:
    return desk.run(*call(edit, target, *more, artifact=artifact), **extra)


def call(edit: Program, target: Program, *more: str, artifact: str = "skill") -> list[str]:
    words = [
        "improve",
        artifact,
        "--suite",
        "suite.yaml",
        "--worker",
        edit.spec,
        "--target",
        target.spec,
        "--json",
    ]
    return [*words, *more]


def text_of(desk: Desk, path: str = "skill/SKILL.md") -> str:
    return (desk.folder / path).read_text()


def test_a_general_edit_is_passed_and_certified(desk: Desk) -> None:
    """PASSED, exit 0, the skill improved, the certification with both rates, and the cost told
    before.
    """
    before = skill(desk)
    suite(desk)
    result = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk))
    run = result.json
    assert (result.code, run["schema"], run["result"]) == (
        0,
        "honestone.improvement/1",
        "PASSED",
    ), result.err
    assert text_of(desk) == before + "GENERAL\n"
    certified = run["certification"]
    assert (certified["ok"], certified["split"]) == (True, "test")
    assert (certified["pass_rate"], certified["baseline_pass_rate"], certified["delta"]) == (
        1.0,
        0.0,
        1.0,
    )
    assert (run["baseline"]["score"], run["final"]["score"]) == (50.0, 100.0)
    assert [one["id"] for one in run["final"]["criteria"]] == ["val", "train"]
    assert run["usage"]["target_calls"] == 14 == agent(desk).calls
    assert (
        "at most 5 rounds, 34 runs of" in result.err
        and "3 in train, 2 in val, 2 in test" in result.err
    )


def test_the_worker_is_shown_failures_of_train_only(desk: Desk) -> None:
    """Id, prompt and the judge's words of birch and cedar; not one word about val or test."""
    skill(desk)
    suite(desk)
    edit = worker(desk, ADD.format("GENERAL"))
    improve(desk, edit, agent(desk))
    (brief,) = edit.lines
    assert "What about birch?" in brief and "ans-cedar" in brief
    assert not any(word in brief for word in ("daisy", "elder", "fern", "ginger"))


def test_bad_on_test_is_unconfirmed(desk: Desk) -> None:
    """Exit 3, `ok` false, and the two test tasks were run once a version."""
    skill(desk)
    suite(desk)
    target = agent(desk)
    result = improve(desk, worker(desk, ADD.format("birch cedar elder")), target)
    assert (result.code, result.json["result"]) == (3, "UNCONFIRMED")
    assert [(one["kind"], one["about"]) for one in result.json["advice"]] == [("person", "test")]
    assert result.json["rounds"][0]["usage"]["target_calls"] > 0
    certified = result.json["certification"]
    assert certified["ok"] is False and certified["failed"] == ["fern", "ginger"]
    assert target.lines.count("fern") == 2


def test_test_is_not_run_where_val_does_not_pass(desk: Desk) -> None:
    """Learned by heart: no PASSED, and nobody looked at test."""
    skill(desk)
    suite(desk)
    target = agent(desk)
    result = improve(desk, worker(desk, ADD.format("birch cedar")), target)
    assert (result.code, result.json["certification"]["ok"]) == (1, None)
    assert "fern" not in target.lines and result.json["certification"]["pass_rate"] is None


@pytest.mark.slow
def test_an_edit_that_val_refuses_leaves_the_original(desk: Desk) -> None:
    """Rolled back, byte for byte, with the reason in the report."""
    before = skill(desk)
    suite(desk)
    edit = worker(
        desk,
        "n = str(len(open(LOG).readlines())).encode()\nput(read().replace(b'daisy', b'birch cedar' + n))",
    )
    result = improve(desk, edit, agent(desk))
    assert (result.code, text_of(desk)) == (1, before)
    reasons = [entry["reason"] for entry in result.json["rounds"]]
    assert len(reasons) == 3 and all(
        "val fell from 1 of 2 to 0 of 2; failing now: daisy" in why for why in reasons
    )


def test_a_prompt_is_improved_over_a_suite(desk: Desk) -> None:
    """Not only skills: a file that the target is given."""
    desk.file("prompt.md", "amber daisy\n")
    suite(desk)
    result = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk), artifact="prompt.md")
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err
    assert text_of(desk, "prompt.md") == "amber daisy\nGENERAL\n"


@pytest.mark.slow
def test_a_skill_may_be_named_by_its_file(desk: Desk) -> None:
    """A path to SKILL.md means its folder, for the worker too."""
    before = skill(desk)
    suite(desk)
    edit = desk.worker(
        "worker", "assert os.path.isdir(path)\npath = path + '/SKILL.md'\n" + ADD.format("GENERAL")
    )
    result = improve(desk, edit, agent(desk), artifact="skill/SKILL.md")
    assert result.code == 0 and text_of(desk) == before + "GENERAL\n"


@pytest.mark.slow
def test_a_suite_within_the_skill_is_not_shown_and_not_touched(desk: Desk) -> None:
    """Neither the worker nor the agent finds it in its copy; it lies where it lay."""
    skill(desk)
    path = suite(desk, "skill/evals/suite.yaml")
    suite_text = path.read_text()
    edit = worker(
        desk,
        "assert not os.path.exists(os.path.dirname(path) + '/evals')\n" + ADD.format("GENERAL"),
    )
    target = agent(desk, "assert os.listdir(place) == ['SKILL.md'], os.listdir(place)")
    words = [
        "improve",
        "skill",
        "--suite",
        "skill/evals/suite.yaml",
        "--worker",
        edit.spec,
        "--target",
        target.spec,
        "--json",
    ]
    result = desk.run(*words)
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err
    assert path.read_text() == suite_text


@pytest.mark.slow
def test_the_best_of_two_candidates(desk: Desk) -> None:
    """One harms, one helps: the helpful one is delivered."""
    before = skill(desk)
    suite(desk)
    edit = worker(
        desk,
        "n = len(open(LOG).readlines())\nput(b'Say nothing.\\n' if n % 2 else read() + b'GENERAL\\n')",
    )
    result = improve(desk, edit, agent(desk), "--candidates", "2")
    assert (result.code, edit.calls) == (0, 2) and text_of(desk) == before + "GENERAL\n"
    (entry,) = result.json["rounds"]
    assert entry["candidate"] == 2 and [one["outcome"] for one in entry["candidates"]] == [
        "changed",
        "changed",
    ]


@pytest.mark.slow
def test_judges_choose_between_candidates_before_anything_is_run(desk: Desk) -> None:
    """With --judge the panel reads the edits: the agent is run with the chosen one alone."""
    skill(desk)
    suite(desk)
    edit = worker(
        desk,
        "n = len(open(LOG).readlines())\nput(read() + (b'junk\\n' if n % 2 else b'GENERAL\\n'))",
    )
    judge = desk.judge(
        "critic",
        "good = 'GENERAL' in text\nprint(json.dumps({'criteria': {c['id']: {'items': {i['id']: {'met': good} for i in c['items']}} for c in request['criteria']}}))",
    )
    target = agent(desk)
    result = improve(desk, edit, target, "--candidates", "2", "--judge", judge.spec)
    assert (result.code, judge.calls, target.calls) == (0, 2, 14), result.err
    assert [one["edit"] for one in result.json["rounds"][0]["candidates"]] == [0.0, 10.0]
    assert "birch" in json.dumps(judge.requests[0]["input"])


def test_a_lower_bar(desk: Desk) -> None:
    """--min-pass-rate 0.5: one of two on val and on test is enough."""
    skill(desk, ("amber", "birch"))
    suite(desk)
    result = improve(
        desk, worker(desk, ADD.format("elder fern")), agent(desk), "--min-pass-rate", "0.5"
    )
    assert (result.code, result.json["result"], result.json["certification"]["pass_rate"]) == (
        0,
        "PASSED",
        0.5,
    )


def test_an_agent_that_is_down_at_the_start(desk: Desk) -> None:
    """Nothing to compare with: exit 3, and the worker is not asked."""
    skill(desk)
    suite(desk)
    edit = worker(desk, ADD.format("GENERAL"))
    result = improve(desk, edit, agent(desk, "sys.exit('overloaded')"))
    assert (result.code, result.json["result"], edit.calls) == (3, "COULD_NOT_JUDGE", 0)
    assert "overloaded" in result.json["reason"]


# ----------------------------------------------------------------------------------------------------------
# refusals


@pytest.mark.parametrize("gone", ["train", "val", "test"])
def test_an_empty_split_is_refused_before_anything_is_spent(desk: Desk, gone: str) -> None:
    """Exit 2, the split named, what to do, and no agent run."""
    skill(desk)
    other = "val" if gone == "train" else "train"
    suite(desk, splits={id: other if split == gone else split for id, split in SPLIT.items()})
    target = agent(desk)
    result = improve(desk, worker(desk, ""), target)
    assert result.is_refusal and f"no task in the split {gone}" in result.err and target.calls == 0


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (["--rubric", "rubric.yaml"], "--rubric cannot go with --suite"),
        (["--holdout", "mock"], "the suite's test split certifies"),
        (["--self"], "--self cannot go"),
        (["--policy", "plain"], "--policy plain cannot go"),
        (["--output", "skill"], "--output is the artifact itself"),
    ],
)
def test_options_of_the_other_loop_are_refused(desk: Desk, more: list[str], word: str) -> None:
    """Nothing that is asked for is silently left out."""
    skill(desk)
    suite(desk)
    target = agent(desk)
    result = improve(desk, worker(desk, ""), target, *more)
    assert result.is_refusal and word in result.err and target.calls == 0


@pytest.mark.parametrize(
    "more", [["--candidates", "2"], ["--target", "mock"], ["--min-pass-rate", "0.5"]]
)
def test_options_about_tasks_need_a_suite(desk: Desk, more: list[str]) -> None:
    """Over a rubric they would mean nothing."""
    skill(desk)
    desk.rubric()
    result = desk.run("improve", "skill", "--rubric", "rubric.yaml", "--worker", "cmd:true", *more)
    assert result.is_refusal and more[0] in result.err


def test_a_worker_and_a_target_are_needed(desk: Desk) -> None:
    """Who edits and who does the tasks must be said."""
    skill(desk)
    suite(desk)
    for words, word in (
        [["--target", agent(desk).spec], "worker"],
        [["--worker", "cmd:true"], "name the agent"],
    ):
        result = desk.run("improve", "skill", "--suite", "suite.yaml", *words)
        assert result.is_refusal and word in result.err


# ----------------------------------------------------------------------------------------------------------
# kills, limits, reports


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "how"),
    [(3, signal.SIGKILL), (9, signal.SIGTERM), (15, signal.SIGKILL), (17, signal.SIGINT)],
)
def test_a_kill_repeats_no_finished_task(desk: Desk, after: int, how: signal.Signals) -> None:
    """Stopped in any way while an agent works; the same command goes on, and only what was under
    way is run again.
    """
    before = skill(desk)
    suite(desk, concurrency=1)
    target = agent(
        desk,
        f"""
import pathlib
if sum(1 for _ in open({str(desk.logs / "agent.log")!r})) == {after} and not pathlib.Path({str(desk.logs / "go")!r}).exists():
    time.sleep(600)
""",
    )
    edit = worker(desk, "put(read() + (b'GENERAL\\n' if b'birch' in read() else b'birch\\n'))")
    words = call(edit, target)
    process = desk.start(*words)
    deadline = time.monotonic() + 300
    while target.calls < after and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert target.calls == after
    process.send_signal(how)
    process.communicate(timeout=300)
    assert process.returncode == (-9 if how is signal.SIGKILL else 130)
    (desk.logs / "go").touch()
    result = desk.run(*words)
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err
    assert result.json["resumed"] is True and text_of(desk).startswith(before)
    assert target.calls == 5 + 5 + 5 + 4 + 1, (
        "the run that was cut off was begun twice, every other once"
    )
    assert edit.calls == 2
    assert result.json["usage"]["target_calls"] == target.calls - 1


@pytest.mark.slow
def test_an_edit_in_between_is_not_overwritten(desk: Desk) -> None:
    """Somebody wrote into the skill while the run was unfinished: exit 2, their words stay."""
    skill(desk)
    suite(desk)
    target = agent(desk, "time.sleep(600 if 'elder' in prompt else 0)")
    words = call(worker(desk, ADD.format("GENERAL")), target)
    process = desk.start(*words)
    deadline = time.monotonic() + 300
    while target.calls < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    desk.file("skill/SKILL.md", "my own words\n")
    result = desk.run(*words)
    assert result.is_refusal and "edited since" in result.err and text_of(desk) == "my own words\n"


@pytest.mark.slow
def test_a_changed_suite_is_another_contract(desk: Desk) -> None:
    """An unfinished run is not taken up under other tasks: exit 2, with what differs."""
    skill(desk)
    suite(desk)
    target = agent(desk, "time.sleep(600 if 'elder' in prompt else 0)")
    words = call(worker(desk, ADD.format("GENERAL")), target)
    process = desk.start(*words)
    deadline = time.monotonic() + 300
    while target.calls < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)
    suite(desk, splits={**SPLIT, "holly": "val"})
    result = desk.run(*words)
    assert result.is_refusal and "another contract" in result.err and "holly" in result.err


@pytest.mark.slow
def test_dry_run_and_output(desk: Desk) -> None:
    """The skill is left alone; the best version is in the store, or where --output says."""
    before = skill(desk)
    suite(desk)
    edit, target = worker(desk, ADD.format("GENERAL")), agent(desk)
    assert improve(desk, edit, target, "--dry-run").code == 0 and text_of(desk) == before
    assert "GENERAL" in desk.run("show", "--version", "best", _last(desk)).out
    assert improve(desk, edit, target, "--output", "better").code == 0
    assert text_of(desk) == before and text_of(desk, "better/SKILL.md") == before + "GENERAL\n"
    assert desk.run("show", _last(desk), "--version", "original").out.endswith(before)


def _last(desk: Desk) -> str:
    """The newest run of the loop: the suite's own runs are on record beside it."""
    runs = desk.run("runs", "--json", "--limit", "100").json
    return str(next(run["id"] for run in runs if run["kind"] == "improve"))


@pytest.mark.slow
def test_show_gives_the_same_document_and_every_form(desk: Desk) -> None:
    """From the record alone, after the skill is gone: JSON, text, Markdown, JUnit and the diff."""
    skill(desk)
    suite(desk)
    told = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk)).json
    (desk.folder / "skill/SKILL.md").unlink()
    again = desk.run("show", _last(desk), "--json").json
    for name in ("result", "rounds", "certification", "splits", "baseline", "final"):
        assert again[name] == told[name], name
    text = desk.run("show", _last(desk)).out
    assert "2 of 2 passed, the original 0 of 2" in text and "14 target calls" in text
    assert (
        "Certified by the test split" in desk.run("show", _last(desk), "--format", "markdown").out
    )
    assert "elder: What about elder?" in desk.run("show", _last(desk), "--format", "junit").out
    assert "+GENERAL" in desk.run("show", _last(desk), "--format", "diff").out
    assert desk.run("rescore", _last(desk)).is_refusal


@pytest.mark.slow
def test_the_report_says_what_to_type_next(desk: Desk) -> None:
    """After a plateau: the same command, over the suite, with more effort."""
    skill(desk)
    suite(desk)
    result = desk.run(
        "improve",
        "skill",
        "--suite",
        "suite.yaml",
        "--worker",
        worker(desk, "pass").spec,
        "--target",
        agent(desk).spec,
    )
    assert result.code == 1 and "LOW CONFIDENCE" not in result.out
    assert "honestone improve skill --suite suite.yaml" not in result.out, (
        "the worker did nothing: more of it will not help"
    )
    result = desk.run(
        "improve",
        "skill",
        "--suite",
        "suite.yaml",
        "--worker",
        worker(desk, ADD.format("birch cedar")).spec,
        "--target",
        agent(desk).spec,
    )
    assert (
        "honestone improve skill --suite suite.yaml --target" in result.out
        and "not run: " in result.out
    )
    assert "elder" in result.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "calls", "reason"),
    [
        ("keep-best", 7, "--max-calls 7 are used up"),
        (
            "belief",
            5,
            (
                "2 of --max-calls 7 are left: val and train of another version need 5,"
                " and 6 are held for test"
            ),
        ),
    ],
)
def test_judge_calls_have_one_limit_for_the_whole_run(
    policy: str, calls: int, reason: str, desk: Desk
) -> None:
    """--max-calls counts over all splits and versions: BUDGET, in the words of what was asked for.
    By belief no version is made that could not be certified.
    """
    judged_tasks(desk)
    judge = desk.judge()
    result = improve(
        desk,
        worker(desk, ADD.format("GENERAL")),
        agent(desk),
        "--judge",
        judge.spec,
        "--max-calls",
        "7",
        "--policy",
        policy,
    )
    assert (result.code, result.json["result"], result.json["reason"]) == (
        1,
        "BUDGET",
        reason,
    ), result.err
    assert judge.calls == calls == result.json["usage"]["judge_calls"]


def judged_tasks(desk: Desk) -> None:
    """A skill, and a suite whose cases judges answer."""
    skill(desk)
    cases = [
        {"id": id, "input": f"What about {id}?", "rubric": [f"It says ans-{id}"], "split": split}
        for id, split in SPLIT.items()
    ]
    desk.file("suite.yaml", json.dumps({"suite": 1, "cases": cases}))


@pytest.mark.slow
def test_judged_tasks_pass_too(desk: Desk) -> None:
    """Rubrics for judges in the cases: the same loop, and the report names who judged."""
    judged_tasks(desk)
    judge = desk.judge()
    result = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk), "--judge", judge.spec)
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err
    assert [one["id"] for one in result.json["final"]["judges"]] == [judge.spec]


def judged_suite(desk: Desk, **more: Any) -> None:
    cases = [
        {"id": id, "input": f"What about {id}?", "rubric": [f"It says ans-{id}"], "split": split}
        for id, split in SPLIT.items()
    ]
    desk.file("suite.yaml", json.dumps({"suite": 1, **more, "cases": cases}))


@pytest.mark.parametrize("in_file", [True, False])
def test_a_suite_is_made_as_sure_as_it_or_the_command_says(in_file: bool, desk: Desk) -> None:
    """Of a version that is PASSED val and test together are that sure, and the report says so."""
    skill(desk)
    judged_suite(desk, **({"sure": 90, "max_looks": 60} if in_file else {}))
    judges = ["--judge", desk.judge("one").spec, "--judge", desk.judge("two").spec]
    asked = [] if in_file else ["--sure", "90", "--max-looks", "60"]
    result = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk), *judges, *asked)
    belief = result.json["belief"]
    assert belief["target"] == 0.9 and belief["max_looks"] == 3 * 60, result.err
    assert belief["decided"] is True and belief["probability"] >= 0.9, belief
    assert "; all have to pass, 90% sure\n" in result.err
    for form in ("text", "markdown", "html"):
        shown = " ".join(desk.run("show", result.json["run"], "--format", form).out.split())
        assert belief["sentence"] in shown and "that the contract is met" not in shown, form
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err


@pytest.mark.slow
def test_the_runs_of_splits_are_parts_of_the_improvement(desk: Desk) -> None:
    """`last` is the improvement, for every command; and no part names a limit of looks that is not
    its own.
    """
    skill(desk)
    judged_suite(desk)
    judges = [word for name in ("one", "two") for word in ("--judge", desk.judge(name).spec)]
    asked = ["--sure", "99", "--max-looks", "2", "--rounds", "1"]
    found = improve(desk, worker(desk, ADD.format("amber")), agent(desk), *judges, *asked).json
    assert "% sure that enough cases of val pass" in found["certification"]["reason"]
    sentence = found["belief"]["sentence"]
    assert "--max-looks" in sentence and "would not tell" not in sentence, sentence
    listed = desk.run("runs", "--json").json
    whole, parts = found["run"], [one["id"] for one in listed if one["kind"] == "suite"]
    assert {one["id"] for one in listed if one["part_of"] == whole} == set(parts)
    assert {one["part_of"] for one in listed} == {whole, None}
    assert parts and max(parts) > whole
    assert desk.run("show", "last", "--json").json["run"] == whole
    for part in parts:
        belief = desk.run("show", part, "--json").json["belief"]
        assert belief["max_looks"] is None and "--max-looks" not in belief["sentence"]
        assert not belief["decided"] and belief["looks"]
    refused = desk.run(
        "eval",
        "suite.yaml",
        "--baseline",
        "last",
        "--target",
        agent(desk).spec,
        "--artifact",
        "skill",
        *judges,
    )
    assert "no suite run has finished here" in refused.err
    assert whole in desk.run("runs", "delete", "last", "--yes").out
    assert desk.run("runs", "--json").json == []


def test_nothing_is_stated_where_judges_that_the_quorum_needs_failed(desk: Desk) -> None:
    """It was 8% by what is assumed of a case alone, "about 3 more would tell"."""
    skill(desk)
    judged_suite(desk)
    bodies = {"one": "print(json.dumps(reply()))", "gone": "raise RuntimeError('gone')"}
    judges = [
        word
        for name, body in bodies.items()
        for word in ("--judge", desk.judge_in_python(name, body).spec)
    ]
    asked = ["--sure", "95", "--quorum", "2"]
    found = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk), *judges, *asked).json
    assert found["result"] == "COULD_NOT_JUDGE" and found["belief"] is None
    why = "test is run when val passes: it could not be judged, as the quorum of 2 cases is not met"
    assert found["certification"]["reason"] == why


def test_the_usual_limit_of_calls_has_room_for_the_rounds(desk: Desk) -> None:
    """Every case gets its quorum, also where --max-looks is below that, so a version is made."""
    skill(desk)
    judged_suite(desk)
    judges = [word for name in ("one", "two") for word in ("--judge", desk.judge(name).spec)]
    asked = ["--sure", "90", "--max-looks", "2", "--quorum", "2", "--rounds", "1"]
    result = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk), *judges, *asked)
    assert len(result.json["rounds"]) == 1 and "held for test" not in result.json["reason"], (
        result.err
    )


@pytest.mark.parametrize(
    ("in_file", "more", "word"),
    [
        ({}, ["--sure", "70"], "does not say PASSED of what is less than 80% sure"),
        ({"sure": 70}, [], "the suite says `sure: 70`"),
        ({}, ["--sure", "95", "--policy", "keep-best"], "keep-best has a rule of its own"),
        ({}, ["--policy", "belief", "--repeat", "2"], "asks judges again about each case"),
        ({}, ["--max-looks", "60"], "--max-looks limits what --sure asks for"),
    ],
)
def test_what_no_suite_can_be_made_sure_of_is_refused(
    in_file: dict[str, Any], more: list[str], word: str, desk: Desk
) -> None:
    """Before anything is spent."""
    skill(desk)
    judged_suite(desk, **in_file)
    judge, target = desk.judge(), agent(desk)
    result = improve(desk, worker(desk, ""), target, "--judge", judge.spec, *more)
    assert result.is_refusal and word in result.err, result.err
    assert judge.calls == target.calls == 0


@pytest.mark.slow
def test_require_improvement_wants_more_than_chance_on_test(desk: Desk) -> None:
    """One test task of two won may be chance: certified without the flag, not with it; both of two
    are enough.
    """
    skill(desk, (*KNOWN, "fern"))
    suite(desk)
    edit = worker(desk, ADD.format("GENERAL"))
    strict = improve(desk, edit, agent(desk), "--require-improvement", "--dry-run")
    assert (strict.code, strict.json["result"]) == (3, "UNCONFIRMED")
    held = strict.json["certification"]
    assert held["ok"] is False and held["interval"][0] == 0 and "noise" in held["reason"]
    shown = desk.run("show", strict.json["run"], "--json").json
    assert shown["certification"] == held
    assert improve(desk, edit, agent(desk), "--dry-run").json["result"] == "PASSED"
    skill(desk)
    assert improve(desk, edit, agent(desk), "--require-improvement").json["result"] == "PASSED"


def test_require_improvement_is_about_suites(desk: Desk) -> None:
    """Without one it would mean nothing."""
    desk.file("note.md", "x\n")
    result = desk.run("improve", "note.md", "--require-improvement", "--worker", "cmd:true")
    assert result.is_refusal and "--require-improvement" in result.err


@pytest.mark.slow
def test_runs_tells_which_side_each_run_of_the_suite_was(desk: Desk) -> None:
    """Beside the loop's own line, in text and JSON."""
    skill(desk)
    suite(desk)
    run = improve(desk, worker(desk, ADD.format("GENERAL")), agent(desk)).json["run"]
    rows = desk.run("runs", "--json").json
    assert {row["side"] for row in rows if row["kind"] == "suite"} == {f"improve {run}"}
    assert [row["side"] for row in rows if row["kind"] == "improve"] == [None]
    shown = desk.run("runs").out
    assert f"({len(rows) - 1} runs inside)" in shown and " suite " not in shown
    loops = desk.run("runs", "--kind", "improve").out
    assert f"({len(rows) - 1} runs inside)" in loops
    wide = desk.run("runs", "--kind", "suite", env={"COLUMNS": "200"}).out
    assert wide.count(f"(improve {run})") == len(rows) - 1


@pytest.mark.slow
def test_no_target_is_run_where_the_limit_leaves_no_call(desk: Desk) -> None:
    """A split that is reached with every call used is not run for judges that cannot be asked."""
    judged_tasks(desk)
    judge, target = desk.judge(), agent(desk)
    by_rule = ("--judge", judge.spec, "--max-calls", "5", "--policy", "keep-best")
    result = improve(desk, worker(desk, ADD.format("GENERAL")), target, *by_rule)
    assert (result.json["result"], result.json["reason"]) == ("BUDGET", "--max-calls 5 are used up")
    assert judge.calls == 5 and result.json["usage"]["target_calls"] == 5, result.json["usage"]
    before = target.calls
    none = improve(
        desk, worker(desk, ADD.format("GENERAL")), target, *by_rule[:2], "--max-calls", "0"
    )
    assert none.code != 0 and target.calls == before


def test_a_version_that_was_not_run_on_train_is_not_judged_by_others(desk: Desk) -> None:
    """Splits are no judges: the same ones looked at its tasks."""
    skill(desk)
    judged_suite(desk)
    one = desk.judge("one")
    forget = "put(b'---\\nname: helper\\ndescription: Answers.\\n---\\n')"
    run = improve(desk, worker(desk, forget), agent(desk), "--judge", one.spec).json
    assert run["rounds"][0]["same_judges"] is True and run["rounds"][0]["decision"] == "rejected"
    assert "scored by other judges" not in desk.run("show", "last").out
