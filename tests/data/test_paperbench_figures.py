"""PaperBench's human-graded trees: every node from the leaves alone; its ungraded trees load."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from honestone.adapters.judges.record import RecordJudge
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Scorecard
from honestone.formats.source import ForeignRubric
from honestone.interop.recognise import read_any_rubric

GRADED = ("semantic-self-consistency", "stay-on-topic-with-classifier-free-guidance", "all-in-one")
UNGRADED = (
    "adaptive-pruning",
    "mechanistic-understanding",
    "robust-clip",
    "stochastic-interpolants",
)
Scored = Callable[[RecordJudge, Rubric, str], Scorecard]


def nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield tree
    for below in tree["sub_tasks"]:
        yield from nodes(below)


@pytest.mark.parametrize("name", GRADED)
def test_every_node_of_a_graded_tree(
    name: str, shared_data: Any, expected: Any, scored: Scored
) -> None:
    """Rubric and recorded judge from the same file: each node's score is the stored one."""
    path = shared_data("paperbench_judgeeval") / f"{name}.json"
    figures = expected("paperbench_judgeeval")[name]
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric) and source.losses == ()
    assert len(source.marks) == figures["leaves"]
    card = scored(RecordJudge("record", path), source.rubric, "a.md")
    found = {line.criterion.id: line.score for line in card.lines}
    stored = {node["id"]: node["score"] for node in nodes(json.loads(path.read_text("utf-8")))}
    assert len(found) == len(stored) == figures["nodes"]
    assert [id for id, score in stored.items() if abs((found[id] or 0) - score) > 1e-12] == []
    assert (
        card.score is not None and abs(float(card.score) - figures["root_score_recomputed"]) < 1e-12
    )


def test_through_the_command(
    shared_data: Any, expected: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """`eval --rubric tree.json --judge record:tree.json --json` prints every node's score by id."""
    from honestone.cli.main import cli

    path = shared_data("paperbench_judgeeval").resolve() / "all-in-one.json"
    (tmp_path / "a.md").write_text("A submission.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["eval", "a.md", "--rubric", str(path), "--judge", f"record:{path}", "--json"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    stored = {node["id"]: node["score"] for node in nodes(json.loads(path.read_text("utf-8")))}
    found = {line["id"]: line["score"] / 100 for line in report["criteria"]}
    assert found.keys() == stored.keys()
    assert max(abs(found[id] - score) for id, score in stored.items()) < 1e-12
    assert (
        abs(
            report["score"] / 100
            - expected("paperbench_judgeeval")["all-in-one"]["root_score_stored"]
        )
        < 1e-12
    )


@pytest.mark.parametrize("name", UNGRADED)
def test_ungraded_trees_load(name: str, shared_data: Any) -> None:
    """Every leaf is a yes/no question, nothing is lost, and there is no mark to take for a score."""
    source = read_any_rubric(shared_data("rubrics_wild") / "paperbench_trees" / f"{name}.json")
    assert isinstance(source, ForeignRubric)
    assert (source.dialect, source.losses, dict(source.marks)) == ("paperbench", (), {})
    assert all(item.anchors is None for _, item in source.rubric.questions())
