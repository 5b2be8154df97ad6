"""What a release holds: `make dist` finds differences, the wheel has its extra files, the
Containerfile can be built.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import dist
import pytest

REPO = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


def test_other_bytes_and_missing_packages_are_differences(tmp_path: Path) -> None:
    """A package that is only in one build differs as much as one with another byte."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.whl").write_bytes(b"a")
        (tmp_path / name / "other.tar.gz").write_bytes(name.encode())
    (tmp_path / "one" / "alone.whl").write_bytes(b"")
    found = dist.differences(list((tmp_path / "one").iterdir()), list((tmp_path / "two").iterdir()))
    assert found == ["alone.whl", "other.tar.gz"]


def test_only_pythons_that_run_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher that fails is not a Python; this one is found by its version."""
    version = ".".join(map(str, sys.version_info[:2]))
    broken = tmp_path / "python3.11"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    pyenv = tmp_path / "pyenv" / "versions" / f"{version}.1" / "bin"
    pyenv.mkdir(parents=True)
    (pyenv / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert version in dict(dist.pythons([version]))
    assert dict(dist.pythons(["3.99"])) == {}


def test_a_step_that_fails_ends_it_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """The words of the command that failed are shown, and nothing after it is claimed."""
    steps = dist.Steps()
    steps("fine", lambda: dist.run("true"))
    steps("broken", lambda: dist.run("sh", "-c", "echo the reason; exit 3"))
    steps("later", lambda: dist.run("true"))
    out = capsys.readouterr().out.splitlines()
    assert steps.failed and out[0] == "✓ fine" and len(out) == 2
    assert "exited 3" in out[1] and "the reason" in out[1]


def test_the_wheel_takes_the_man_page_and_the_completions() -> None:
    """What is in share/ is installed below share/, and each file that dist.py looks for is there
    and not empty.
    """
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"] == {
        "share": "share"
    }
    there = {
        path.relative_to(REPO).as_posix() for path in (REPO / "share").rglob("*") if path.is_file()
    }
    assert there == set(dist.SHIPPED)
    assert all((REPO / name).stat().st_size > 100 for name in there)


def test_release_notes_are_a_section_of_the_changelog() -> None:
    """The section of the version, else what is unreleased; a changelog with neither is refused."""
    text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- new\n\n## [0.1.0]\n\n- first [a](b)\n"
    assert dist.release_notes(text, "0.1.0") == "# honestone 0.1.0\n\n- first [a](b)\n"
    assert dist.release_notes(text, "0.2.0") == "# honestone 0.2.0\n\n### Added\n\n- new\n"
    with pytest.raises(dist.Failed, match=r"\[0\.2\.0\]"):
        dist.release_notes("# Changelog\n", "0.2.0")
    ours = dist.release_notes((REPO / "CHANGELOG.md").read_text(encoding="utf-8"), "0.2.0")
    assert "### Added" in ours
    assert "### Added" in dist.release_notes(
        (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), "0.1.0"
    )


def test_the_man_page_can_be_read() -> None:
    """man's formatter finds no fault in it, and every command is there."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not here")
    page = REPO / "share/man/man1/honestone.1"
    ended = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", page],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    for word in ("eval", "improve", "EXIT STATUS", "honestone.toml"):
        assert word in ended.stdout


def test_the_versions_agree() -> None:
    """The package's version is said in one place that others follow; the Pythons of the tool are
    those of the classifiers.
    """
    named = re.findall(
        r"Programming Language :: Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"])
    )
    assert tuple(named) == dist.SUPPORTED
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/honestone/__init__.py"
    assert all("==" in one for one in dist.requirements())


# ------------------------------------------------------------------------------------------------------
# Containerfile


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, continued lines joined. Raises ValueError for a line
    that is none.
    """
    joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text))
    found = []
    for one in filter(None, map(str.strip, joined.splitlines())):
        word, _, rest = one.partition(" ")
        if word not in (
            "FROM",
            "COPY",
            "RUN",
            "USER",
            "WORKDIR",
            "ENTRYPOINT",
            "CMD",
            "ENV",
            "ARG",
            "LABEL",
        ):
            raise ValueError(f"not an instruction: {one}")
        found.append((word, rest.strip()))
    return found


def test_the_containerfile_follows_the_rules_of_its_linters() -> None:
    """Pinned base, no packages that were not asked for, no lists left behind, not as root, an entry
    point as a list.
    """
    found = instructions((REPO / "Containerfile").read_text(encoding="utf-8"))
    bases = [rest.split()[0] for word, rest in found if word == "FROM"]
    assert all(
        re.fullmatch(r"[\w./-]+:[\w.-]+", base) and not base.endswith(":latest") for base in bases
    )
    runs = [rest for word, rest in found if word == "RUN"]
    for words in runs:
        subprocess.run(["sh", "-n", "-c", words], check=True, timeout=60)
        if "apt-get install" in words:
            assert (
                "--no-install-recommends" in words
                and "rm -rf /var/lib/apt/lists" in words
                and "apt-get update" in words
            )
        if "pip install" in words:
            assert "--no-cache-dir" in words
    last = max(number for number, (word, _) in enumerate(found) if word == "FROM")
    final = found[last:]
    assert [rest for word, rest in final if word == "USER"][-1] not in ("root", "0")
    assert next(rest for word, rest in final if word == "ENTRYPOINT") == '["honestone"]'
    installed = " ".join(shlex.split(words := " ".join(runs))) if runs else ""
    assert all(package in installed for package in ("bubblewrap", "git", "nodejs")), words


def test_the_containerfile_uses_a_python_that_is_supported() -> None:
    """The base is one of the Pythons that `make dist` tries, and what is copied from another stage
    is made there.
    """
    text = (REPO / "Containerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"FROM python:(3\.\d+)", text)) <= set(dist.SUPPORTED)
    made = {
        rest.split(" AS ")[1]
        for word, rest in instructions(text)
        if word == "FROM" and " AS " in rest
    }
    assert set(re.findall(r"--from=(\w+)", text)) <= made


def test_an_image_is_built_without_what_git_ignores() -> None:
    """Docker reads `.dockerignore` alone, podman that too: runs, keys of tests and environments of
    this machine stay here.
    """
    left_out = {
        line.removeprefix("**/")
        for line in (REPO / ".dockerignore").read_text(encoding="utf-8").splitlines()
    }
    ignored = {
        line.rstrip("/")
        for line in (REPO / ".gitignore").read_text(encoding="utf-8").splitlines()
        if line
    }
    assert ignored | {".git"} <= left_out
    assert not (REPO / ".containerignore").exists(), "podman would read it in place of the other"
