"""`stage run`: tries until something is kept, every try from the original bytes, and a kill
anywhere loses nothing.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk, Program, Result
from .skill_desk import Cook, cook, skill, suite
from .stage_desk import problems, skill_worker

TASKS = ("soup", "stew", "pie", "cake")
TEACH = "md.write_text(md.read_text() + '* pie = hot pie\\n')\n"
SPOIL = "md.write_text(md.read_text().replace('* soup = hot soup\\n', f'Ask the cook {n}.\\n'))\n"


class Kitchen:
    """A skill that knows soup and stew, four orders, a cook and a worker."""

    def __init__(
        self, desk: Desk, work: str, *, agent: str = "", dishes: tuple[str, ...] = ("soup", "stew")
    ) -> None:
        self.desk = desk
        skill(desk, "kitchen", dishes)
        suite(desk, TASKS)
        self.cook: Cook = cook(desk, agent)
        self.worker: Program = skill_worker(desk, "chef", work)
        self.original = self.text

    @property
    def text(self) -> str:
        return (self.desk.folder / "kitchen/SKILL.md").read_text()

    @property
    def words(self) -> list[str]:
        """The whole command."""
        return [
            "stage",
            "run",
            "kitchen",
            "--task-suite",
            "orders/task_suite.yaml",
            "--worker",
            self.worker.spec,
            "--target",
            self.cook.spec,
            "--state-root",
            "st",
            "--json",
        ]

    def run(self, *more: str) -> tuple[Result, dict[str, Any]]:
        result = self.desk.run(*self.words, *more)
        return result, json.loads(result.out) if result.out else {}

    def decisions(self, document: dict[str, Any]) -> list[str]:
        return [one["decision"] for one in document["tries"]]

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.desk.folder / "st/running").glob("*"))


def test_an_edit_that_helps_is_kept_at_the_first_try(desk: Desk) -> None:
    """Exit 0; every stage left its file; nothing of an unfinished run is left."""
    bench = Kitchen(desk, TEACH)
    result, document = bench.run()
    (one,) = document["tries"]
    assert (
        result.code == 0
        and document["schema"] == "honestone.pipeline/1"
        and document["decision"] == "keep"
    )
    assert bench.text == bench.original + "* pie = hot pie\n" and len(bench.cook.runs) == 8
    assert (document["baseline_pass_rate"], document["execution_pass_rate"]) == (0.5, 0.75)
    for name, stage in (
        ("candidates", "proposed"),
        ("ranking", "ranked"),
        ("evaluation", "evaluated"),
        ("execution", "executed"),
        ("receipt", "gated"),
    ):
        assert json.loads(Path(one[name]).read_text())["stage"] == stage
    assert bench.left() == [] and json.loads(Path(document["truth_anchor"]).read_text()) == document


@pytest.mark.slow
def test_what_was_kept_can_be_undone(desk: Desk) -> None:
    """By its id and by `last`; once. A skill that was edited since is left alone."""
    bench = Kitchen(desk, TEACH)
    _, document = bench.run()
    kept = bench.text
    shown = desk.run("show", document["run"]).out
    assert "tasks passed: 50.0% → 75.0% (+25.0 points, 95% from " in shown
    assert "+* pie = hot pie" in shown and f"honestone undo {document['run']}" in shown
    (desk.folder / "kitchen/SKILL.md").write_text(kept + "mine\n")
    refused = desk.run("undo", document["run"])
    assert refused.is_refusal and bench.text == kept + "mine\n"
    (desk.folder / "kitchen/SKILL.md").write_text(kept)
    undone = desk.run("undo")
    assert (undone.code, bench.text) == (0, bench.original), undone.err
    assert undone.out.endswith(f"kept: honestone show {document['run']}\n")
    assert "honestone undo" not in desk.run("show", document["run"]).out
    assert f"kitchen is as it was before run {document['run']}" in undone.out
    again = desk.run("undo", document["run"])
    assert again.code == 0 and "undone already" in again.out and bench.text == bench.original


def test_an_earlier_improvement_is_undone_after_the_run_that_changed_its_skill_since(
    desk: Desk,
) -> None:
    bench = Kitchen(desk, TEACH)
    desk.rubric("threshold: 100\ncriteria: [{id: a, check: {contains: Serve warm}}]\n")
    worker = "cmd:sh -c 'echo Serve warm. >> \"$HONESTONE_ARTIFACT/SKILL.md\"'"
    improved = desk.run("improve", "kitchen", "-r", "rubric.yaml", "--worker", worker, "--json")
    assert improved.code == 0, improved.err
    _, document = bench.run()
    refused = desk.run("undo", improved.json["run"])
    later = f"a later run changed it: honestone undo {document['run']}"
    assert refused.is_refusal and later in refused.err
    assert desk.run("undo").code == desk.run("undo", improved.json["run"]).code == 0
    assert bench.text == bench.original


def test_the_cost_is_said_before_the_first_call(desk: Desk) -> None:
    """Tasks times attempts times tries and the baseline, and how many proposals."""
    bench = Kitchen(desk, TEACH)
    result, _ = bench.run("--pass-k", "2", "--candidates", "2")
    first = result.err.splitlines()[0]
    assert (
        "up to 4 tasks x 2 attempts x (baseline + 3 tries) = 32 agent runs" in first
        and "6 proposals" in first
    )


@pytest.mark.slow
def test_an_edit_that_harms_is_put_back_every_time_and_its_failures_are_told(desk: Desk) -> None:
    """Exit 1 after three tries; each brief shows all failures so far; the baseline is run once."""
    bench = Kitchen(desk, SPOIL)
    result, document = bench.run()
    assert result.code == 1 and document["decision"] == "revert" and bench.text == bench.original
    assert bench.decisions(document) == ["revert"] * 3 and len(bench.cook.runs) == 4 + 3 * 4
    briefs = bench.worker.lines
    assert [line.count("One soup, please.") for line in briefs[:2]] == [0, 1] and len(briefs) == 3
    traces = [json.loads(Path(one["traces"]).read_text()) for one in document["tries"]]
    assert all(problems("traces", trace) == [] for trace in traces)
    assert [trace["failed_tasks"][0]["task_id"] for trace in traces] == ["soup"] * 3
    assert traces[0]["failed_tasks"][0]["passed_before"] is True
    for trace in traces[:2]:
        assert trace["candidate_id"] in briefs[2]


@pytest.mark.slow
def test_every_try_starts_from_the_original(desk: Desk) -> None:
    """Harm first, then help: what is kept holds nothing of the first try."""
    bench = Kitchen(desk, f"if n == 0:\n    {SPOIL}else:\n    {TEACH}")
    result, document = bench.run()
    assert result.code == 0 and bench.decisions(document) == ["revert", "keep"]
    assert bench.text == bench.original + "* pie = hot pie\n"


def test_retries_bounds_the_tries(desk: Desk) -> None:
    """`--retries 1` tries once."""
    bench = Kitchen(desk, SPOIL)
    _, document = bench.run("--retries", "1")
    assert len(document["tries"]) == 1 and bench.worker.calls == 1


@pytest.mark.slow
def test_of_two_candidates_the_second_is_tried_when_the_first_is_put_back(desk: Desk) -> None:
    """Proposals that are paid for are used before new ones are asked for."""
    bench = Kitchen(desk, f"if n == 0:\n    {SPOIL}else:\n    {TEACH}")
    result, document = bench.run("--candidates", "2")
    assert (
        result.code == 0
        and bench.decisions(document) == ["revert", "keep"]
        and bench.worker.calls == 2
    )


def test_a_worker_that_changes_nothing_costs_no_agent_run(desk: Desk) -> None:
    """Reject, exit 1, with what the worker did as the reason."""
    bench = Kitchen(desk, "print('much better now')\n")
    result, document = bench.run()
    assert (
        result.code == 1 and document["decision"] == "reject" and "unchanged" in document["reason"]
    )
    assert bench.cook.runs == [] and document["candidate_id"] is None


def test_code_that_does_not_compile_is_put_back_before_any_agent_runs(desk: Desk) -> None:
    """The gate's compile layer needs no agent."""
    bench = Kitchen(desk, TEACH + "(root / 'tool.py').write_text('def (:')\n")
    result, document = bench.run("--retries", "1")
    receipt = json.loads(Path(document["tries"][0]["receipt"]).read_text())
    assert (
        result.code == 1
        and receipt["gate_layers"]["failed_at"] == "compile"
        and bench.cook.runs == []
    )
    assert bench.text == bench.original and not (desk.folder / "kitchen/tool.py").exists()


def test_a_risky_edit_waits_for_a_person(desk: Desk) -> None:
    """Exit 3, the skill as it was; `promote` applies it."""
    bench = Kitchen(
        desk, TEACH + "md.write_text(md.read_text().replace('Takes orders', 'Takes all orders'))\n"
    )
    result, document = bench.run()
    assert (
        result.code == 3
        and document["decision"] == "pending_promote"
        and bench.text == bench.original
    )
    assert desk.run("stage", "promote", document["candidate_id"], "--state-root", "st").code == 0
    assert "Takes all orders" in bench.text


def test_a_panel_that_is_against_it_ends_in_reject_without_an_agent_run(desk: Desk) -> None:
    """The ranking's reasons are told to the next proposal."""
    bench = Kitchen(desk, f"md.write_text(md.read_text() + f'{{n}}\\n')\n{TEACH}")
    judge = desk.judge(
        "critic",
        "print(json.dumps({'criteria': {c['id']: {'items': "
        "{i['id']: {'met': False, 'suggestion': 'TOOVAGUE'} for i in c['items']}} "
        "for c in request['criteria']}}))",
    )
    result, document = bench.run("--judge", judge.spec)
    assert result.code == 1 and document["decision"] == "reject" and bench.cook.runs == []
    assert len(document["tries"]) == 3 and "TOOVAGUE" in bench.worker.lines[1]


def test_a_dead_panel_is_an_error_and_no_try(desk: Desk) -> None:
    """Nothing was judged: exit 3, no tries counted, no agent run."""
    bench = Kitchen(desk, TEACH)
    judge = desk.judge("dead", "sys.exit('401')")
    result, document = bench.run("--judge", judge.spec)
    assert result.code == 3 and document["decision"] == "error" and document["tries"] == []
    assert bench.cook.runs == [] and bench.text == bench.original
    judge.path.write_text(judge.path.read_text().replace("sys.exit('401')", YES))
    again, document = bench.run("--judge", judge.spec)
    assert again.code == 0 and document["decision"] == "keep"


YES = (
    "print(json.dumps({'criteria': {c['id']: {'items': {i['id']: {'met': True} for i in c['items']}} "
    "for c in request['criteria']}}))"
)


def test_a_worker_that_changes_the_panel_is_found_out(desk: Desk) -> None:
    """Its edit is not tried: exit 3, the judge's program is named, the skill is as it was."""
    judge = desk.judge(
        "critic",
        "print(json.dumps({'criteria': {c['id']: {'items': {}} for c in request['criteria']}}))",
    )
    bench = Kitchen(desk, f"{TEACH}open({str(judge.path)!r}, 'a').write({YES!r})\n")
    result, _ = bench.run("--judge", judge.spec)
    assert (
        result.code == 3
        and judge.path.name in result.err
        and "changed during the run" in result.err
    )
    assert bench.cook.runs == [] and bench.text == bench.original


@pytest.mark.slow
def test_an_agent_that_is_down_is_an_error_and_no_try(desk: Desk) -> None:
    """Exit 3, the skill untouched; the same command later goes on to keep."""
    bench = Kitchen(
        desk,
        TEACH,
        agent="if os.path.exists(os.path.dirname(LOG) + '/down'): sys.exit('overloaded')\n",
    )
    (desk.logs / "down").touch()
    result, document = bench.run()
    assert result.code == 3 and document["decision"] == "error" and document["tries"] == []
    assert bench.text == bench.original
    (desk.logs / "down").unlink()
    assert bench.run()[1]["decision"] == "keep" and bench.worker.calls == 1 and bench.left() == []


def test_a_suite_that_shows_nothing_is_an_error(desk: Desk) -> None:
    """A baseline under 20%: exit 3, the candidate is not run."""
    bench = Kitchen(desk, TEACH, dishes=())
    result, document = bench.run()
    assert result.code == 3 and document["decision"] == "error" and len(bench.cook.runs) == 4


def test_mock_runs_nobody_and_keeps_nothing(desk: Desk) -> None:
    """Wired through to the gate, which parks it."""
    bench = Kitchen(desk, TEACH)
    result, document = bench.run("--mock")
    assert (
        result.code == 3 and document["decision"] == "pending_promote" and document["mock"] is True
    )
    assert bench.cook.runs == [] and bench.text == bench.original


@pytest.mark.slow
def test_tasks_of_the_test_split_are_never_told(desk: Desk) -> None:
    """Not in a brief, not in a traces file."""
    bench = Kitchen(desk, SPOIL)
    cases = [
        {
            "id": dish,
            "input": f"One {dish}, please.",
            "checks": [{"contains": [f"hot {dish}"]}],
            "split": split,
        }
        for dish, split in (("soup", "train"), ("stew", "train"), ("pie", "test"), ("cake", "test"))
    ]
    desk.file("orders/task_suite.yaml", json.dumps({"suite": 1, "cases": cases}))
    _, document = bench.run()
    told = "".join(bench.worker.lines) + "".join(
        Path(one["traces"]).read_text() for one in document["tries"]
    )
    assert "One soup" in told and "One pie" not in told and "One cake" not in told


@pytest.mark.parametrize(
    "change",
    [
        {"kitchen": "nowhere"},
        {"orders/task_suite.yaml": "none.yaml"},
        {"--worker": "cmd:no-such-program"},
        {"--target": "cmd:no-such-program"},
        {"st": "kitchen/st"},
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(
    desk: Desk, change: dict[str, str]
) -> None:
    """Exit 2 with a hint; neither worker nor agent was called."""
    bench = Kitchen(desk, TEACH)
    words = bench.words
    for old, new in change.items():
        at = words.index(old) + (1 if old.startswith("--") else 0)
        words[at] = new
    result = desk.run(*words)
    assert result.is_refusal and bench.worker.calls == 0 and bench.cook.runs == []


def test_a_judge_that_cannot_be_is_refused_before_anything_is_spent(desk: Desk) -> None:
    """Also where no task needs a judge."""
    bench = Kitchen(desk, TEACH)
    result, _ = bench.run("--judge", "cmd:no-such-program")
    assert result.is_refusal and bench.worker.calls == 0


@pytest.mark.slow
def test_two_runs_on_one_skill_the_second_is_refused(desk: Desk) -> None:
    """Wherever it keeps its files; `apply`'s own gate is refused meanwhile too; the first goes on."""
    go = desk.logs / "go"
    wait = f"import time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\n"
    bench = Kitchen(desk, wait + TEACH)
    first = desk.start(*bench.words)
    until = time.monotonic() + 300
    while not bench.worker.calls and time.monotonic() < until:
        time.sleep(0.05)
    words = [*bench.words]
    words[words.index("st")] = "other"
    second = desk.run(*words)
    go.touch()
    out, _ = first.communicate(timeout=300)
    assert second.is_refusal and "another process" in second.err and bench.worker.calls == 1
    assert first.returncode == 0 and json.loads(out)["decision"] == "keep"


# -------------------------------------------------------------------------------------------------------------
# killed

DRIVER = """\
import os, signal, sys
from honestone.cli.main import main
at, left, rename = sys.argv[1], 0, os.replace
def replace(*args, **more):
    global left
    left += 1
    place = os.readlink(f"/proc/self/fd/{more['dst_dir_fd']}") if "dst_dir_fd" in more else ""
    if str(left) == at or (args[1] == at and place.endswith("/work/kitchen")):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(*args, **more)
os.replace = replace
main(sys.argv[2:])
"""


def killed_at(bench: Kitchen, at: int | str, *more: str) -> int:
    """The command, killed when it is about to put its `at`-th file in place, or the file of that
    name in the skill.
    """
    driver = bench.desk.file("tools/driver.py", DRIVER)
    return subprocess.run(
        [sys.executable, str(driver), str(at), *bench.words, *more],
        cwd=bench.desk.folder,
        env=bench.desk.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    ).returncode


TWO_FILES = TEACH + "(root / 'more.md').write_text('* cake = hot cake\\n')\n"


@pytest.mark.slow
def test_an_edit_after_a_kill_is_not_overwritten(desk: Desk) -> None:
    """Exit 2 with the way out; `--fresh` starts from the skill as it is now."""
    bench = Kitchen(desk, TEACH)
    assert killed_at(bench, 5) == -signal.SIGKILL
    (desk.folder / "kitchen/SKILL.md").write_text(bench.original + "mine\n")
    refused, _ = bench.run()
    assert (
        refused.is_refusal and "--fresh" in refused.err and bench.text == bench.original + "mine\n"
    )
    _, document = bench.run("--fresh")
    assert (
        document["decision"] == "keep" and bench.text == bench.original + "mine\n* pie = hot pie\n"
    )


@pytest.mark.slow
def test_other_stages_do_not_take_half_an_edit_for_the_skill(desk: Desk) -> None:
    """Killed while an edit of two files is put in place: `evaluate` and `propose` say so, and the
    same `stage run` ends it well. (tests/engine/test_kill_stages.py kills at every write.)
    """
    bench = Kitchen(desk, TWO_FILES)
    assert killed_at(bench, "more.md") == -signal.SIGKILL
    assert "hot pie" in bench.text and not (desk.folder / "kitchen/more.md").exists()
    calls = bench.worker.calls
    alone = desk.run(
        "stage",
        "evaluate",
        "--standalone",
        "--skill-path",
        "kitchen",
        "--task-suite",
        "orders/task_suite.yaml",
        "--target",
        bench.cook.spec,
        "--state-root",
        "st",
    )
    again = desk.run(
        "stage", "propose", "kitchen", "--worker", bench.worker.spec, "--state-root", "st"
    )
    for result in (alone, again):
        assert result.is_refusal and "not finished" in result.err, result.err
    assert bench.worker.calls == calls
    assert (
        bench.run()[1]["decision"] == "keep" and bench.text == bench.original + "* pie = hot pie\n"
    )


@pytest.mark.parametrize(
    ("work", "more"),
    [
        (TEACH, ()),
        (SPOIL, ("--retries", "2")),
        ("raise SystemExit(3)", ()),
        (TEACH + "md.write_text(md.read_text().replace('Takes orders', 'Takes all orders'))\n", ()),
    ],
    ids=["keep", "revert", "no candidate", "pending"],
)
def test_every_file_that_a_run_leaves_fits_its_published_schema(
    desk: Desk, work: str, more: tuple[str, ...]
) -> None:
    """The pipeline's document, each stage's artifact, traces, what waits, promotions and the
    memory.
    """
    bench = Kitchen(desk, work)
    _, document = bench.run(*more)
    if document["decision"] == "pending_promote":
        desk.run("stage", "promote", document["candidate_id"], "--state-root", "st")
    desk.run("stage", "learn", "--state-root", "st")
    root = desk.folder / "st"
    kinds = {
        "proposed": "candidates",
        "ranked": "ranking",
        "evaluated": "evaluation",
        "executed": "execution",
        "gated": "receipt",
        "promoted": "promotion",
    }
    seen = []
    for path in sorted(root.rglob("*.json")):
        found = json.loads(path.read_text())
        kind = (
            "memory"
            if path.name == "memory.json"
            else "pending_promote"
            if path.name == "pending_promote.json"
            else (
                "pipeline"
                if path.parent.name == "pipelines"
                else "traces"
                if path.parent.name == "traces"
                else None
            )
        )
        if kind is None and isinstance(found, dict):
            kind = kinds.get(str(found.get("stage")))
        if kind is not None:
            seen.append(kind)
            assert problems(kind, found) == [], path
    assert "pipeline" in seen and "candidates" in seen
    if document["decision"] == "pending_promote":
        assert {"promotion", "pending_promote", "memory"} <= set(seen)


def test_a_worker_that_cannot_work_is_an_error_and_no_try(desk: Desk) -> None:
    """Nothing was proposed because nothing ran: exit 3; when it works again the same command ends
    well.
    """
    bench = Kitchen(desk, f"if n == 0:\n    raise SystemExit('not logged in')\n{TEACH}")
    result, document = bench.run()
    assert (result.code, document["decision"], document["tries"]) == (3, "error", [])
    assert "crashed" in document["reason"] and bench.worker.calls == 1 and bench.cook.runs == []
    result, document = bench.run()
    assert result.code == 0 and document["decision"] == "keep" and bench.left() == []


def test_the_words_that_approve_can_be_typed_as_they_stand(desk: Desk) -> None:
    """The state root that was named is named again."""
    bench = Kitchen(
        desk, TEACH + "md.write_text(md.read_text().replace('Takes orders', 'Takes all orders'))\n"
    )
    words = [word for word in bench.words if word != "--json"]
    result = desk.run(*words)
    (told,) = [
        line for line in result.out.splitlines() if line.startswith("approve it with: honestone ")
    ]
    assert desk.run(*shlex.split(told.removeprefix("approve it with: honestone "))).code == 0
    assert "Takes all orders" in bench.text


def test_the_worker_is_shown_what_failed_in_the_last_run_of_eval(desk: Desk) -> None:
    """Also where no stage has evaluated the skill: `eval` of the same suite with the skill as it is
    counts, one with another version does not.
    """
    kitchen = Kitchen(desk, TEACH)
    evaluated = desk.run(
        "eval", "orders/task_suite.yaml", "--artifact", "kitchen", "--target", kitchen.cook.spec
    )
    assert evaluated.code == 1, evaluated.err
    result, document = kitchen.run("--retries", "1")
    assert "shown no failed tasks" not in result.err
    shown = eval(kitchen.worker.lines[0])
    assert "- pie" in shown and "- cake" in shown
    assert "- stew" not in shown
    assert document["decision"]
    changed = desk.folder / "kitchen/SKILL.md"
    changed.write_text(changed.read_text() + "Be quick.\n")
    again, _ = kitchen.run("--retries", "1")
    assert "runs of it in the store: the worker is shown no failed tasks" in again.err
