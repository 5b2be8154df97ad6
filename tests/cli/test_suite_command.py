"""`honestone suite` and `rubric convert` as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .desk import PYTHON, Desk

TOPICS = ("amber", "birch", "cedar", "daisy", "elder", "fern")


def tasks(*more: str) -> str:
    rows = [
        f"  - {{id: {t}, prompt: 'What about {t}?', judge: {{type: contains, expected: [ans-{t}]}}}}\n"
        for t in TOPICS
    ]
    return (
        'skill_id: plants\nversion: "1.0"\ntasks:\n'
        + "".join(rows)
        + "".join(f"  - {one}\n" for one in more)
    )


BAD = "{id: weak, prompt: 'What about it?', judge: {type: contains, expected: [is]}}"
SKILL = """\
---
name: plants
description: Answers questions about plants. Use when a plant is asked about.
---
# Plants

## When NOT to Use
- Never answer about animals

## Rules
""" + "".join(f"- about {topic}: ans-{topic}\n" for topic in TOPICS)


@pytest.fixture
def plants(desk: Desk) -> Desk:
    """A skill and a sound suite for it."""
    desk.file("plants/SKILL.md", SKILL)
    desk.file("tasks.yaml", tasks())
    return desk


def agent(desk: Desk) -> str:
    """A target that knows what its skill says, and birch by itself."""
    desk.file(
        "agent.py",
        "import os, pathlib, sys\nprompt = sys.stdin.read()\nskill = os.environ.get('HONESTONE_SKILL')\n"
        "text = (pathlib.Path(skill) / 'SKILL.md').read_text() if skill else ''\n"
        "said = [l.split(': ')[1] for l in text.splitlines() if l.startswith('- about ') and l[8:].split(':')[0] in prompt and 'elder' not in l]\n"
        "print('\\n'.join(said) or ('ans-birch' if 'birch' in prompt else 'I do not know'))\n",
    )
    return f"cmd:{PYTHON} {desk.folder / 'agent.py'}"


# ------------------------------------------------------------------------------------------------
# check


def test_a_sound_suite_has_nothing_against_it(plants: Desk) -> None:
    """Exit 0, also with --strict."""
    done = plants.run("suite", "check", "tasks.yaml", "--strict")
    assert done.code == 0
    assert "0 findings" in done.out or "nothing to say" in done.out


def test_a_flaw_is_told_with_task_and_line(plants: Desk) -> None:
    """Exit 0, and 1 with --strict; only the flawed task is named."""
    plants.file("tasks.yaml", tasks(BAD))
    done = plants.run("suite", "check", "tasks.yaml")
    assert done.code == 0
    assert "tasks.yaml:10:" in done.out
    assert "weak: " in done.out
    assert "cedar" not in done.out
    assert plants.run("suite", "check", "tasks.yaml", "--strict").code == 1


def test_check_as_json(plants: Desk) -> None:
    """Findings and advice apart, each with rule, task, place and reason."""
    plants.file("tasks.yaml", tasks(BAD))
    document = plants.run("suite", "check", "tasks.yaml", "--json").json
    assert (document["schema"], document["ok"], document["cases"]) == (
        "honestone.findings/1",
        False,
        7,
    )
    (finding,) = document["findings"]
    assert (finding["rule"], finding["case"]) == ("common-words", "weak")
    assert finding["place"].startswith("tasks.yaml:10:")
    assert finding["why"]


def test_a_broken_suite_and_one_with_losses_exit_2(plants: Desk) -> None:
    """With file and line; nothing on stdout."""
    plants.file(
        "tasks.yaml", tasks("{id: amber, prompt: x, judge: {type: contains, expected: [y]}}")
    )
    broken = plants.run("suite", "check", "tasks.yaml")
    assert broken.is_refusal
    assert "tasks.yaml:10:" in broken.err
    assert plants.run("suite", "check", "gone.yaml").is_refusal
    plants.file("shop.yaml", "shopping: [milk]\n")
    assert "shop.yaml:1" in plants.run("suite", "check", "shop.yaml").err


def test_the_skill_is_looked_at_apart(plants: Desk) -> None:
    """Its structure is advice: told with its line, and never a reason to exit 1."""
    plants.file("plants/SKILL.md", SKILL + "- see [the list](references/gone.md)\n")
    done = plants.run("suite", "check", "tasks.yaml", "--skill", "plants", "--strict", "--json")
    assert done.code == 0
    (remark,) = done.json["structure"]
    assert remark["rule"] == "broken-link"
    assert remark["place"].endswith(f"SKILL.md:{len(SKILL.splitlines()) + 1}:1")
    text = plants.run("suite", "check", "tasks.yaml", "--skill", "plants").out
    assert "structure: the skill has no file `references/gone.md`" in text


@pytest.mark.slow
def test_runs_on_record_show_tasks_without_signal(plants: Desk) -> None:
    """Birch is passed without the skill, elder by nobody; a changed task is not blamed for its
    past.
    """
    target = agent(plants)
    ran = plants.run(
        "eval",
        "tasks.yaml",
        "--artifact",
        "plants",
        "--baseline",
        "without",
        "--target",
        target,
        "--json",
    )
    assert ran.code == 0, ran.err
    found = plants.run("suite", "check", "tasks.yaml", "--json").json["findings"]
    assert {(one["rule"], one["case"]) for one in found} == {
        ("no-signal", "birch"),
        ("never-passed", "elder"),
    }
    plants.file("report.json", ran.out)
    named = plants.run("suite", "check", "tasks.yaml", "--with-run", "report.json", "--json").json[
        "findings"
    ]
    assert {(one["rule"], one["case"]) for one in named} == {
        ("no-signal", "birch"),
        ("never-passed", "elder"),
    }
    plants.file("tasks.yaml", tasks().replace("ans-elder", "ans-alder"))
    left = plants.run("suite", "check", "tasks.yaml", "--json").json["findings"]
    assert [one["case"] for one in left] == ["birch"]


def test_run_tries_the_tasks_without_any_skill(plants: Desk) -> None:
    """`--run` finds the task that needs no skill; nobody is asked without it."""
    target = agent(plants)
    done = plants.run("suite", "check", "tasks.yaml", "--run", "--target", target, "--json")
    assert done.code == 0, done.err
    assert ("no-signal", "birch") in {(one["rule"], one["case"]) for one in done.json["findings"]}
    assert plants.run("suite", "check", "tasks.yaml", "--target", target).is_refusal
    assert plants.run("suite", "check", "tasks.yaml", "--with-run", "nothing").is_refusal


# ------------------------------------------------------------------------------------------------
# new


def test_new_drafts_a_suite_that_check_accepts(plants: Desk) -> None:
    """Each rule a task for code, what it is not for as well, and what to look at on top."""
    done = plants.run("suite", "new", "--from", "plants", "--output", "new.yaml")
    assert done.code == 0, done.err
    text = (plants.folder / "new.yaml").read_text()
    assert text.startswith("# A draft from the skill `plants`")
    assert "ans-fern" in text
    assert "not-for-answer-about-animals" in text
    assert plants.run("suite", "check", "new.yaml", "--strict").code == 0
    assert "suite check new.yaml --skill plants" in done.out


def test_new_never_writes_over_a_file(plants: Desk) -> None:
    """Unless it is told to."""
    refused = plants.run("suite", "new", "--from", "plants", "--output", "tasks.yaml")
    assert refused.is_refusal
    assert (plants.folder / "tasks.yaml").read_text() == tasks()
    assert (
        plants.run("suite", "new", "--from", "plants", "--output", "tasks.yaml", "--force").code
        == 0
    )
    assert plants.run("suite", "new").code == 2
    assert plants.run("suite", "new", "--from", "gone").is_refusal


def test_new_in_our_own_format_and_as_json(plants: Desk) -> None:
    """The file on stdout, or what was drafted as JSON."""
    done = plants.run("suite", "new", "--from", "plants/SKILL.md", "--format", "honestone")
    plants.file("own.yaml", done.out)
    assert plants.run("suite", "check", "own.yaml", "--strict").code == 0
    document = plants.run("suite", "new", "--from", "plants", "--tasks", "5", "--json").json
    assert len(document["tasks"]) == 5
    assert all(task["judged_by_code"] for task in document["tasks"])


MODEL = """\
import json, sys
prompt = sys.stdin.read()
open({log!r}, "a").write("x")
tasks = [{{"id": f"made {{n}}", "prompt": f"Sort pot {{n}}", "expected": [f"pot-{{n}}-ok"]}} for n in range(5)]
{body}
print("Here you are: " + json.dumps({{"tasks": tasks}}))
"""


def model(desk: Desk, body: str = "") -> str:
    desk.file("model.py", MODEL.format(log=str(desk.logs / "asked"), body=body))
    return f"cmd:{PYTHON} {desk.folder / 'model.py'}"


def asked(desk: Desk) -> int:
    log = desk.logs / "asked"
    return len(log.read_text()) if log.exists() else 0


def test_a_model_may_draft_and_is_asked_once(plants: Desk) -> None:
    """Its tasks are used; the same command again asks nobody."""
    words = ("suite", "new", "--from", "plants", "--judge", model(plants), "--json")
    first = plants.run(*words)
    assert [task["id"] for task in first.json["tasks"]] == [f"made-{n}" for n in range(5)], (
        first.err
    )
    assert plants.run(*words).json == first.json
    assert asked(plants) == 1


@pytest.mark.parametrize(
    "body", ["tasks[0]['expected'] = ['the']", "tasks = 'none'", "sys.exit(3)"]
)
def test_what_a_model_drafts_badly_falls_back(plants: Desk, body: str) -> None:
    """Asked once more with what was wrong, then the skill's own words; the reason is told."""
    done = plants.run("suite", "new", "--from", "plants", "--judge", model(plants, body), "--json")
    assert done.code == 0, done.err
    assert "amber" in [task["id"] for task in done.json["tasks"]]
    assert any("could not be used" in note for note in done.json["notes"])


def test_new_from_transcripts(plants: Desk) -> None:
    """Sessions become cases with splits; the file reads back."""
    for n in range(6):
        rows = [
            {
                "type": "user",
                "message": {"role": "user", "content": f"Explain plant number {n} to me"},
            },
            {
                "type": "assistant",
                "message": {
                    "role": "assistant",
                    "content": f"Plant {n} is a tree that grows slowly in the dark woods of the north.",
                },
            },
        ]
        plants.file(f"logs/s{n}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = plants.run(
        "suite", "new", "--from-transcripts", "logs", "--output", "own.yaml", "--json"
    )
    assert done.code == 0, done.err
    assert len(done.json["tasks"]) == 6
    assert (plants.folder / "own.yaml").read_text().count("split: ") == 6
    assert plants.run("suite", "check", "own.yaml").code == 0
    assert plants.run(
        "suite", "new", "--from-transcripts", "logs", "--format", "task-suite"
    ).is_refusal
    assert plants.run("suite", "new", "--from-transcripts", "plants").is_refusal


# ------------------------------------------------------------------------------------------------
# convert


def plain(desk: Desk, name: str) -> list[dict[str, object]]:
    """What a suite asks, in whatever format it is written."""
    from honestone.core.judging.rubric import to_plain
    from honestone.interop.recognise import read_any_suite

    cases = read_any_suite(desk.folder / name).suite.cases
    return [{"id": case.id, "input": case.input, "rubric": to_plain(case.rubric)} for case in cases]


def test_convert_keeps_every_case(plants: Desk) -> None:
    """A task suite to ours and back says the same; stdout is the file, notes are apart."""
    done = plants.run("suite", "convert", "tasks.yaml")
    assert done.code == 0, done.err
    assert done.out.startswith("suite: 1\n")
    assert "note: read as task-suite-1.0" in done.err
    plants.file("own.yaml", done.out)
    assert plain(plants, "own.yaml") == plain(plants, "tasks.yaml")
    back = plants.run("suite", "convert", "own.yaml", "--to", "task-suite", "--output", "back.yaml")
    assert back.code == 0, back.err
    assert plain(plants, "back.yaml") == plain(plants, "tasks.yaml")


def test_what_a_format_cannot_say_is_refused_unless_accepted(plants: Desk) -> None:
    """Nothing is written; with --accept-loss the rest is, and each loss is a note."""
    plants.file(
        "own.yaml",
        "suite: 1\ncases:\n  - {id: a, input: Say it, reference: So, rubric: [{id: r, requirement: It is so, weight: 1}]}\n",
    )
    refused = plants.run(
        "suite", "convert", "own.yaml", "--to", "task-suite", "--output", "out.yaml"
    )
    assert refused.is_refusal
    assert "the reference" in refused.err
    assert not (plants.folder / "out.yaml").exists()
    done = plants.run(
        "suite",
        "convert",
        "own.yaml",
        "--to",
        "task-suite",
        "--output",
        "out.yaml",
        "--accept-loss",
    )
    assert done.code == 0
    assert "lost: " in done.err
    assert plain(plants, "out.yaml")[0]["id"] == "a"


@pytest.mark.parametrize("form", ["agentv", "agentv-5", "agentv-4", "agentv-2"])
def test_convert_to_every_dialect(plants: Desk, form: str) -> None:
    """With losses accepted, each dialect's file is read again with the same cases."""
    done = plants.run(
        "suite",
        "convert",
        "tasks.yaml",
        "--to",
        form,
        "--output",
        "out.yaml",
        "--accept-loss",
        "--quiet",
    )
    assert (done.code, done.err) == (0, "")
    assert [case["id"] for case in plain(plants, "out.yaml")] == list(TOPICS)


def test_convert_to_another_folder_says_what_it_copies(plants: Desk) -> None:
    """A workspace next to the suite goes along, and the new suite loads; in the same folder nothing
    is copied.
    """
    plants.file(
        "own.yaml",
        "suite: 1\ncases:\n  - {id: a, input: x, workspace: {copy: plants}, checks: [{contains: y}]}\n",
    )
    moved = plants.run("suite", "convert", "own.yaml", "--output", "other/own.yaml")
    assert moved.code == 0, moved.err
    assert "will be copied" in moved.err
    assert plants.run("suite", "check", "other/own.yaml").code == 0
    here = plants.run("suite", "convert", "own.yaml", "--output", "again.yaml")
    assert "copied" not in here.err


def test_rubric_convert_there_and_back(desk: Desk) -> None:
    """autorubric takes yes/no criteria without bars; ours reads them back as they were."""
    desk.rubric(
        """\
        rubric: 1
        floor: 0
        criteria:
          - {id: cause, requirement: Names the cause, weight: 3}
          - {id: fix, requirement: Names the fix, weight: 1}
        """
    )
    done = desk.run(
        "rubric", "convert", "rubric.yaml", "--to", "autorubric", "--output", "auto.yaml"
    )
    assert done.code == 0, done.err
    back = desk.run("rubric", "convert", "auto.yaml", "--output", "back.yaml")
    assert back.code == 0, back.err
    assert "read as autorubric" in back.err
    assert (desk.folder / "back.yaml").read_text().startswith("rubric: 1\n")
    shown = desk.run("rubric", "show", "back.yaml", "--json").json
    asked = [(one["items"][0]["requirement"], one["weight"]) for one in shown["criteria"]]
    assert asked == [("Names the cause", "3"), ("Names the fix", "1")]


def test_rubric_convert_refuses_what_is_lost(ready: Desk) -> None:
    """A threshold and a checklist have no place in autorubric."""
    refused = ready.run("rubric", "convert", "rubric.yaml", "--to", "autorubric")
    assert refused.is_refusal
    assert "threshold 80" in refused.err
    done = ready.run("rubric", "convert", "rubric.yaml", "--to", "autorubric", "--accept-loss")
    assert done.code == 0
    assert "names the pear" in done.out


def test_too_little_left_is_no_file(plants: Desk) -> None:
    """Keywords have no place in HealthBench: nothing is written, whatever is accepted."""
    done = plants.run(
        "suite",
        "convert",
        "tasks.yaml",
        "--to",
        "healthbench",
        "--accept-loss",
        "--output",
        "out.jsonl",
    )
    assert done.is_refusal
    assert not (plants.folder / "out.jsonl").exists()


def test_the_shipped_data_loads_or_is_refused_with_a_place(desk: Desk) -> None:
    """Task suites that others wrote: all of them load."""
    data = Path(__file__).parents[2] / "../shared/data/samples/improvement-evaluator/task_suites"
    if not data.is_dir():
        pytest.skip("the shared data is not here")
    for path in sorted(data.glob("*.yaml"))[:3]:
        done = desk.run("suite", "check", path)
        assert done.code == 0, done.err


LOSSY = """\
# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json
colour: 2
prompts: ['{{q}}']
providers: [echo]
tests: [{vars: {q: hello}, assert: [{type: contains, value: hello, ignoreCase: true}]}]
"""
LOSSY_RUBRIC = """\
guidelines: Be strict
criteria:
  - {name: polite, weight: 1, requirement: Is polite, aggregation: min}
"""


@pytest.mark.parametrize(
    "words",
    [
        ("suite", "check", "c.yaml"),
        ("suite", "convert", "c.yaml"),
        ("eval", "c.yaml"),
        ("rubric", "check", "w.yaml"),
        ("rubric", "convert", "w.yaml"),
        ("eval", "a.md", "--rubric", "w.yaml", "--judge", "mock"),
        ("improve", "a.md", "--rubric", "w.yaml", "--judge", "mock", "--worker", "cmd:true"),
    ],
)
def test_a_loss_has_one_exit_code_everywhere(desk: Desk, words: tuple[str, ...]) -> None:
    """Whatever reads a file with losses exits 2 and names them; with --accept-loss it reads the
    rest and notes them.
    """
    for name, text in (("c.yaml", LOSSY), ("w.yaml", LOSSY_RUBRIC), ("a.md", "hello\n")):
        (desk.folder / name).write_text(text)
    refused = desk.run(*words)
    lost = (
        ("c.yaml:2:1", "`colour`", "`ignoreCase`")
        if "c.yaml" in words
        else ("w.yaml:1", "`guidelines`", "w.yaml:3", "`aggregation: min`")
    )
    assert refused.code == 2 and all(word in refused.err for word in lost), refused.err
    read = desk.run(*words, "--accept-loss")
    assert read.code in (0, 3), read.err  # the verdict: who improves may stay unconfirmed
    assert all(word in read.err + read.out for word in lost)
