"""`--prompt` of the commands that run a suite once: `improve`, `skill run`, `skill evaluate`, `suite
check --run`. A suite of several prompts is refused with what to do, and with one it is run.
"""

from __future__ import annotations

import json

import pytest

from .desk import Desk, Result
from .skill_desk import cook
from .skill_desk import skill as put_skill
from .stage_desk import skill_worker
from .test_improve_suite import ADD, agent, skill, worker

PROMPTS = {"short": "{{ q }}", "long": "Please answer: {{ q }}"}

TEACH = "md.write_text(md.read_text() + '* pie = hot pie\\n')\n"


def a_suite(desk: Desk, topics: dict[str, str], more: str = "ans-{}") -> None:
    cases = [
        {"id": id, "vars": {"q": f"About {id}?"}, "checks": [{"contains": more.format(id)}]}
        | ({"split": split} if split else {})
        for id, split in topics.items()
    ]
    prompts = [{"label": name, "input": text} for name, text in PROMPTS.items()]
    desk.file("suite.yaml", json.dumps({"suite": 1, "prompts": prompts, "cases": cases}))


def chosen(refused: Result, run: Result) -> None:
    assert refused.is_refusal and "--prompt NAME" in refused.err, refused.err
    assert run.code == 0, run.err + run.out


def test_improve_runs_one_prompt_of_a_suite(desk: Desk) -> None:
    """A run with another prompt is another run, and a name that the suite does not have is an
    error with those that it has.
    """
    skill(desk)
    splits = {"amber": "train", "birch": "train", "daisy": "val", "fern": "test"}
    a_suite(desk, splits)
    edit, target = worker(desk, ADD.format("GENERAL")), agent(desk)
    words = ("improve", "skill", "--suite", "suite.yaml", "--worker", edit.spec)
    words = (*words, "--target", target.spec, "--dry-run", "--json")
    refused = desk.run(*words)
    assert target.calls == 0
    run = desk.run(*words, "--prompt", "long")
    chosen(refused, run)
    assert run.json["result"] == "PASSED"
    other = desk.run(*words, "--prompt", "short")
    assert other.json["run"] != run.json["run"]
    unknown = desk.run(*words, "--prompt", "wide")
    assert unknown.is_refusal and "its prompts: short, long" in unknown.err
    no_suite = desk.run("improve", "a.md", "-r", "r.yaml", "--prompt", "long")
    assert no_suite.is_refusal


@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_a_stage_runs_one_prompt_of_a_suite(desk: Desk, command: str) -> None:
    put_skill(desk, "kitchen", ("soup",))
    a_suite(desk, {"soup": "", "pie": ""}, "hot {}")
    target = cook(desk)
    words = {
        "run": ("kitchen", "--worker", skill_worker(desk, "chef", TEACH).spec),
        "evaluate": ("--standalone", "--skill-path", "kitchen"),
    }[command]
    call = ("skill", command, *words, "--suite", "suite.yaml", "--target", target.spec)
    refused = desk.run(*call, "--mock", "--state-root", "st")
    run = desk.run(*call, "--prompt", "short", "--mock", "--state-root", "st")
    assert refused.is_refusal and "--prompt NAME" in refused.err, refused.err
    assert run.code != 2, run.err


def test_a_worker_is_shown_what_failed_with_its_own_prompt(desk: Desk) -> None:
    """A run of `eval` with another prompt asked other questions, and so did one before an edit of
    the suite.
    """
    put_skill(desk, "kitchen", ("soup",))
    topics = {"soup": "", "pie": "", "cake": ""}
    a_suite(desk, topics, "hot {}")
    target = cook(desk)
    chef = skill_worker(desk, "chef", TEACH)
    call = ("skill", "run", "kitchen", "--suite", "suite.yaml", "--target", target.spec)
    call = (*call, "--worker", chef.spec, "--mock", "--retries", "1", "--state-root", "st")
    given = ("--artifact", "kitchen", "--target", target.spec, "--prompt", "long")
    assert desk.run("eval", "suite.yaml", *given).code == 1
    other = desk.run(*call, "--prompt", "short")
    same = desk.run(*call, "--prompt", "long")
    assert "shown no failed tasks" in other.err and "shown no failed tasks" not in same.err
    briefs = [eval(line) for line in chef.lines]
    assert "- pie" not in briefs[0] and "- pie" in briefs[-1] and "- cake" in briefs[-1]
    text = (desk.folder / "suite.yaml").read_text()
    desk.file("suite.yaml", text.replace("About cake?", "All about cake?"))
    desk.run(*call, "--prompt", "long")
    edited = eval(chef.lines[-1])
    assert "- pie" in edited and "- cake" not in edited


@pytest.mark.slow
def test_runs_of_other_versions_do_not_hide_the_one_of_this_skill(desk: Desk) -> None:
    """However many are newer."""
    put_skill(desk, "kitchen", ("soup",))
    put_skill(desk, "other", ("soup", "pie"))
    a_suite(desk, {"soup": "", "pie": ""}, "hot {}")
    target = cook(desk)
    words = ("eval", "suite.yaml", "--target", target.spec, "--prompt", "long", "-q")
    desk.run(*words, "--artifact", "kitchen")
    for _ in range(21):
        desk.run(*words, "--artifact", "other")
    chef = skill_worker(desk, "chef", TEACH)
    call = ("skill", "run", "kitchen", "--suite", "suite.yaml", "--target", target.spec, "--mock")
    found = desk.run(*call, "--worker", chef.spec, "--state-root", "st", "--prompt", "long")
    assert "shown no failed tasks" not in found.err and "- pie" in eval(chef.lines[0])


def test_suite_check_runs_one_prompt(desk: Desk) -> None:
    a_suite(desk, {"amber": "", "birch": ""})
    call = ("suite", "check", "suite.yaml")
    target = agent(desk)
    alone = desk.run(*call, "--prompt", "long")
    assert alone.is_refusal and "add --run" in alone.err
    skill(desk)
    refused = desk.run(*call, "--run", "--target", target.spec)
    run = desk.run(*call, "--run", "--target", target.spec, "--prompt", "long")
    assert refused.is_refusal and "--prompt NAME" in refused.err, refused.err
    assert run.code == 0, run.err
