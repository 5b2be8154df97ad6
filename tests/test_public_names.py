"""The public names of 0.1.0 import, or warn with the name that took their place (docs/reference/support.md)."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from honestone.core.plugins import EXTENSION_POINTS

NAMES = {
    "honestone": (
        "Anchors Artifact Ballot Case Check ComparisonResult CouldNotJudge Criterion Evaluated HonestoneError ImprovementResult Item Mark "
        "Message Outcome Rubric RubricError Rule Scorecard Scorer StepResult Suite SuiteResult TableResult Text UsageError Verdict Version "
        "acompare aevaluate aevaluate_many aimprove arun_suite assert_passes compare evaluate evaluate_many improve judge_gate parse_rubric "
        "read_rubric run_stages run_suite step"
    ).split(),
    "honestone.testing": (
        "ScriptedJudge ScriptedModel ScriptedWorker check_judge check_model check_store check_worker crash fill_in reply_json "
        "sample_question unchanged"
    ).split(),
}
"""What 0.1.0 promised. Names may be added to a module's `__all__` and not here; none is taken out
here before its time.
"""

DEPRECATED: dict[str, str] = {}
"""`module.name` to the name that took its place. It imports, warns, and says this name."""

GROUPS = tuple(
    f"honestone.{name}"
    for name in ("checks", "formats", "judges", "workers", "targets", "reports", "stores")
)


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names]
)
def test_a_public_name_imports_or_warns(module: str, name: str) -> None:
    """Without a warning where it stays, with one that names its successor where it goes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", DeprecationWarning)
        found = getattr(importlib.import_module(module), name)
    assert found is not None
    said = [
        str(one.message)
        for one in heard
        if issubclass(one.category, DeprecationWarning) and name in str(one.message)
    ]
    successor = DEPRECATED.get(f"{module}.{name}")
    assert (said == []) if successor is None else any(successor in words for words in said)


@pytest.mark.parametrize("module", list(NAMES))
def test_what_stays_is_listed(module: str) -> None:
    """`__all__` holds every name that is not deprecated, so `from MODULE import *` and editors find
    it.
    """
    listed = set(importlib.import_module(module).__all__)
    stays = {name for name in NAMES[module] if f"{module}.{name}" not in DEPRECATED}
    assert stays <= listed


def test_the_entry_point_groups_keep_their_names() -> None:
    """A package that adds a check, a format, a judge, ... is found under the name that it was
    written for.
    """
    assert set(GROUPS) <= {point.group for point in EXTENSION_POINTS}


def test_a_store_of_another_package_is_looked_for_in_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HONESTONE_STORE names an entry point of `honestone.stores`."""

    from honestone.app.workspace import Workspace
    from honestone.system import plugins

    asked: list[str] = []

    def entry_points(*, group: str) -> list[object]:
        asked.append(group)
        return []

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    plugins.plugins.cache_clear()
    monkeypatch.setenv("HONESTONE_STORE", "mine:there")
    with pytest.raises(Exception, match="mine"):
        Workspace.at(tmp_path).open_store()
    plugins.plugins.cache_clear()
    assert asked == ["honestone.stores"]


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    """So that `hasattr` and star imports work, without a trace of what stands in for a module's
    names.
    """
    ended = subprocess.run(
        [sys.executable, "-c", "import honestone; print(hasattr(honestone, 'nothing'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == "False"
