"""What `show --format` writes for other tools, opened by the tools that it is for (`make
test-exports` installs them).
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from .finished_run import SUITE, command, report, shown

SARIF_SCHEMA = (
    Path(__file__).parents[2] / ".exports/sarif/package/lib/schemas/sarif-2.1.0-rtm.5.json"
)


def test_inspect_reads_every_attempt_with_its_scores(folder: Path) -> None:
    """Inspect's own reader: samples are attempts, scores are the report's divided by 100, a failed
    target has none.
    """
    pytest.importorskip("inspect_ai", reason="make test-exports installs it")
    reader = import_module("inspect_ai.log")
    (folder / "log.json").write_bytes(shown(folder, "inspect"))
    log = reader.read_eval_log(str(folder / "log.json"))
    doc = report(folder)
    assert log.status == "success"
    assert (log.eval.task, log.eval.run_id, log.eval.model) == (
        "Answers",
        doc["run"],
        "cmd:python3 bot.py",
    )
    samples = {(sample.id, sample.epoch): sample for sample in log.samples}
    expected = {(case["id"], one["attempt"]) for case in doc["cases"] for one in case["attempts"]}
    assert set(samples) == expected | {("later", 1)}
    good = samples["good", 1]
    assert good.input == SUITE["cases"][0]["input"]  # type: ignore[index]
    assert (good.target, good.output.completion.strip()) == ("A greeting", "Dear reader, hello.")
    assert {name: score.value for name, score in good.scores.items()} == {
        "honestone": 1.0,
        "polite": 1.0,
        "level": 1.0,
    }
    bad = next(
        sample for (id, _), sample in samples.items() if id == "bad" and "polite" in sample.scores
    )
    assert {name: score.value for name, score in bad.scores.items()} == {
        "honestone": 0.125,
        "polite": 0.0,
        "level": 0.5,
    }
    dead = samples["dead", 1]
    assert dead.scores == {} and dead.metadata["status"] == "target-error"
    assert "no answer today" in next(
        sample.error.message for sample in samples.values() if sample.error
    )
    kept = good.metadata["honestone"]["case"]["criteria"]
    assert kept == next(case for case in doc["cases"] if case["id"] == "good")["criteria"]


def test_inspect_writes_the_log_again_in_its_own_form_and_we_judge_its_outputs(
    folder: Path,
) -> None:
    """What Inspect keeps of our log is a record of outputs for us: the same verdicts, and no target
    is asked.
    """
    pytest.importorskip("inspect_ai", reason="make test-exports installs it")
    log = import_module("inspect_ai.log")
    (folder / "first.json").write_bytes(shown(folder, "inspect"))
    log.write_eval_log(log.read_eval_log(str(folder / "first.json")), str(folder / "again.json"))
    before = report(folder)
    judge = f"script:{sys.executable} judge.py"
    ended = command(
        folder,
        "eval",
        "suite.json",
        "--outputs",
        "again.json",
        "--case",
        "good",
        "--case",
        "bad",
        "-j",
        judge,
        "--json",
    )
    assert ended.returncode == 1, ended.stderr
    after = json.loads(ended.stdout)
    assert {case["id"]: case["score"] for case in after["cases"]} == {
        case["id"]: case["score"] for case in before["cases"] if case["id"] in ("good", "bad")
    }
    assert after["usage"].get("target_calls", 0) == 0


def test_an_eval_file_of_inspect_becomes_a_suite(folder: Path, tmp_path: Path) -> None:
    """The archive that Inspect itself writes, packed with zstd: inputs, outputs and targets of its
    samples.
    """
    pytest.importorskip("inspect_ai", reason="make test-exports installs it")
    log = import_module("inspect_ai.log")
    (tmp_path / "log.json").write_bytes(shown(folder, "inspect"))
    log.write_eval_log(log.read_eval_log(str(tmp_path / "log.json")), str(tmp_path / "log.eval"))
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        assert {one.compress_type for one in archive.infolist() if "samples/" in one.filename} == {
            93
        }
    ended = command(tmp_path, "suite", "new", "--from-traces", "log.eval", "--output", "seen.yaml")
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in (tmp_path / "seen.outputs.jsonl").read_text().splitlines()]
    assert sorted(row["output"].strip() for row in rows) == ["Dear reader, hello.", "Go away."]
    assert "reference: A greeting" in (tmp_path / "seen.yaml").read_text()
    assert b"dropped: log.eval:samples/dead_epoch_1.json" in ended.stdout


def test_parquet_has_a_row_for_each_vote(folder: Path) -> None:
    """pyarrow's own reader: votes on their scale as 0 to 1, and null where there is none."""
    pytest.importorskip("pyarrow", reason="make test-exports installs it")
    table = import_module("pyarrow.parquet").read_table(io.BytesIO(shown(folder, "parquet")))
    rows = table.to_pylist()
    judge = f"script:{sys.executable} judge.py"
    found = {(row["case"], row["criterion"]): row for row in rows}
    assert found["good", "level"] | {"run": "", "item": ""} == {
        "run": "",
        "case": "good",
        "attempt": 1,
        "status": "passed",
        "case_score": 100.0,
        "criterion": "level",
        "weight": 1.0,
        "criterion_score": 100.0,
        "item": "",
        "kind": "anchors",
        "low": 0.0,
        "high": 10.0,
        "voter": judge,
        "vote": "10",
        "value": 1.0,
    }
    assert (found["bad", "polite"]["vote"], found["bad", "polite"]["value"]) == ("no", 0.0)
    assert found["bad", "level"]["value"] == 0.5
    assert [row["vote"] for row in rows if row["case"] == "later"] == [None]
    assert {row["case"] for row in rows} == {"good", "bad", "dead", "later"}


def test_inspect_keeps_the_case_apart_from_a_criterion_of_its_name(tmp_path: Path) -> None:
    """A criterion `honestone` has its own score, and so has the case."""
    pytest.importorskip("inspect_ai", reason="make test-exports installs it")
    rubric = [
        {"id": "honestone", "requirement": "Greets", "check": {"contains": "hello"}},
        {"id": "short", "requirement": "Is short", "check": {"max-words": 9}},
    ]
    cases = [{"id": "one", "input": "good day"}]
    (tmp_path / "suite.json").write_text(
        json.dumps({"suite": 1, "target": "cmd:cat", "rubric": rubric, "cases": cases})
    )
    assert command(tmp_path, "eval", "suite.json", "-q").returncode == 1
    (tmp_path / "log.json").write_bytes(
        command(tmp_path, "show", "last", "--format", "inspect").stdout
    )
    (sample,) = import_module("inspect_ai.log").read_eval_log(str(tmp_path / "log.json")).samples
    assert {name: score.value for name, score in sample.scores.items()} == {
        "honestone": 0.0,
        "honestone-2": 0.5,
        "short": 1.0,
    }


def test_sarif_tools_lists_the_findings(folder: Path, tmp_path: Path) -> None:
    """The reader of sarif-tools finds as many errors as we wrote, each at the suite's file."""
    pytest.importorskip("sarif", reason="make test-exports installs it")
    (tmp_path / "run.sarif").write_bytes(shown(folder, "sarif"))
    log = import_module("sarif.loader").load_sarif_file(str(tmp_path / "run.sarif"))
    records = log.get_records()
    written = json.loads((tmp_path / "run.sarif").read_text())["runs"][0]["results"]
    assert len(records) == len(written) > 0
    assert {record["Location"] for record in records} == {"suite.json"}
    assert {record["Severity"] for record in records} <= {"error", "none"} and "error" in {
        record["Severity"] for record in records
    }


def sarif_of_an_artifact(folder: Path) -> bytes:
    """Findings at a quote, at a check's note and at the first line, and one that could not be
    judged.
    """
    (folder / "page.md").write_text(
        "# Title\n\nIndeed. Nothing \U0001f600 is here. [away](gone.md)\n"
    )
    (folder / "page.yaml").write_text(
        "rubric: 1\ncriteria:\n"
        "  - {id: named, requirement: Names it}\n  - {id: other, requirement: Says more}\n"
        "  - {id: links, requirement: Links lead somewhere, check: links-resolve}\n"
    )
    (folder / "quoting.py").write_text(
        "import json\nquote = 'Nothing \U0001f600 is here'\n"
        "print(json.dumps({'criteria': {'named': {'met': False, 'evidence': quote}}}))\n"
    )
    command(
        folder,
        "eval",
        "page.md",
        "-r",
        "page.yaml",
        "-j",
        f"script:{sys.executable} quoting.py",
        "-q",
    )
    ended = command(folder, "show", "last", "--format", "sarif")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_sarif_is_valid_by_the_schema_of_its_makers(folder: Path, tmp_path: Path) -> None:
    """Findings of a suite and of a file, held against the schema of SARIF 2.1.0 that Microsoft
    publishes.
    """
    if not SARIF_SCHEMA.is_file():
        pytest.skip("make test-exports fetches the schema, where npm is here")
    jsonschema = pytest.importorskip("jsonschema", reason="make test-exports installs it")
    schema = json.loads(SARIF_SCHEMA.read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    of_suite, of_file = (
        json.loads(shown(folder, "sarif")),
        json.loads(sarif_of_an_artifact(tmp_path)),
    )
    for log in (of_suite, of_file):
        assert [error.message for error in validator.iter_errors(log)] == []
        assert log["runs"][0]["results"]
    kinds = {result["kind"] for result in of_file["runs"][0]["results"]}
    regions = [
        one["locations"][0]["physicalLocation"]["region"] for one in of_file["runs"][0]["results"]
    ]
    assert kinds == {"fail", "open"} and any("endColumn" in region for region in regions)
    broken = json.loads(json.dumps(of_file))
    broken["runs"][0]["results"][0]["level"] = "dreadful"
    assert not validator.is_valid(broken), "the schema can find fault"


def test_a_run_of_one_artifact_is_not_exported(folder: Path) -> None:
    """Formats of suites say so, before anything is written."""
    (folder / "a.md").write_text("hello\n")
    (folder / "r.yaml").write_text(
        "rubric: 1\ncriteria: [{id: short, requirement: Is short, check: {max-words: 9}}]\n"
    )
    assert command(folder, "eval", "a.md", "-r", "r.yaml", "-q").returncode == 0
    for form in ("inspect", "langfuse", "mlflow", "parquet"):
        ended = command(folder, "show", "last", "--format", form)
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert b"is for suites" in ended.stderr
