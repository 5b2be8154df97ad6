"""The digest of the code changes with every byte that could judge otherwise, and with nothing else."""

from __future__ import annotations

from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from honestone.system.trust.code_digest import code_digest

NONE: list[Distribution] = []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "honestone"
    (made / "core").mkdir(parents=True)
    (made / "core/a.py").write_text("x = 1\n")
    (made / "prompt.md").write_text("Judge.\n")
    return made


@pytest.mark.parametrize("name", ["core/a.py", "prompt.md", "core/new.py"])
def test_code_and_prompts_count(package: Path, name: str) -> None:
    """Changed, or new."""
    before = code_digest(package, NONE)
    assert code_digest(package, NONE) == before
    with (package / name).open("a") as file:
        file.write("\nCHANGED = True\n")
    assert code_digest(package, NONE) != before


@pytest.mark.parametrize("name", ["core/__pycache__/a.pyc", "_examples/a.md", "core/b.pyc"])
def test_what_is_not_code_does_not_count(package: Path, name: str) -> None:
    """Bytecode, and examples, which a checkout has elsewhere."""
    before = code_digest(package, NONE)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("x")
    assert code_digest(package, NONE) == before


def test_where_it_is_installed_does_not_count(package: Path, tmp_path: Path) -> None:
    """Two machines have it in two places."""
    before = code_digest(package, NONE)
    assert code_digest(package.rename(tmp_path / "elsewhere"), NONE) == before


def test_packages_that_add_to_it_count(package: Path, tmp_path: Path) -> None:
    """With their files, whatever their version says; other packages do not."""
    before = code_digest(package, NONE)

    def installed(name: str, group: str, record: str) -> Distribution:
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{group}]\nshouts = m:f\n")
        (info / "RECORD").write_text(record)
        return PathDistribution(info)

    first = code_digest(package, [installed("p", "honestone.checks", "m.py,sha256=a,1")])
    second = code_digest(package, [installed("p", "honestone.checks", "m.py,sha256=b,1")])
    assert len({before, first, second}) == 3
    assert code_digest(package, [installed("q", "console_scripts", "q.py,sha256=a,1")]) == before


def test_the_installed_package_has_one() -> None:
    """Twice the same."""
    import honestone

    folder = Path(honestone.__path__[0])
    assert code_digest(folder) == code_digest(folder) and code_digest(folder).startswith("sha256:")
