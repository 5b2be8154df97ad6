"""`make dist`: the packages of a release, and what shows that they are good.

Built twice, byte for byte the same; read by twine and check-wheel-contents; installed in an empty
environment of every supported Python that is here, where the demo runs; a bill of materials
(CycloneDX) of what such an install holds; and the release notes. All of it is in `dist/`; the exit
code is 0 only where everything held.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
SHIPPED = (
    "share/man/man1/honestone.1",
    "share/bash-completion/completions/honestone",
    "share/zsh/site-functions/_honestone",
    "share/fish/vendor_completions.d/honestone.fish",
)
"""What a wheel installs below the environment's root, besides the package."""


class Failed(Exception):
    """What did not hold, in words."""


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """The output of a command. Raises Failed with the last of it when it does not exit 0."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        text=True,
        capture_output=True,
        timeout=1200,
        check=False,
    )
    if ended.returncode != 0:
        said = (ended.stdout + ended.stderr).strip()[-1500:]
        raise Failed(f"{Path(command[0]).name} exited {ended.returncode}: {said}")
    return ended.stdout


def environment(folder: Path, python: Path | str, *packages: str) -> Path:
    """The Python of a new environment with these packages."""
    run(python, "-m", "venv", folder)
    made = folder / "bin" / "python"
    run(made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return made


def build(tools: Path, folder: Path) -> list[Path]:
    """An sdist of the repository, and a wheel of that sdist. Times in both are those of the last
    commit.
    """
    last = run("git", "log", "-1", "--format=%ct", cwd=REPO).strip()
    env = {**os.environ, "SOURCE_DATE_EPOCH": last, "PYTHONHASHSEED": "0"}
    run(tools, "-m", "build", "--no-isolation", "--outdir", folder, REPO, env=env)
    return sorted(folder.iterdir())


def differences(first: Sequence[Path], second: Sequence[Path]) -> list[str]:
    """The names of packages that are not the same bytes in both builds, or only in one."""
    one, other = (
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
        for paths in (first, second)
    )
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def pythons(names: Sequence[str] = SUPPORTED) -> Iterator[tuple[str, Path]]:
    """The supported versions that are on this machine: on the path, or of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for name in names:
        found = shutil.which(f"python{name}")
        for place in [
            *([Path(found)] if found else []),
            *sorted(root.glob(f"versions/{name}.*/bin/python3")),
        ]:
            if _version_of(place) == name:
                yield name, place
                break


def _version_of(python: Path) -> str:
    """`3.12`; empty where it does not run."""
    words = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        ended = subprocess.run(
            [python, "-c", words], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def try_install(python: Path, wheel: Path, folder: Path) -> Path:
    """Installs the wheel and nothing else, looks at what came with it, and runs the demo in an
    empty folder.
    """
    made = environment(folder / "env", python, str(wheel))
    command = made.with_name("honestone")
    if missing := [name for name in SHIPPED if not (folder / "env" / name).is_file()]:
        raise Failed(f"not in the wheel: {', '.join(missing)}")
    place = folder / "empty"
    place.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "LANG": "C.UTF-8"}
    if wheel.name.split("-")[1] not in (said := run(command, "--version", cwd=place, env=env)):
        raise Failed(f"`honestone --version` says {said.strip()}")
    run(command, "demo", cwd=place, env=env)
    return made


def release_notes(changelog: str, version: str) -> str:
    """The section of a version; of what is unreleased where the version has none yet. Raises Failed
    where neither is there.
    """
    parts = changelog.split("\n## [")
    named = {part.partition("]")[0]: part.partition("\n")[2].strip() for part in parts[1:]}
    found = named.get(version) or named.get("Unreleased")
    if not found:
        raise Failed(f"the changelog has neither a section [{version}] nor [Unreleased]")
    return f"# honestone {version}\n\n{found}\n"


def requirements() -> list[str]:
    """The tools of the dependency group `dist`, pinned there."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["dependency-groups"]["dist"])


class Steps:
    """Steps with a line each; the first that fails ends it."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, words: str, work: Callable[[], object]) -> None:
        if self.failed:
            return
        try:
            work()
        except Failed as failed:
            self.failed = True
            print(f"✗ {words}: {failed}")
        else:
            print(f"✓ {words}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build and check the packages of a release.")
    parser.add_argument(
        "--output", type=Path, default=REPO / "dist", help="where the packages go [dist/]"
    )
    output = parser.parse_args(arguments).output
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="honestone-dist-") as name:
        room = Path(name)
        tools = room / "tools" / "bin" / "python"
        steps(
            "tools: installed", lambda: environment(room / "tools", sys.executable, *requirements())
        )
        steps("sdist and wheel: built", lambda: _deliver(build(tools, room / "one"), output))
        steps(
            "sdist and wheel: built again, byte for byte the same",
            lambda: _require_same(tools, room),
        )
        packages = sorted((room / "one").glob("*"))
        steps("twine check", lambda: run(tools, "-m", "twine", "check", "--strict", *packages))
        wheels = [path for path in packages if path.suffix == ".whl"]
        steps(
            "check-wheel-contents",
            lambda: run(tools.with_name("check-wheel-contents"), *wheels, cwd=REPO),
        )
        here = dict(pythons())
        for version, python in here.items():
            folder = room / version
            folder.mkdir()
            steps(
                f"Python {version}: installed, demo",
                lambda p=python, f=folder: try_install(p, wheels[0], f),
            )  # type: ignore[misc]
        for version in sorted(set(SUPPORTED) - set(here)):
            print(f"- Python {version}: not on this machine, so not tried")
        first = room / next(iter(here), "") / "env" / "bin" / "python"
        bill = output / f"{wheels[0].name.split('-py3')[0]}.cdx.json" if wheels else output
        command = (
            tools.with_name("cyclonedx-py"),
            "environment",
            "--output-reproducible",
            "-o",
            bill,
            first,
        )
        steps("bill of materials (CycloneDX)", lambda: run(*command))
        steps("release notes: from the changelog", lambda: _write_notes(wheels[0], output))
    print("dist: " + ("something did not hold" if steps.failed else f"{output} holds the release"))
    return 1 if steps.failed else 0


def _deliver(packages: Sequence[Path], output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for path in packages:
        shutil.copy(path, output / path.name)


def _write_notes(wheel: Path, output: Path) -> None:
    changelog = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    notes = release_notes(changelog, wheel.name.split("-")[1])
    (output / "NOTES.md").write_text(notes, encoding="utf-8")


def _require_same(tools: Path, room: Path) -> None:
    if names := differences(sorted((room / "one").iterdir()), build(tools, room / "two")):
        raise Failed(f"not the same bytes: {', '.join(names)}")


if __name__ == "__main__":
    sys.exit(main())
