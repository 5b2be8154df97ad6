"""The real AgentV 4.42.4 and honestone run the same suites: the same verdicts and scores, or a
difference that the docs explain.

HONESTONE_AGENTV names the program (`npm install --prefix DIR agentv@4.42.4`, then
DIR/node_modules/.bin/agentv); with HONESTONE_TEST_CLIS=1 npm installs it for the test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from agentv_suites import DIFFERENCES, FILES, REASONS, SUITES

VERSION = "4.42.4"
PAGE = Path(__file__).parents[2] / "docs" / "from-agentv.md"
TARGET = "cmd:python3 cand.py {PROMPT_FILE} {OUTPUT_FILE}"
STATUS = {"ok": "pass", "quality_failure": "fail"}


@dataclass(frozen=True)
class Scored:
    """A case as one tool scored it: 0 to 1, and the scores of its graders in order."""

    verdict: str
    score: float
    graders: tuple[float, ...]

    def is_like(self, other: Scored) -> bool:
        # AgentV lists no graders for a case that is judged by its goal alone.
        same_graders = (
            not self.graders
            or not other.graders
            or self.graders == pytest.approx(other.graders, abs=1e-9)
        )
        return (
            self.verdict == other.verdict
            and self.score == pytest.approx(other.score, abs=1e-9)
            and same_graders
        )


@pytest.fixture(scope="module")
def agentv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real program. Skips where it is not at hand."""
    named = os.environ.get("HONESTONE_AGENTV")
    if named:
        return Path(named)
    if not os.environ.get("HONESTONE_TEST_CLIS") or shutil.which("npm") is None:
        pytest.skip(f"AgentV {VERSION} is not at hand: HONESTONE_AGENTV names it")
    folder = tmp_path_factory.mktemp("npm")
    words = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder),
        f"agentv@{VERSION}",
    ]
    if subprocess.run(words, capture_output=True, timeout=500).returncode:
        pytest.skip("npm could not install agentv")
    return folder / "node_modules" / ".bin" / "agentv"


@pytest.fixture(scope="module")
def evals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every suite in its folder of evals."""
    root = tmp_path_factory.mktemp("agentv")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, text in {
        **FILES,
        **{f"{name}.eval.yaml": _whole(text) for name, text in SUITES.items()},
    }.items():
        path = root / "evals" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.resolve().write_text(text, encoding="utf-8")
    return root / "evals"


def _whole(text: str) -> str:
    return (
        text if "execution:" in text.partition("tests")[0] else f"execution: {{target: cand}}{text}"
    )


def _theirs(agentv: Path, evals: Path) -> dict[tuple[str, str], Scored]:
    names = [f"evals/{name}.eval.yaml" for name in SUITES]
    temporary = evals.parent / "tmp"
    for case in (
        "turns",
        "whole",
        "judged",
    ):  # it writes `agentv-CASE/turn-1...` there and makes no folder for it
        (temporary / f"agentv-{case}").mkdir(parents=True)
    words = [str(agentv), "eval", *names, "--output", "out"]
    env = {**os.environ, "TMPDIR": str(temporary)}
    subprocess.run(words, cwd=evals.parent, env=env, capture_output=True, timeout=500)
    lines = (evals.parent / "out" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        (row["suite"].removesuffix(".eval"), row["test_id"]): Scored(
            STATUS.get(row["execution_status"], row["execution_status"]),
            row["score"],
            tuple(one["score"] for one in row.get("scores", ())),
        )
        for row in map(json.loads, lines)
    }


def _ours(evals: Path, name: str) -> dict[tuple[str, str], Scored]:
    words = [
        sys.executable,
        "-m",
        "honestone",
        "eval",
        f"{name}.eval.yaml",
        "--target",
        TARGET,
        "--json",
        "--quiet",
    ]
    words += ["--judge", "cmd:python3 our_judge.py", "--accept-loss"]
    done = subprocess.run(
        words, cwd=evals, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL
    )
    assert done.returncode in (0, 1), f"{name}: {done.stderr}"
    return {
        (name, case["id"]): Scored(
            case["verdict"],
            case["score"] / 100,
            tuple(one["score"] / 100 for one in case["criteria"] if one["parent"] is None),
        )
        for case in json.loads(done.stdout)["cases"]
    }


def unlike(
    ours: Mapping[tuple[str, str], Scored], theirs: Mapping[tuple[str, str], Scored]
) -> set[tuple[str, str]]:
    return {
        key for key in ours.keys() | theirs.keys() if not _is_like(ours.get(key), theirs.get(key))
    }


def _is_like(one: Scored | None, other: Scored | None) -> bool:
    return one is not None and other is not None and one.is_like(other)


def test_both_tools_score_the_same_but_for_what_is_listed(agentv: Path, evals: Path) -> None:
    """Every case of every suite is in both; those that differ are those of the list, no more and no
    fewer.
    """
    theirs = _theirs(agentv, evals)
    ours = {key: scored for name in SUITES for key, scored in _ours(evals, name).items()}
    assert len(ours) >= len(SUITES) >= 30
    different = unlike(ours, theirs)
    assert different == set(DIFFERENCES), {
        key: (ours.get(key), theirs.get(key)) for key in different
    }


def test_every_difference_is_explained() -> None:
    """The page for people who come from AgentV has a row for each reason."""
    page = PAGE.read_text(encoding="utf-8")
    assert set(DIFFERENCES.values()) == set(REASONS)
    for words in REASONS.values():
        assert f"\n| {words}" in page


def test_what_is_written_for_agentv_is_valid_there(agentv: Path, evals: Path) -> None:
    """Each suite as honestone's own, converted with `--to agentv`: the real program takes it
    without a warning.
    """
    for name in ("contains", "required", "rubrics", "score-ranges", "composite", "negate"):
        own, written = evals / f"{name}.own.yaml", evals / f"{name}.written.eval.yaml"
        for source, form, output in (
            (f"{name}.eval.yaml", "honestone", own),
            (own.name, "agentv", written),
        ):
            words = [
                sys.executable,
                "-m",
                "honestone",
                "suite",
                "convert",
                source,
                "--to",
                form,
                "--accept-loss",
            ]
            subprocess.run(
                [*words, "--output", output.name],
                cwd=evals,
                check=True,
                capture_output=True,
                timeout=200,
            )
        words = [str(agentv), "validate", f"evals/{written.name}"]
        done = subprocess.run(words, cwd=evals.parent, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0 and "⚠" not in done.stdout, f"{name}: {done.stdout}"
