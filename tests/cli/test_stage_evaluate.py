"""`stage evaluate`: a candidate's own edit on real tasks, and baselines that are remembered in
files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.app.stages.apply import announce, back_up, only_one
from honestone.app.suites.comparing.baseline import BaselineFiles, KnownBaseline
from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError
from honestone.core.skill.evaluation import TaskResult

from .desk import Desk, Result
from .skill_desk import DISHES, Cook, artifact, cook, passed, skill, suite, summary, wants
from .stage_desk import files_in, skill_in

TWO = DISHES[:2]


def teaches(*dishes: str) -> dict[str, Any]:
    """A plan that adds a section; its lines become list items, which the cook reads as lessons."""
    lines = [f"* {dish} = hot {dish}" for dish in dishes]
    return {
        "action": "append_markdown_section",
        "section_heading": "## More",
        "content_lines": lines,
    }


def ranking(desk: Desk, plan: dict[str, Any] | None = None, **candidate: Any) -> Path:
    """What a discriminator hands over: a decoy that would pass nothing more, and `c1`."""
    one = {
        "id": "c1",
        "title": "more dishes",
        "target_path": "kitchen/SKILL.md",
        "category": "docs",
        "rationale": "",
        "risk_level": "low",
        "proposed_change_summary": "",
        "source_refs": [],
        "executor_support": True,
        "score": 7.5,
        "blockers": [],
        "recommendation": "accept_for_execution",
        "execution_plan": plan or teaches("pie", "cake"),
        **candidate,
    }
    decoy = {
        **one,
        "id": "c0",
        "score": 9,
        "execution_plan": teaches("lasagne"),
        "target_path": "kitchen/SKILL.md",
    }
    document = {
        "schema_version": "1.0",
        "lane": "generic-skill",
        "run_id": "run-1",
        "stage": "ranked",
        "status": "success",
        "created_at": "2026-11-20T20:19:20Z",
        "target": {"path": "kitchen"},
        "scored_candidates": [decoy, one],
    }
    return desk.file("ranking.json", json.dumps(document))


def stage(desk: Desk, target: Cook | None, *more: str | Path, candidate: str = "c1") -> Result:
    """What is in `more` goes before the same option here."""
    usual = {
        "--input": "ranking.json",
        "--candidate-id": candidate,
        "--task-suite": "orders/task_suite.yaml",
        "--state-root": "state",
        **({} if target is None else {"--target": target.spec}),
    }
    words = [
        word for option, value in usual.items() if option not in more for word in (option, value)
    ]
    return desk.run("stage", "evaluate", *words, *more)


@pytest.fixture
def kitchen(desk: Desk) -> Desk:
    """Five orders, a skill for two of them, and a ranking whose `c1` adds two more."""
    suite(desk)
    skill(desk, "kitchen", TWO)
    ranking(desk)
    return desk


# -------------------------------------------------------------------------------------------------------
# the candidate


def test_the_candidates_own_edit_is_what_runs(kitchen: Desk) -> None:
    """Both sides have a skill and only the edit differs; the skill on disk is not touched."""
    before = (kitchen.folder / "kitchen/SKILL.md").read_bytes()
    agent = cook(kitchen)
    result = stage(kitchen, agent)
    told = summary(result)
    assert (result.code, told["verdict"]) == (0, "pass")
    assert (told["execution_pass_rate"], told["baseline_pass_rate"], told["delta"]) == (
        0.8,
        0.4,
        0.4,
    )
    assert set(told) == {
        "execution_pass_rate",
        "baseline_pass_rate",
        "delta",
        "verdict",
        "truth_anchor",
    }
    assert [("pie" in one["lessons"], one["given"] is None) for one in agent.runs].count(
        (True, False)
    ) == 5
    assert len(agent.runs) == 10
    assert (kitchen.folder / "kitchen/SKILL.md").read_bytes() == before
    assert [path.name for path in (kitchen.folder / "kitchen").iterdir()] == ["SKILL.md"]


def test_the_artifact_says_where_it_comes_from_and_can_be_checked(kitchen: Desk) -> None:
    """Head, links back, the figures twice, the digest of what ran, the runs; valid by the published
    schema.
    """
    result = stage(kitchen, cook(kitchen), "--output", "out/e.json", "--pass-k", "2")
    found = artifact(result)
    assert found["truth_anchor"] == str(kitchen.folder / "out/e.json")
    links = (
        "schema_version",
        "lane",
        "run_id",
        "stage",
        "candidate_id",
        "candidate_score",
        "task_suite_skill_id",
        "pass_k",
    )
    assert [found[name] for name in links] == [
        "1.0",
        "generic-skill",
        "run-1",
        "evaluated",
        "c1",
        7.5,
        "kitchen",
        2,
    ]
    assert (found["source_ranking_artifact"], found["task_suite"]) == (
        "ranking.json",
        "orders/task_suite.yaml",
    )
    for name in ("execution_pass_rate", "baseline_pass_rate", "delta", "verdict"):
        assert found["evaluation"][name] == found[name]
    assert found["interval"] == found["evaluation"]["interval"] and found["reason"] is None
    assert found["mock"] is False and found["candidate_digest"].startswith("sha256:")
    for name in ("execution_pass_rate", "baseline_pass_rate"):
        rows = found["candidate_results" if name.startswith("exec") else "baseline_results"]
        assert found[name] == sum(one["passed"] for one in rows) / len(rows)
    assert found["usage"]["target_calls"] == (4 + 2) + (2 + 3 * 2)
    for side in ("candidate", "baseline"):
        report = kitchen.run("show", found["runs"][side], "--json").json
        assert {case["id"]: case["status"] == "passed" for case in report["cases"]} == passed(
            found, f"{side}_results"
        )
    valid(found)


def valid(found: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is one of the tools of `make setup`"
    )
    schemas = pytest.importorskip(
        "honestone.formats.stage_schema", reason="no schemas of stages here"
    )
    jsonschema.validate(found, schemas.stage_schema("evaluation"))


def test_json_is_the_whole_artifact_on_the_last_line(kitchen: Desk) -> None:
    """One object on one line, equal to the file."""
    result = stage(kitchen, cook(kitchen), "--json")
    assert summary(result) == artifact(result)


@pytest.mark.slow
def test_a_second_run_never_overwrites_the_first(kitchen: Desk) -> None:
    """Without --output each run has a file of its own below the state root."""
    places = [summary(stage(kitchen, cook(kitchen)))["truth_anchor"] for _ in range(2)]
    assert len(set(places)) == 2
    assert {Path(place).parent for place in places} == {kitchen.folder / "state/evaluations"}
    assert all(json.loads(Path(place).read_text())["truth_anchor"] == place for place in places)


def test_a_worse_edit_fails_and_names_what_it_lost(kitchen: Desk) -> None:
    """Exit 1 with the reason in the summary."""
    ranking(
        kitchen,
        {
            "action": "replace_markdown_section",
            "section_heading": "## Dishes",
            "content_lines": ["Guess."],
        },
    )
    result = stage(kitchen, cook(kitchen))
    assert (result.code, summary(result)["verdict"]) == (1, "fail")
    assert "fell from 0.4 to 0" in summary(result)["reason"]
    assert artifact(result)["regressions"] == list(TWO)


def test_a_broken_suite_never_runs_the_candidate(kitchen: Desk) -> None:
    """Baseline under 20%: verdict error, exit 3, figures as far as there are any."""
    skill(kitchen, "kitchen", ["lasagne"])
    agent = cook(kitchen)
    result = stage(kitchen, agent)
    found = artifact(result)
    assert (result.code, found["verdict"], found["status"], len(agent.runs)) == (
        3,
        "error",
        "error",
        5,
    )
    assert (
        "< 0.2" in found["reason"] and found["evaluation"]["baseline_health"]["status"] == "warning"
    )
    assert (found["execution_pass_rate"], found["baseline_pass_rate"], found["delta"]) == (
        None,
        0,
        None,
    )
    assert found["candidate_results"] == []
    valid(found)


@pytest.mark.parametrize(
    ("score", "threshold", "wanted"),
    [(6, None, "pass"), (5.999, None, "skipped"), (2.5, "2.5", "pass"), (None, "0", "skipped")],
)
def test_a_low_score_is_skipped_without_a_run(
    kitchen: Desk, score: float | None, threshold: str | None, wanted: str
) -> None:
    """The score itself is enough; no score is no reason to run it, and never 0."""
    ranking(kitchen, score=score)
    agent = cook(kitchen)
    result = stage(kitchen, agent, *([] if threshold is None else ["--eval-threshold", threshold]))
    found = artifact(result)
    assert (result.code, found["verdict"]) == (
        (3, "skipped") if wanted == "skipped" else (0, "pass")
    )
    assert (agent.runs == []) == (wanted == "skipped")
    if wanted == "skipped":
        assert (found["execution_pass_rate"], found["candidate_results"]) == (None, [])
        assert "score" in summary(result)["reason"]
    valid(found)


REFUSED: dict[str, dict[str, Any]] = {
    "for a person": {"execution_plan": {"action": "unsupported_manual_refactor"}},
    "changes nothing": {
        "execution_plan": {
            "action": "update_yaml_frontmatter",
            "frontmatter_updates": {"name": "kitchen"},
        }
    },
    "no such section": {
        "execution_plan": {
            "action": "replace_markdown_section",
            "section_heading": "## Nowhere",
            "content_lines": ["x"],
        }
    },
    "leaves the skill": {"target_path": "kitchen/../orders/task_suite.yaml"},
    "leaves it by its files": {
        "execution_plan": {
            "action": "write_files",
            "files": [{"path": "../x.md", "text": "x"}],
            "delete": [],
        }
    },
    "no plan": {"execution_plan": None},
    "a score that is none": {"score": "high"},
    "a score that is true": {"score": True},
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_plan_that_cannot_run_is_refused_with_its_place(kitchen: Desk, how: str) -> None:
    """Exit 2, the file and line, and nothing is spent or written."""
    ranking(kitchen, **REFUSED[how])
    agent = cook(kitchen)
    result = stage(kitchen, agent)
    assert result.is_refusal, result.err
    assert "ranking.json:" in result.err
    assert agent.runs == [] and not list(kitchen.folder.glob("state/evaluations/*"))


def test_what_is_asked_wrongly_is_refused_before_any_run(kitchen: Desk) -> None:
    """Modes mixed, files that are none, places that cannot be written."""
    kitchen.file("list.json", "[]")
    kitchen.file("half.json", '{"schema_version": "1.0",')
    kitchen.file(
        "other.json", json.dumps({"schema_version": "1.0", "stage": "proposed", "run_id": "x"})
    )
    kitchen.file("folder/file", "")
    kitchen.file("broken/task_suite.yaml", '{"skill_id": "", "version": "1.0", "tasks": []}')
    agent = cook(kitchen)
    wrong: dict[str, Sequence[str]] = {
        "no such candidate": ("--candidate-id", "c9"),
        "a list": ("--input", "list.json"),
        "cut off": ("--input", "half.json"),
        "another stage": ("--input", "other.json"),
        "no file": ("--input", "nowhere.json"),
        "standalone too": ("--standalone", "--skill-path", "kitchen"),
        "a skill too": ("--skill-path", "kitchen"),
        "no attempts": ("--pass-k", "0"),
        "no number": ("--eval-threshold", "nan"),
        "a folder": ("--output", "folder"),
        "below a file": ("--output", "folder/file/e.json"),
        "in the skill": ("--output", "kitchen/e.json"),
        "a cache below a file": ("--baseline-cache-dir", "folder/file"),
        "a suite that is none": ("--task-suite", "broken/task_suite.yaml"),
        "no suite": ("--task-suite", "nowhere.yaml"),
        "no such agent": ("--target", "cmd:./no-such-program"),
        "no such judge": ("--judge", "nobody"),
    }
    suite(kitchen, {"soup": {"type": "llm-rubric", "rubric": "Is warm"}})
    for name, words in wrong.items():
        result = stage(kitchen, agent, "--judge", "mock", *words)
        assert result.code == 2 and "error: " in result.err and "Traceback" not in result.err, name
        assert result.out == "", name
    assert agent.runs == []
    assert (
        "Task suite not found: nowhere.yaml"
        in stage(kitchen, agent, "--task-suite", "nowhere.yaml").err
    )
    assert sorted(path.name for path in (kitchen.folder / "kitchen").iterdir()) == ["SKILL.md"]


@pytest.mark.slow
def test_a_suite_in_the_skill_is_shown_to_nobody(kitchen: Desk) -> None:
    """Not the tasks, not their fixtures, on neither side; the same digest with and without them."""
    first = artifact(stage(kitchen, cook(kitchen)))
    shutil.copy(
        kitchen.folder / "orders/task_suite.yaml", kitchen.folder / "kitchen/task_suite.yaml"
    )
    kitchen.file("kitchen/fixtures/answers.md", "* bread = hot bread\n")
    agent = cook(kitchen, name="second")
    result = stage(kitchen, agent, "--task-suite", "kitchen/task_suite.yaml")
    assert artifact(result)["candidate_digest"] == first["candidate_digest"]
    assert {tuple(one["shelf"]) for one in agent.runs} == {(".agents/skills/kitchen/SKILL.md",)}


def test_a_native_suite_can_be_the_task_suite(kitchen: Desk) -> None:
    """Its cases are the tasks."""
    kitchen.file(
        "orders/suite.yaml",
        'suite: 1\ncases:\n  - {id: a, input: "One pie, please.", checks: [{contains: hot pie}]}\n'
        '  - {id: b, input: "One soup, please.", checks: [{contains: hot soup}]}\n',
    )
    found = artifact(stage(kitchen, cook(kitchen), "--task-suite", "orders/suite.yaml"))
    assert (found["baseline_pass_rate"], found["delta"], found["verdict"]) == (0.5, 0.5, "pass")


@pytest.mark.slow
def test_requiring_an_improvement_refuses_noise(kitchen: Desk) -> None:
    """One task of five more may be chance."""
    ranking(kitchen, teaches("pie"))
    assert stage(kitchen, cook(kitchen)).code == 0
    result = stage(kitchen, cook(kitchen), "--require-improvement")
    assert (result.code, summary(result)["verdict"]) == (1, "fail")
    assert "noise" in summary(result)["reason"]


# ----------------------------------------------------------------------------------------------------------------
# mock


def test_mock_passes_everything_and_says_so(kitchen: Desk) -> None:
    """No agent, no judge, no test is run; the artifact and the notes tell that it proves nothing."""
    suite(
        kitchen,
        {
            "soup": wants("hot soup"),
            "taste": {"type": "llm-rubric", "rubric": "Is warm", "pass_threshold": 0.95},
            "clean": {"type": "not-contains", "expected": ["anything"]},
            "tested": {"type": "pytest", "test_file": "fixtures/test_it.py"},
        },
    )
    kitchen.file(
        "orders/fixtures/test_it.py", "def test_it():\n    raise SystemExit('never run')\n"
    )
    agent = cook(kitchen)
    result = stage(kitchen, agent, "--mock")
    found = artifact(result)
    assert (result.code, found["mock"], found["verdict"], found["delta"]) == (0, True, "pass", 0)
    assert set(passed(found).values()) == {True} and agent.runs == []
    assert any("mock" in warning for warning in found["warnings"])


@pytest.mark.slow
def test_mock_and_real_never_share_a_baseline(kitchen: Desk) -> None:
    """Neither by the store nor by files, whichever came first; a mock agent with real judges is a
    third thing.
    """
    for place in ([], ["--baseline-cache-dir", "cache"]):
        agent = cook(kitchen, name=f"cook{len(place)}")
        assert artifact(stage(kitchen, agent, "--mock", *place))["baseline_pass_rate"] == 1
        found = artifact(stage(kitchen, agent, *place))
        assert (found["baseline_pass_rate"], found["baseline_cached"], found["mock"]) == (
            0.4,
            False,
            False,
        )
        found = artifact(stage(kitchen, agent, "--mock", *place))
        assert (found["baseline_pass_rate"], found["baseline_cached"], found["mock"]) == (
            1,
            True,
            True,
        )
        found = artifact(stage(kitchen, Cook("mock", Path("none")), *place))
        assert (found["baseline_cached"], found["mock"]) == (False, True)


# -----------------------------------------------------------------------------------------------------
# remembered files


CACHE = ("--baseline-cache-dir", "cache")


def again(desk: Desk, agent: Cook, *more: str) -> tuple[int, dict[str, Any]]:
    """How many runs one more evaluation took, and its artifact."""
    before = len(agent.runs)
    result = stage(desk, agent, *CACHE, *more)
    return len(agent.runs) - before, artifact(result)


@pytest.mark.slow
def test_files_remember_a_baseline_by_content(kitchen: Desk) -> None:
    """A hit costs one side; an edit of the suite, the skill, the agent or another k asks again; a
    copy elsewhere hits.
    """
    agent = cook(kitchen)
    assert [again(kitchen, agent)[0] for _ in range(2)] == [10, 5]
    (file,) = (kitchen.folder / "cache").iterdir()
    kept = json.loads(file.read_text())
    assert (
        kept["pass_rate"] == 0.4 and len(kept["results"]) == 5 and kept["created_at"].endswith("Z")
    )
    elsewhere = Desk(kitchen.folder / "elsewhere", kitchen.home, kitchen.logs)
    for name in ("kitchen", "orders", "cache", "ranking.json"):
        copy = shutil.copytree if (kitchen.folder / name).is_dir() else shutil.copy
        elsewhere.folder.mkdir(exist_ok=True)
        copy(kitchen.folder / name, elsewhere.folder / name)
    count, found = again(elsewhere, agent)
    assert (count, found["baseline_cached"], found["baseline_pass_rate"]) == (5, True, 0.4)

    def edit(name: str, old: str, new: str) -> None:
        path = kitchen.folder / name
        path.write_text(path.read_text().replace(old, new))

    for name, old, new in (
        ("orders/task_suite.yaml", "One soup, please.", "A soup, please."),
        ("kitchen/SKILL.md", "# Kitchen", "# A kitchen"),
        ("tools/cook.py", "I cannot cook that.", "No."),
    ):
        edit(name, old, new)
        assert [again(kitchen, agent)[0] for _ in range(2)] == [10, 5], name
    assert again(kitchen, agent, "--pass-k", "2")[0] == (2 + 3 * 2) + (4 + 2)
    assert again(kitchen, agent, "--fresh")[0] == 10


@pytest.mark.slow
def test_a_file_is_good_for_seven_days_and_no_error_when_it_is_not(kitchen: Desk) -> None:
    """Older, from the future, damaged or of another key: asked again, and the evaluation is as if
    it were not there.
    """
    agent = cook(kitchen)
    again(kitchen, agent)
    (file,) = (kitchen.folder / "cache").iterdir()
    whole = json.loads(file.read_text())
    now = datetime.now(UTC)

    def dated(**age: float) -> dict[str, Any]:
        return {**whole, "created_at": (now - timedelta(**age)).strftime("%Y-%m-%dT%H:%M:%SZ")}

    for good in (dated(days=6, hours=23), dated(minutes=1)):
        file.write_text(json.dumps(good))
        assert again(kitchen, agent)[0] == 5
    for bad in (dated(days=7, hours=1), dated(hours=-1)):
        file.write_text(json.dumps(bad))
        assert again(kitchen, agent)[0] == 10
        assert again(kitchen, agent)[0] == 5, "what was asked again is kept"


KEY = "sha256:abc"
GOOD = (
    TaskResult(
        task_id="a",
        passed=True,
        score=1.0,
        details="met",
        duration_ms=5,
        error="",
        attempts=2,
        passes=1,
    ),
    TaskResult(task_id="b", passed=False, score=0.25),
)


def files(folder: Path, notes: list[str] | None = None) -> BaselineFiles:
    return BaselineFiles(folder, note=print if notes is None else notes.append)


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    """Every field of every task, and the run; nothing under another key."""
    known = KnownBaseline(results=GOOD, run="01J")
    files(tmp_path / "new" / "folder").keep(KEY, known)
    assert files(tmp_path / "new" / "folder").find(KEY) == known
    assert files(tmp_path / "new" / "folder").find("sha256:other") is None


def test_seven_days_to_the_second(tmp_path: Path) -> None:
    """7 x 24 hours exactly is still good, a second more is not."""
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    BaselineFiles(tmp_path, note=print, clock=lambda: start).keep(KEY, KnownBaseline(results=GOOD))
    for seconds, is_good in ((0, True), (7 * 86_400, True), (7 * 86_400 + 1, False), (-1, False)):
        later = start + timedelta(seconds=seconds)
        found = BaselineFiles(tmp_path, note=print, clock=lambda later=later: later).find(KEY)  # type: ignore[misc]
        assert (found is not None) == is_good, seconds


DAMAGE: dict[str, Any] = {
    "a list": "[]",
    "cut off": '{"pass_rate": 1.0',
    "nested without end": "[" * 100_000,
    "another rate": {"pass_rate": 1.0},
    "no results": {"results": []},
    "an open task": {"results": [{**GOOD[0].to_plain(), "passed": None}], "pass_rate": None},
    "a score of 9": {"results": [{**GOOD[0].to_plain(), "score": 9}], "pass_rate": 1.0},
    "a text that passes": {"results": [{**GOOD[0].to_plain(), "passed": "yes"}], "pass_rate": 1.0},
    "a task without a name": {
        "results": [{k: v for k, v in GOOD[0].to_plain().items() if k != "task_id"}],
        "pass_rate": 1.0,
    },
    "no time": {"created_at": "soon"},
    "a time without a zone": {"created_at": "2026-03-01T12:00:00"},
    "another key": {"key": "sha256:other"},
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_as_if_it_were_not_there(tmp_path: Path, how: str) -> None:
    """Never an error, never a number out of it."""
    cache = files(tmp_path)
    cache.keep(KEY, KnownBaseline(results=GOOD))
    (path,) = tmp_path.iterdir()
    damage = DAMAGE[how]
    text = (
        damage
        if isinstance(damage, str)
        else json.dumps({**json.loads(path.read_text()), **damage})
    )
    path.write_text(text)
    assert cache.find(KEY) is None
    cache.keep(KEY, KnownBaseline(results=GOOD))
    assert cache.find(KEY) == KnownBaseline(results=GOOD)


@given(data=st.data())
def test_any_bytes_in_a_file_are_survived(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever another program wrote there."""
    folder = tmp_path_factory.mktemp("cache")
    cache = files(folder)
    cache.keep(KEY, KnownBaseline(results=GOOD))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at] + data.draw(st.binary(max_size=8)))
    found = cache.find(KEY)
    assert found is None or found.results == GOOD


def test_a_folder_that_cannot_be_is_said_at_once(tmp_path: Path) -> None:
    """Before anything is spent."""
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="baseline cache"):
        files(tmp_path / "file")


def test_a_baseline_that_cannot_be_kept_is_not_lost(tmp_path: Path) -> None:
    """A full or vanished disk costs the memory, not the evaluation."""
    notes: list[str] = []
    cache = files(tmp_path / "cache", notes)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("")
    cache.keep(KEY, KnownBaseline(results=GOOD))
    assert len(notes) == 1 and "could not be kept" in notes[0]


# ------------------------------------------------------------------------------------------- a
# skill in between


def half_applied(desk: Desk) -> str:
    """As a kill of `stage apply` leaves it; returns the original."""
    before = skill_in(desk.folder / "kitchen")
    files = files_in(desk.folder / "state")
    pointer = back_up(files, before, ["SKILL.md", "more.md"], Path("r", "c"))
    words = (desk.folder / "kitchen/SKILL.md").read_text()
    spoiled = Entry((words.replace("* soup = hot soup\n", "")).encode(), False)
    after = Version({"SKILL.md": spoiled, "more.md": Entry(b"more\n", False)}, is_folder=True)
    announce(files, before, after, pointer)
    (desk.folder / "kitchen/SKILL.md").write_bytes(spoiled.data)
    return words


def test_a_half_applied_skill_is_mended_before_it_is_measured(kitchen: Desk) -> None:
    """A killed `apply` left a file of its candidate: the baseline is the original, as if it had not
    been.
    """
    words = half_applied(kitchen)
    result = stage(kitchen, cook(kitchen))
    assert result.code == 0 and summary(result)["baseline_pass_rate"] == 0.4
    assert (kitchen.folder / "kitchen/SKILL.md").read_text() == words


def test_propose_and_rank_see_the_mended_skill(kitchen: Desk) -> None:
    """Their first look is at the original too."""
    words = half_applied(kitchen)
    worker = kitchen.worker("chef", "open(path + '/SKILL.md', 'a').write('* pie = hot pie\\n')\n")
    out = kitchen.run(
        "stage",
        "propose",
        "kitchen",
        "--worker",
        worker.spec,
        "--state-root",
        "state",
        "--output",
        "c.json",
    )
    assert out.code == 0 and (kitchen.folder / "kitchen/SKILL.md").read_text() == words
    half_applied(kitchen)
    ranked = kitchen.run(
        "stage", "rank", "--input", "c.json", "--state-root", "state", "--output", "r.json"
    )
    (one,) = json.loads((kitchen.folder / "r.json").read_text())["scored_candidates"]
    assert ranked.code == 0 and one["recommendation"] == "accept_for_execution"
    assert (kitchen.folder / "kitchen/SKILL.md").read_text() == words


def test_while_another_process_is_at_it_nothing_is_mended_or_measured(kitchen: Desk) -> None:
    """The note of a living `apply` is not taken for a dead one's."""
    half_applied(kitchen)
    target = cook(kitchen)
    with only_one(kitchen.folder / "kitchen"):
        result = stage(kitchen, target)
    assert result.is_refusal and "another process" in result.err and target.runs == []
    assert "hot soup" not in (kitchen.folder / "kitchen/SKILL.md").read_text()


def test_an_edit_made_after_the_proposal_is_told_before_anything_is_spent(kitchen: Desk) -> None:
    """Its figures would be about bytes that nobody has any more."""
    old = skill_in(kitchen.folder / "kitchen").version.digest
    ranking(kitchen, base_digest=old)
    skill(kitchen, "kitchen", DISHES[:3])
    target = cook(kitchen)
    result = stage(kitchen, target)
    assert result.is_refusal and "edited since" in result.err and target.runs == []
    skill(kitchen, "kitchen", TWO)
    assert stage(kitchen, target).code == 0


@pytest.mark.parametrize("option", ["--state-root", "--baseline-cache-dir", "--output"])
def test_nothing_of_the_pipeline_is_written_into_the_skill(kitchen: Desk, option: str) -> None:
    """It would be installed, and change the digest that everything is known by: exit 2 before a
    run.
    """
    target = cook(kitchen)
    before = skill_in(kitchen.folder / "kitchen").version.digest
    for args in ([], ["--standalone"]):
        if args:
            mode = ["--standalone", "--skill-path", "kitchen"]
        else:
            mode = ["--input", "ranking.json", "--candidate-id", "c1"]
        result = kitchen.run(
            "stage",
            "evaluate",
            *mode,
            "--task-suite",
            "orders/task_suite.yaml",
            "--target",
            target.spec,
            option,
            "kitchen/files",
        )
        assert result.is_refusal and option in result.err, result.err
    assert target.runs == [] and skill_in(kitchen.folder / "kitchen").version.digest == before
