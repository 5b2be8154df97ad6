"""The commands of docs/reference/exports.md as a newcomer types them, with the tools that the page names
(`make test-exports`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
standin = import_module("langfuse_server")

PAGE = (Path(__file__).parents[2] / "docs/reference/exports.md").read_text("utf-8")
BIN = Path(sys.executable).parent
NOT_HERE = ("pip install", "inspect view")
"""The tools are here, and a viewer does not end."""


def typed(heading: str) -> list[list[str]]:
    """The commands of each block below a heading, those that write and those that only show."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"(?ms)^```(sh|console)\n(.*?)^```$", section)
    read = [
        [
            line.removeprefix("$ ")
            for line in text.splitlines()
            if kind == "sh" or line.startswith("$ ")
        ]
        for kind, text in blocks
    ]
    return [[line for line in lines if not line.startswith(NOT_HERE)] for lines in read]


@pytest.fixture
def newcomer(tmp_path: Path) -> Path:
    """A folder with the page's files and its run."""
    for name, text in re.findall(r"(?ms)^```\w+ (\S+\.\w+)\n(.*?)^```$", PAGE):
        (tmp_path / name).write_text(text)
    (command,) = re.findall(r"(?m)^\$ (honestone eval .+?) # exit 1$", PAGE)
    assert type_in(tmp_path, [command]).returncode == 1
    return tmp_path


def type_in(folder: Path, lines: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-ec", "\n".join(lines)],
        cwd=folder,
        env=os.environ | {"PATH": path} | env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("heading", "module", "said"),
    [
        ("Inspect", "inspect_ai", ""),
        ("Parquet", "pyarrow", "3"),
        ("SARIF", "sarif", ""),
    ],
)
def test_each_export_works_as_it_is_written(
    newcomer: Path, heading: str, module: str, said: str
) -> None:
    """Block after block, in one folder."""
    pytest.importorskip(module, reason="make test-exports installs it")
    blocks = typed(heading)
    assert blocks
    for lines in blocks:
        ended = type_in(newcomer, lines)
        assert ended.returncode == 0, ended.stderr
    assert said in ended.stdout


def test_inspect_lists_the_log_of_the_page(newcomer: Path) -> None:
    """Its viewer shows what its list of logs holds, and that goes by the name of a file."""
    log = pytest.importorskip("inspect_ai.log", reason="make test-exports installs it")
    ((line,),) = typed("Inspect")
    assert type_in(newcomer, [line]).returncode == 0
    (found,) = log.list_eval_logs(str(newcomer))
    assert log.read_eval_log(found).eval.task == "Opening hours"


def test_mlflow_works_as_it_is_written(newcomer: Path) -> None:
    """The block with a database; the other one needs a server."""
    pytest.importorskip("mlflow.store.db", reason="make test-exports installs it")
    server, database = typed("MLflow")
    assert server[-1] == database[-1]
    ended = type_in(newcomer, database)
    assert ended.returncode == 0 and "written: experiment Opening hours" in ended.stdout, (
        ended.stderr
    )


def test_langfuse_works_as_it_is_written(newcomer: Path) -> None:
    """With the address and the keys of the server of the tests in the places of the page's."""
    pytest.importorskip("langfuse", reason="make test-exports installs it")
    (lines,) = typed("Langfuse")
    with standin.langfuse_standin() as server:
        values = [*server.env.values(), ""]
        lines = [
            re.sub(r"=.*", f"={values[at]}", line) if line.startswith("export ") else line
            for at, line in enumerate(lines)
        ]
        ended = type_in(newcomer, lines)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("3 traces and ") and len(server.spans) == 3
