"""`honestone step`: a host agent as the worker of the ordinary loop, one action at a time."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk, Program, Result
from .test_judge_prompt_submit import answered, honest

NOTE = "# Fruit\n\nAn apple a day.\n"
WHOLE = NOTE + "This is my farewell.\nAnd a pear.\n"


def begin(desk: Desk, *more: str, artifact: str = "note.md") -> Result:
    return desk.run(
        "step", "next", artifact, "--rubric", "rubric.yaml", "--policy", "keep-best", *more
    )


def action(found: Result, name: str = "propose") -> dict[str, Any]:
    """The action that was printed, which has to be this one."""
    assert found.err == "" or "Traceback" not in found.err, found.err
    assert found.out, found.err
    document: dict[str, Any] = found.json
    assert document["action"] == name, document
    return document


def append(step: dict[str, Any], text: str) -> None:
    place = Path(step["location"])
    place.write_text(place.read_text() + text)


def note(desk: Desk) -> str:
    return (desk.folder / "note.md").read_text()


@pytest.fixture
def judge(ready: Desk) -> Program:
    return ready.judge()


@pytest.fixture
def witness(ready: Desk) -> Program:
    return ready.judge("witness")


def test_a_host_agent_improves_a_file_to_passed(
    ready: Desk, judge: Program, witness: Program
) -> None:
    """next, edit, submit, edit, submit: done with exit 0, and the user's file is the improved one."""
    first = action(begin(ready, "--judge", judge.spec, "--holdout", witness.spec))
    assert first["round"] == 1 and first["focus"] == ["close"]
    assert (
        f"Location: {first['location']}" in first["brief"]
        and "It ends with a farewell" in first["brief"]
    )
    append(first, "This is my farewell.\n")
    found = ready.run("step", "submit")
    second = action(found)
    assert found.code == 0 and second["round"] == 2 and second["focus"] == ["words"]
    append(second, "And a pear.\n")
    found = ready.run("step", "submit", "--message", "added the pear")
    done = action(found, "done")
    assert (
        found.code == 0
        and done["result"] == "PASSED"
        and done["schema"] == "honestone.improvement/1"
    )
    assert [entry["decision"] for entry in done["rounds"]] == ["accepted", "accepted"]
    assert note(ready) == WHOLE
    again = action(ready.run("step", "next"), "done")
    assert [again[name] for name in ("run", "result", "rounds", "final")] == [
        done[name] for name in ("run", "result", "rounds", "final")
    ]
    assert not list((ready.store / "step").glob("*/round-*"))


def test_it_is_the_run_that_improve_would_make(
    ready: Desk, judge: Program, witness: Program
) -> None:
    """The same edits by a command worker give the same rounds, scores and decisions."""
    worker = ready.worker(
        "adds",
        "put(read() + (b'And a pear.\\n' if 'Criterion: words' in brief else b'This is my farewell.\\n'))",
    )
    judges = ("--judge", judge.spec, "--holdout", witness.spec)
    ordinary = ready.run(
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--policy",
        "keep-best",
        *judges,
        "--json",
    ).json
    ready.file("note.md", NOTE)
    found = begin(ready, *judges)
    for text in ("This is my farewell.\n", "And a pear.\n"):
        append(action(found), text)
        found = ready.run("step", "submit")
    stepped = action(found, "done")
    keys = (
        "round",
        "focus",
        "decision",
        "reason",
        "outcome",
        "before",
        "after",
        "score_before",
        "score_after",
    )
    shown = [
        [{k: e[k] for k in keys if k in e} for e in run["rounds"]] for run in (ordinary, stepped)
    ]
    assert [entry["decision"] for entry in shown[0]] == ["accepted", "accepted"]
    assert shown[0] == shown[1] and ordinary["final"]["contract"] == stepped["final"]["contract"]


def test_asking_again_prints_the_same(ready: Desk, judge: Program) -> None:
    """`next` with or without arguments repeats the action, keeps the edited copy, and asks no judge
    again.
    """
    first = begin(ready, "--judge", judge.spec)
    append(action(first), "half an edit")
    calls = judge.calls
    assert begin(ready, "--judge", judge.spec).out == first.out == ready.run("step", "next").out
    assert judge.calls == calls and Path(first.json["location"]).read_text().endswith(
        "half an edit"
    )


def test_status_says_where_the_run_is(ready: Desk, judge: Program) -> None:
    """It waits for an edit, then is done; nothing changes by asking."""
    first = action(begin(ready, "--judge", judge.spec))
    found = ready.run("step", "status", "--json").json
    assert (found["run"], found["waits_for"], found["location"]) == (
        first["run"],
        "edit",
        first["location"],
    )
    assert found["rounds"] == 0 and found["best_interval"] == [37.5, 37.5]
    assert "honestone step submit" in ready.run("step", "status").out
    append(first, "This is my farewell. And a pear.\n")
    done = action(ready.run("step", "submit"), "done")
    assert done["result"] == "UNCONFIRMED"
    found = ready.run("step", "status", first["run"][:12], "--json").json
    assert found["waits_for"] == "done" and found["result"] == "UNCONFIRMED"


def test_exit_codes_are_those_of_improve_when_done(ready: Desk, judge: Program) -> None:
    """UNCONFIRMED ends with 3, a used-up run with 1, and asking again gives the same code."""
    append(action(begin(ready, "--judge", judge.spec)), "This is my farewell. And a pear.\n")
    assert ready.run("step", "submit").code == 3 and ready.run("step", "next").code == 3
    ready.file("note.md", NOTE)
    begin(ready, "--judge", judge.spec, "--rounds", "1")
    found = ready.run("step", "submit")
    assert found.code == 1 and action(found, "done")["result"] == "NO_CHANGE"


CHANGES = {
    "changed": "place.write_text(text + 'And a pear.\\n')",
    "unchanged": "pass",
    "out-of-scope": "(place.parent / 'other.md').write_text('x')",
    "too-large": "place.write_text(text + 'pear\\n' * 50)",
    "shrunk": "place.unlink()",
    "placeholder": "place.write_text(text + '... the rest stays the same\\n')",
}


@pytest.mark.parametrize("outcome", CHANGES)
def test_bytes_decide_what_an_edit_is_worth(ready: Desk, judge: Program, outcome: str) -> None:
    """Each outcome that is read from the copy, through the command."""
    step = action(begin(ready, "--judge", judge.spec, "--max-diff", "40", "--rounds", "1"))
    place = Path(step["location"])
    exec(CHANGES[outcome], {"place": place, "text": place.read_text()})
    done = action(ready.run("step", "submit"), "done")
    assert [entry["outcome"] for entry in done["rounds"]] == [outcome]
    assert note(ready) == (NOTE + "And a pear.\n" if outcome == "changed" else NOTE)


@pytest.mark.parametrize("ended", ["timeout", "denied", "crashed"])
def test_how_it_ended_counts_where_nothing_changed(ready: Desk, judge: Program, ended: str) -> None:
    """A host can say that its edit timed out, was denied or crashed."""
    action(begin(ready, "--judge", judge.spec, "--rounds", "1"))
    done = action(
        ready.run("step", "submit", "--ended", ended, "--message", "no rights here"), "done"
    )
    assert [entry["outcome"] for entry in done["rounds"]] == [ended]


def test_a_link_in_the_copy_is_a_stray(ready: Desk, judge: Program) -> None:
    """What a host leaves beside the artifact comes back to the engine as it is, links unfollowed."""
    step = action(begin(ready, "--judge", judge.spec, "--rounds", "1"))
    append(step, "And a pear.\n")
    (Path(step["location"]).parent / "link").symlink_to("/etc/hostname")
    done = action(ready.run("step", "submit"), "done")
    assert [entry["outcome"] for entry in done["rounds"]] == ["out-of-scope"]


def test_a_folder_is_edited_in_a_copy_without_the_users_path(ready: Desk, judge: Program) -> None:
    """A folder artifact: files come and go in the copy, and are delivered to the user's folder."""
    ready.file("docs/a.md", NOTE)
    step = action(begin(ready, "--judge", judge.spec, artifact="docs"))
    assert Path(step["location"]).is_dir() and Path(step["location"]) != ready.folder / "docs"
    (Path(step["location"]) / "b.md").write_text("A pear. That is my farewell.\n")
    done = action(ready.run("step", "submit"), "done")
    assert done["result"] == "UNCONFIRMED" and (ready.folder / "docs" / "b.md").exists()


def test_submitting_twice_does_no_harm(ready: Desk, judge: Program) -> None:
    """A submission repeated after a kill between recording and printing is not taken for the next
    round's edit.
    """
    step = action(begin(ready, "--judge", judge.spec))
    append(step, "This is my farewell.\n")
    second = action(ready.run("step", "submit"))
    (
        ready.store / "step" / step["run"] / "round-2" / "handed-out"
    ).unlink()  # as if it had been killed before it printed
    again = action(ready.run("step", "submit"))
    assert (
        again["round"] == 2
        and again["location"] == second["location"]
        and "no edit was waited for" in again["problems"][0]
    )
    assert ready.run("step", "status", "--json").json["rounds"] == 1


def test_a_round_is_handed_in_once(ready: Desk, judge: Program) -> None:
    """With the words of `then`, a repeated submission is known for what it is, even after the next
    action was printed.
    """
    step = action(begin(ready, "--judge", judge.spec))
    append(step, "This is my farewell.\n")
    words = step["then"].split()[1:]
    second = action(ready.run(*words))
    again = action(ready.run(*words))
    assert (
        again["round"] == second["round"] == 2 and "no edit was waited for" in again["problems"][0]
    )
    assert ready.run("step", "status", "--json").json["rounds"] == 1


@pytest.mark.slow
def test_killed_in_the_middle_of_a_submission_it_goes_on(ready: Desk) -> None:
    """kill -9 while the judge looks at the edit: `submit` again goes on, and nothing that was
    answered is asked twice.
    """
    judge = ready.judge(
        "slow", "time.sleep(30 if os.path.exists('sleep') else 0)\nprint(json.dumps(reply()))"
    )
    witness = ready.judge("witness")
    step = action(begin(ready, "--judge", judge.spec, "--holdout", witness.spec))
    append(step, "This is my farewell. And a pear.\n")
    ready.file("sleep", "")
    running = ready.start("step", "submit")
    deadline = time.monotonic() + 300
    while judge.calls < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert judge.calls == 2
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    (ready.folder / "sleep").unlink()
    assert note(ready) == NOTE
    done = action(ready.run("step", "submit"), "done")
    assert done["result"] == "PASSED" and judge.calls == 3 and len(done["rounds"]) == 1


def test_killed_between_the_record_and_the_answer_the_edit_is_kept(
    ready: Desk, judge: Program
) -> None:
    """A copy that was edited and never submitted is there again after the store is all that is left
    of the process.
    """
    step = action(begin(ready, "--judge", judge.spec))
    append(step, "This is my farewell.\n")
    (ready.store / "step" / step["run"] / "session.json").unlink()
    again = action(begin(ready, "--judge", judge.spec))
    assert again["location"] == step["location"] and Path(again["location"]).read_text().endswith(
        "farewell.\n"
    )


# ------------------------------------------------------------------------------------------- host
# agents that judge


def reply_to(step: dict[str, Any], text: str) -> str:
    return answered(step["prompt"], honest(text))


def test_a_host_agent_works_and_others_judge(ready: Desk) -> None:
    """Baseline and candidate are judged by agent:a, certified by agent:b, edited by the host;
    killed once on the way.
    """
    found = begin(ready, "--judge", "agent:a", "--holdout", "agent:b")
    step = action(found, "judge")
    assert found.code == 0 and step["judge"] == "agent:a" and step["then"].endswith("--reply FILE")
    # The baseline is the file itself, so `judge submit` will do as well.
    ready.file("reply.txt", reply_to(step, NOTE))
    assert (
        ready.run(
            "judge",
            "submit",
            "note.md",
            "--rubric",
            "rubric.yaml",
            "--judge",
            "a",
            "--reply",
            "reply.txt",
        ).code
        == 0
    )
    step = action(ready.run("step", "next"))
    append(step, "This is my farewell. And a pear.\n")
    judged = action(ready.run("step", "submit"), "judge")
    assert "This is my farewell. And a pear." in judged["prompt"] and note(ready) == NOTE
    running = ready.start("step", "next")
    running.kill()
    running.communicate()
    assert action(ready.run("step", "next"), "judge") == judged
    ready.file("reply.txt", reply_to(judged, WHOLE))
    certify = action(ready.run("step", "submit", "--reply", "reply.txt"), "judge")
    assert certify["judge"] == "agent:b" and certify["prompt"] == judged["prompt"]
    found = ready.run("step", "submit", "--reply", "reply.txt")
    done = action(found, "done")
    assert found.code == 0 and done["result"] == "PASSED" and "pear" in note(ready)
    assert done["certification"]["ok"] is True


def test_no_paid_judge_is_asked_before_the_agents_beside_it(ready: Desk, judge: Program) -> None:
    """A call that would be lost when the command ends is not made at all."""
    step = action(
        begin(ready, "--judge", judge.spec, "--judge", "agent:a", "--holdout", "none"), "judge"
    )
    assert judge.calls == 0
    ready.file("reply.txt", reply_to(step, NOTE))
    action(ready.run("step", "submit", "--reply", "reply.txt"))
    assert judge.calls == 1


def test_a_partial_reply_is_asked_once_more_and_a_forged_one_refused(ready: Desk) -> None:
    """The next action names what is wrong; after the second look the loop goes on with what there
    is.
    """
    step = action(begin(ready, "--judge", "agent:a"), "judge")
    ready.file("forged.txt", answered(step["prompt"], lambda _: True))
    again = action(ready.run("step", "submit", "--reply", "forged.txt"), "judge")
    assert "refused" in again["problems"][0] and again["prompt"] == step["prompt"]
    ready.file(
        "partial.txt",
        answered(
            step["prompt"], lambda text: None if text.endswith("pear") else honest(NOTE)(text)
        ),
    )
    second = action(ready.run("step", "submit", "--reply", "partial.txt"), "judge")
    assert second["token"] != step["token"] and "item" in second["problems"][0]
    ready.file("second.txt", answered(second["prompt"], honest(NOTE)))
    action(ready.run("step", "submit", "--reply", "second.txt"))


def test_handing_in_the_wrong_thing_is_said(ready: Desk, judge: Program) -> None:
    """A reply where an edit is waited for, and an edit where a reply is, change nothing."""
    step = action(begin(ready, "--judge", judge.spec))
    ready.file("reply.txt", "{}")
    wrong = action(ready.run("step", "submit", "--reply", "reply.txt"))
    assert "no reply was waited for" in wrong["problems"][0] and wrong["round"] == step["round"]
    other = begin(ready, "--judge", "agent:a")
    assert other.is_refusal and "another contract" in other.err
    asked = action(begin(ready, "--judge", "agent:a", "--fresh"), "judge")
    wrong = action(ready.run("step", "submit"), "judge")
    assert "no edit was waited for" in wrong["problems"][0] and wrong["prompt"] == asked["prompt"]


# ---------------------------------------------------------------------------------------------------------
# mistakes


def test_mistakes_are_refused_with_a_hint(ready: Desk, judge: Program) -> None:
    """No run yet, no rubric, no such run, a file that somebody edited: exit 2 and what to do."""
    assert ready.run("step", "submit").is_refusal
    assert ready.run("step", "status").is_refusal
    assert ready.run("step", "next").is_refusal
    assert ready.run("step", "next", "note.md").is_refusal
    action(begin(ready, "--judge", judge.spec))
    assert ready.run("step", "status", "ZZZ").is_refusal
    assert ready.run("step", "submit", "--reply", "nowhere.txt").is_refusal
    ready.file("note.md", "Edited behind its back.\n")
    assert ready.run("step", "submit").is_refusal


def test_a_damaged_session_is_said_and_begun_again(ready: Desk, judge: Program) -> None:
    """The file that remembers the command is only a convenience: the command itself goes on with
    the same run.
    """
    step = action(begin(ready, "--judge", judge.spec))
    (ready.store / "step" / step["run"] / "session.json").write_text('{"folder": 7')
    assert ready.run("step", "next").is_refusal
    assert action(begin(ready, "--judge", judge.spec))["run"] == step["run"]


def test_the_other_commands_work_from_another_folder(ready: Desk, judge: Program) -> None:
    """Paths are those of the folder where the run was begun."""
    step = action(begin(ready, "--judge", judge.spec))
    below = ready.folder / "below"
    below.mkdir()
    found = ready.run("step", "next", cwd=below, env={"HONESTONE_HOME": str(ready.store)})
    assert json.loads(found.out)["location"] == step["location"]


def test_improve_with_the_worker_step_says_how_to_start(ready: Desk, judge: Program) -> None:
    """`--worker step` on `improve` is a usage error that names `honestone step next`."""
    found = ready.run(
        "improve", "note.md", "--rubric", "rubric.yaml", "--worker", "step", "--judge", judge.spec
    )
    assert found.code == 2 and "honestone step next" in found.err and "Traceback" not in found.err
