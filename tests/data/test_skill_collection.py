"""Real skills: each loads, gets a draft suite that reads back and is checked, and runs with the
mock target.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from honestone.cli.stages.evaluate import evaluate_command
from honestone.cli.suites.check import check
from honestone.cli.suites.new import new

SKILLS = Path(__file__).parents[2] / "../shared/data/skill_md/skills.jsonl.gz"
FIELDS = {"execution_pass_rate", "baseline_pass_rate", "delta", "verdict", "truth_anchor"}


def skills() -> list[str]:
    if not SKILLS.is_file():
        pytest.skip("the recorded skills are not here")
    with gzip.open(SKILLS, "rt", encoding="utf-8") as stream:
        return [json.loads(line)["text"] for line in stream]


def run(command: Any, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(words), standalone_mode=False)
    assert result.exception is None, (words, result.exception)
    return int(result.return_value or 0), result.stdout


def test_every_real_skill_gets_a_suite_that_loads_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5 to 10 tasks with unique ids, `suite check` finds no error, and a mock run has every field;
    none is a pass on evidence, as the artifact says `mock`.
    """
    monkeypatch.chdir(tmp_path)
    found = skills()
    assert len(found) >= 40
    for number, text in enumerate(found):
        folder = tmp_path / f"skill-{number}"
        folder.mkdir()
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        name, suite = folder.name, f"suite-{number}.yaml"
        code, out = run(new, "--from", name, "--output", suite, "--json")
        ids = [task["id"] for task in json.loads(out)["tasks"]]
        assert code == 0 and 5 <= len(ids) == len(set(ids)) <= 10, (number, ids)
        code, out = run(check, suite, "--skill", name, "--json")
        assert code == 0, (number, out)
        code, out = run(
            evaluate_command,
            "--standalone",
            "--skill-path",
            name,
            "--task-suite",
            suite,
            "--state-root",
            "st",
            "--mock",
            "--quiet",
        )
        told = json.loads(out.splitlines()[-1])
        assert told.keys() >= FIELDS and code in (0, 3), (number, told)
        artifact = json.loads(Path(told["truth_anchor"]).read_text())
        assert (
            artifact["mock"] is True
            and [one["task_id"] for one in artifact["candidate_results"]] == ids
        )
