"""Baselines by name: runs, saved reports, artifacts and git refs, whole and damaged; and what two
sides may cost.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk
from .test_suites import case, run, statuses, suite, target

ECHO = "print(open(os.environ['HONESTONE_ARTIFACT']).read())"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.email=a@b.c", "-c", "user.name=A", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(desk: Desk) -> None:
    git(desk.folder, "init", "-q")
    git(desk.folder, "add", "-A")
    git(desk.folder, "commit", "-qm", "one")


def saved(desk: Desk, name: str = "base.json") -> dict[str, Any]:
    suite(desk, case("one"), case("two"), head="artifact: prompt.md\n")
    desk.file("prompt.md", "apple\n")
    _, report = run(desk, "--target", target(desk, body=ECHO).spec, "--output", name)
    return report


def broken(report: dict[str, Any], how: str) -> str:
    text = json.dumps(report)
    first = report["cases"][0]
    if how == "cut":
        return text[: len(text) // 2]
    if how == "not a number":
        return text.replace('"score": 100', '"score": NaN', 1)
    changes: dict[str, dict[str, Any]] = {
        "other": {"schema": "honestone.scorecard/1"},
        "newer": {"schema": "honestone.report/2"},
        "no cases": {"cases": None},
        "twice": {"cases": [first, first]},
        "status": {"cases": [{**first, "status": "great"}]},
        "score": {"cases": [{**first, "score": "100"}]},
    }
    if how == "empty":
        return json.dumps({"schema": report["schema"]})
    return json.dumps({**report, **changes[how]})


@pytest.mark.parametrize(
    "how",
    ["cut", "not a number", "other", "newer", "no cases", "twice", "status", "score", "empty"],
)
def test_a_report_that_is_not_whole_is_refused_before_anything_runs(desk: Desk, how: str) -> None:
    """Neither a traceback, nor an artifact by mistake: as an artifact it would be a baseline that
    always loses.
    """
    report = saved(desk)
    desk.file("broken.json", broken(report, how))
    made = target(desk, "later", body=ECHO)
    result, _ = run(desk, "--target", made.spec, "--baseline", "broken.json")
    assert result.is_refusal
    assert "broken.json" in result.err
    assert made.calls == 0
    for words in (("compare", "broken.json", "base.json"), ("trend", "broken.json")):
        assert desk.run(*words).is_refusal


def test_a_saved_report_may_have_any_name(desk: Desk) -> None:
    """`a file with a saved --json report will do`, whatever its ending."""
    saved(desk, "report.txt")
    assert desk.run("compare", "report.txt", "report.txt", "--json").json["delta"] == 0


def test_an_empty_name_is_no_baseline(desk: Desk) -> None:
    """As from an unset variable in a CI job: it would be the working directory."""
    saved(desk)
    result, _ = run(desk, "--target", target(desk).spec, "--baseline", "")
    assert result.is_refusal
    assert "empty" in result.err


def test_a_prefix_that_fits_several_runs_is_told_so(desk: Desk) -> None:
    """Not that there is no such run."""
    for _ in range(2):
        saved(desk)
    result = desk.run("compare", "0", "last")
    assert result.is_refusal
    assert "several runs" in result.err


@pytest.mark.slow
def test_the_last_run_is_one_that_came_to_its_end(desk: Desk) -> None:
    """Killed and started again, a run is not compared with itself."""
    saved(desk)
    desk.file("prompt.md", "plum\n")
    words = ("--target", target(desk, body=ECHO).spec, "--baseline", "last")
    slow = target(desk, "slow", body="time.sleep(60)")
    slow.path.rename(desk.folder / "kept.py")
    process = desk.start("eval", "suite.yaml", "--target", slow.spec.replace("slow.py", "kept.py"))
    for _ in range(1000):
        if slow.calls:
            break
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    process.communicate()
    result, report = run(desk, *words)
    assert (result.code, report["regressions"]) == (1, ["one", "two"])


def test_a_git_ref_gives_every_file_of_the_artifact(desk: Desk) -> None:
    """Also those that an archive of the repository would leave out, and with the file's mode."""
    desk.file("skill/notes.md", "apple\n")
    desk.file("skill/hidden.md", "apple\n")
    desk.file(".gitattributes", "hidden.md export-ignore\n")
    suite(desk, "{id: one, input: x, checks: [{contains: hidden.md}]}", head="artifact: skill\n")
    commit(desk)
    desk.file("skill/notes.md", "pear\n")
    made = target(desk, body="print(os.listdir(os.environ['HONESTONE_ARTIFACT']))")
    result, report = run(desk, "--target", made.spec, "--baseline", "HEAD")
    assert result.code == 0, result.err
    assert (report["baseline_pass_rate"], report["delta"]) == (1, 0)


def test_a_pull_request_that_makes_the_prompt_worse_is_stopped(desk: Desk) -> None:
    """And one that does not touch it is not: the documented workflow runs for both."""
    suite(
        desk,
        case("one"),
        "{id: two, input: y, checks: [{contains: pear}]}",
        head="artifact: prompt.md\n",
    )
    desk.file("prompt.md", "apple\n")
    made = target(desk, body=ECHO)
    commit(desk)
    git(desk.folder, "checkout", "-qb", "change")
    desk.file("README.md", "new\n")
    untouched, report = run(desk, "--target", made.spec, "--baseline", "main")
    assert (untouched.code, report["delta"], report["pass_rate"]) == (0, 0, 0.5)
    assert made.calls == 2
    assert any("the same at main" in note for note in report["notes"])
    assert "the same at main" in untouched.err
    desk.file("prompt.md", "plum\n")
    worse, report = run(desk, "--target", made.spec, "--baseline", "main")
    assert (worse.code, report["regressions"]) == (1, ["one"])


def test_an_artifact_that_leads_out_of_the_repository_has_no_git_ref(
    desk: Desk, tmp_path: Path
) -> None:
    """A link is told about, not a traceback."""
    (tmp_path / "elsewhere.md").write_text("apple\n")
    (desk.folder / "link.md").symlink_to(tmp_path / "elsewhere.md")
    suite(desk, case("one"))
    commit(desk)
    made = target(desk)
    result, _ = run(desk, "--target", made.spec, "--artifact", "link.md", "--baseline", "HEAD")
    assert result.is_refusal
    assert made.calls == 0


def test_a_submodule_in_the_artifact_is_told_about(desk: Desk) -> None:
    """Its files are in another history: without them the baseline would be another artifact."""
    inner = desk.folder / "skill" / "inner"
    inner.mkdir(parents=True)
    (inner / "a.md").write_text("apple\n")
    git(inner, "init", "-q")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    desk.file("skill/notes.md", "apple\n")
    suite(desk, case("one"), head="artifact: skill\n")
    commit(desk)
    desk.file("skill/notes.md", "pear\n")
    result, _ = run(desk, "--target", target(desk).spec, "--baseline", "HEAD")
    assert result.is_refusal
    assert "submodule" in result.err


def test_two_sides_share_one_allowance(desk: Desk) -> None:
    """--max-calls is what the command may spend, not what each side may."""
    desk.file("old.md", "old apple\n")
    desk.file("new.md", "new apple\n")
    asked = (f"{{id: c{n}, input: c{n}, rubric: [says apple]}}" for n in range(3))
    suite(desk, *asked, head="artifact: new.md\n")
    body = "print(text, open(os.environ['HONESTONE_ARTIFACT']).read())"
    judge = desk.judge()
    words = (
        "--target",
        target(desk, body=body).spec,
        "--judge",
        judge.spec,
        "--baseline",
        "old.md",
    )
    result, report = run(desk, *words, "--max-calls", "4", "--concurrency", "1")
    assert judge.calls == 4
    assert list(statuses(report).values()) == ["passed", "skipped", "skipped"]
    assert (result.code, report["comparison"]["missing"]) == (3, ["c1", "c2"])


@pytest.mark.slow
def test_comparing_says_how_sure_it_is_that_one_side_is_better(desk: Desk) -> None:
    """The same of two runs in the store and of their saved reports, in every form; of a run and
    itself neither is likelier.
    """
    suite(desk, *(f"{{id: c{i}, input: c{i} apple, rubric: [says apple]}}" for i in range(6)))
    judge = desk.judge().spec
    bad, good = target(desk, "bad", "print('nothing')"), target(desk, "good")
    reports = {}
    for name, made in (("bad", bad), ("good", good)):
        found = desk.run("eval", "suite.yaml", "--target", made.spec, "--judge", judge, "--json")
        desk.file(f"{name}.json", found.out)
        reports[name] = found.json["run"]
    words = ("compare", "bad.json", "good.json", "--across-contracts")
    of_files = desk.run(*words, "--json").json
    stored = ("compare", reports["bad"], reports["good"], "--across-contracts")
    of_runs = desk.run(*stored, "--json").json
    for one in (of_files, of_runs):
        assert one["better"] > 0.95 > 0.05 > one["worse"]
    percent = f"{int(of_runs['better'] * 100)}% sure that it is better than the baseline"
    for form in ("text", "markdown", "html"):
        assert percent in " ".join(desk.run(*stored, "--format", form).out.split()), form
    same = desk.run("compare", reports["good"], "good.json", "--json").json
    assert same["better"] == pytest.approx(same["worse"])


# Each look gives another answer about the same output.
_TURNS = """\
looks = len(open(LOG).readlines())
print(json.dumps({"criteria": {c["id"]: {"met": looks > 2} for c in request["criteria"]}}))
"""


def test_other_marks_of_the_same_outputs_make_neither_side_better(desk: Desk) -> None:
    """Two wins, and no case that is more likely to pass."""
    suite(desk, *(f"{{id: c{i}, input: c{i} apple, rubric: [says apple]}}" for i in range(2)))
    judge = desk.judge_in_python("turns", _TURNS).spec
    call = ("eval", "suite.yaml", "--target", target(desk).spec, "--judge", judge, "--fresh")
    before, after = (desk.run(*call, "--json").json["run"] for _ in range(2))
    found = " ".join(desk.run("compare", before, after).out.split())
    assert "2 wins, 0 losses" in found
    assert "belief neither is better: no case is more or less likely to pass" in found


def test_a_baseline_under_another_contract_is_refused_before_anything_is_spent(desk: Desk) -> None:
    """With what differs, and no run is left unfinished."""
    suite(desk, "{id: c0, input: c0 apple, rubric: [says apple]}")
    judges = [desk.judge(name) for name in ("one", "two")]
    call = ("eval", "suite.yaml", "--target", target(desk).spec)
    desk.run(*call, "--judge", judges[0].spec)
    runs = len(desk.run("runs", "--json").json)
    found = desk.run(*call, "--judge", judges[1].spec, "--baseline", "last")
    assert found.is_refusal and "under different contracts" in found.err and "two" in found.err
    assert judges[1].calls == 0 and len(desk.run("runs", "--json").json) == runs


@pytest.mark.slow
def test_cases_that_have_to_fail_are_not_turned_round_by_saving_them(desk: Desk) -> None:
    """Whether runs or saved reports are compared. Of a report of an older version, which does not
    say how sure such cases are, nothing is said.
    """
    rest = "rubric: [says apple], expect: {verdict: fail}"
    suite(desk, *(f"{{id: c{i}, input: c{i} apple, {rest}}}" for i in range(6)))
    judge = desk.judge().spec
    good, bad = target(desk, "good", "print('nothing')"), target(desk, "bad")
    runs = []
    for name, made in (("bad", bad), ("good", good)):
        found = desk.run("eval", "suite.yaml", "--target", made.spec, "--judge", judge, "--json")
        desk.file(f"{name}.json", found.out)
        runs.append(found.json["run"])
        old = found.json
        for one in old["cases"]:
            del one["passes"]
        desk.file(f"old-{name}.json", json.dumps(old))
    for pair in (runs, ["bad.json", "good.json"], [runs[0], "good.json"]):
        found = desk.run("compare", *pair, "--across-contracts", "--json").json
        assert found["better"] > 0.95 > 0.05 > found["worse"], pair
    old = desk.run("compare", "old-bad.json", "old-good.json", "--across-contracts", "--json").json
    assert old.get("better") is None and len(old["improvements"]) == 6
