"""`show --format mlflow`, read back by MLflow's own client (`make test-exports` installs it in a
folder of its own).
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from .finished_run import command, report

pytest.importorskip("mlflow", reason="make test-exports installs it")


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow writes next to whoever uses it."""
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def store(folder: Path) -> str:
    """A store that has the run; the command said where."""
    address = f"sqlite:///{folder}/mlflow.db"
    ended = command(
        folder,
        "show",
        (folder / "run").read_text(),
        "--format",
        "mlflow",
        MLFLOW_TRACKING_URI=address,
    )
    assert ended.returncode == 0, ended.stderr
    assert b"written: experiment Answers at sqlite:///" in ended.stdout
    assert ended.stderr == b"", "nothing is lost and MLflow says nothing of its own"
    return address


def test_mlflow_has_the_run_with_its_figures(folder: Path, store: str) -> None:
    """Params, metrics and tags are the report's; what is not known has no metric."""
    client = import_module("mlflow").MlflowClient(tracking_uri=store)
    doc = report(folder)
    experiment = client.get_experiment_by_name("Answers").experiment_id
    (run,) = client.search_runs([experiment])
    assert (run.info.run_name, run.info.status) == (doc["run"], "FINISHED")
    assert run.info.end_time - run.info.start_time == int(doc["duration_ms"])
    assert (
        run.data.params["suite"] == "suite.json"
        and run.data.params["target"] == "cmd:python3 bot.py"
    )
    assert run.data.params["contract"] == doc["contract"]
    assert (
        run.data.tags["honestone.run"] == doc["run"]
        and run.data.tags["honestone.verdict"] == "fail"
    )
    metrics = run.data.metrics
    assert doc["pass_rate"] is None and "pass_rate" not in metrics, (
        "a case has no output, so the rate is not known"
    )
    assert {status: metrics[f"cases.{status}"] for status in doc["counts"]} == doc["counts"]
    assert metrics["judge_calls"] == doc["usage"]["judge_calls"]


def test_mlflow_has_a_table_of_cases_and_the_whole_report(
    folder: Path, store: str, tmp_path: Path
) -> None:
    """The table loads as MLflow's evaluation tables do, and the report is the document of `--json`,
    whole.
    """
    mlflow = import_module("mlflow")
    mlflow.set_tracking_uri(store)
    mlflow.set_experiment("Answers")
    doc = report(folder)
    found = mlflow.search_runs(experiment_names=["Answers"])
    table = mlflow.load_table("cases.json", run_ids=list(found["run_id"]))
    assert list(table["case"]) == [case["id"] for case in doc["cases"]]
    by_case = {row["case"]: row for row in table.to_dict("records")}
    assert by_case["good"]["score"] == 100 and by_case["bad"]["score"] == 12.5
    assert by_case["good"]["input"] == doc["cases"][0]["input"]
    assert by_case["later"]["status"] == "skipped" and not by_case["later"]["score"] > 0
    kept = Path(
        mlflow.MlflowClient().download_artifacts(
            found["run_id"][0], "honestone-report.json", str(tmp_path)
        )
    )
    assert json.loads(kept.read_text("utf-8")) == doc


def test_the_same_run_is_written_once(folder: Path, store: str) -> None:
    """The second command finds the first one's run."""
    run = (folder / "run").read_text()
    ended = command(folder, "show", run, "--format", "mlflow", MLFLOW_TRACKING_URI=store)
    assert ended.returncode == 0 and b"was there already" in ended.stdout
    client = import_module("mlflow").MlflowClient(tracking_uri=store)
    assert len(client.search_runs([client.get_experiment_by_name("Answers").experiment_id])) == 1


def test_a_run_that_was_cut_off_does_not_count(folder: Path, store: str) -> None:
    """Only a finished run is taken for the whole of it: another one is written next to a part."""
    client = import_module("mlflow").MlflowClient(tracking_uri=store)
    experiment = client.create_experiment("Cut off")
    client.create_run(experiment, tags={"honestone.run": (folder / "run").read_text()})
    ended = command(
        *(folder, "show", (folder / "run").read_text(), "--format", "mlflow"),
        MLFLOW_TRACKING_URI=store,
        MLFLOW_EXPERIMENT_NAME="Cut off",
    )
    assert ended.returncode == 0 and b"written: experiment Cut off" in ended.stdout
    assert sorted(run.info.status for run in client.search_runs([experiment])) == [
        "FINISHED",
        "RUNNING",
    ]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "http://robot:topsecret@127.0.0.1:9",
            b"MLflow at http://127.0.0.1:9 did not take the run",
        ),
        ("./mlruns", b"MLFLOW_TRACKING_URI cannot be used"),
        ("carrier://robot:topsecret@pigeon", b"MLFLOW_TRACKING_URI cannot be used"),
        ("", b"MLFLOW_TRACKING_URI is not set"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_without_its_login(
    folder: Path, address: str, said: bytes
) -> None:
    """Exit 2, one message, a hint, and no password in it."""
    ended = command(
        *(folder, "show", (folder / "run").read_text(), "--format", "mlflow"),
        MLFLOW_TRACKING_URI=address,
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0",
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in ended.stderr and b"hint:" in ended.stderr
    assert b"topsecret" not in ended.stderr and b"Traceback" not in ended.stderr
