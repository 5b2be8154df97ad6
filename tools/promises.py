"""Takes the mechanism behind each promise of SECURITY.md out of a copy of the code, and runs the tests of that promise, which
must fail: `tools/promises.py [WORDS]`, those whose text has the words. The table is tests/attacks/promises.toml.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests/attacks/promises.toml"


def falls(edit: list[str], tests: list[str]) -> str:
    """What came of it: empty where a test fell, as it must."""
    file, old, new = edit
    with tempfile.TemporaryDirectory(prefix="promises-") as folder:
        package = Path(folder, "honestone")
        shutil.copytree(ROOT / "src/honestone", package)
        path = package / file
        text = path.read_text("utf-8")
        if text.count(old) != 1:
            return f"{file} has the text {text.count(old)} times: write the entry again"
        path.write_text(text.replace(old, new), "utf-8")
        ended = subprocess.run(
            [
                *(environment(Path(folder)), "-m", "pytest", "-q", "-x", "-n", "2"),
                *("-p", "no:cacheprovider", *(f"tests/{test}" for test in tests)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    fell = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    if ended.returncode in (1, 2) and fell:
        print(f"    {fell[0]}"[:160])
        return ""
    return f"no test fell (exit {ended.returncode})\n{ended.stdout[-400:]}"


def environment(folder: Path) -> str:
    """The Python of an environment in which the copy in `folder` is the package, whoever starts it
    and with whatever variables; it has the libraries and programs of this one.
    """
    place = folder / "environment"
    venv.create(place, symlinks=True)
    (ours,) = place.glob("lib/python*/site-packages")
    libraries = sysconfig.get_path("purelib")
    (ours / "copy.pth").write_text(f"{folder}\nimport site; site.addsitedir({libraries!r})\n")
    python = str(place / "bin/python")
    command = place / "bin/honestone"
    command.write_text(f"#!{python}\nfrom honestone.cli.main import main\nmain()\n")
    command.chmod(0o755)
    for program in Path(sys.executable).parent.iterdir():
        if not (place / "bin" / program.name).exists():
            (place / "bin" / program.name).symlink_to(program)
    return python


def main() -> int:
    words = " ".join(sys.argv[1:])
    wrong = 0
    for promise in tomllib.loads(TABLE.read_text("utf-8"))["promise"]:
        if words not in promise["text"]:
            continue
        print(promise["text"], flush=True)
        for edit in promise.get("taken_out", ()):
            problem = falls(edit, promise["tests"])
            if problem:
                wrong += 1
                print(f"    {edit[0]}: {problem}", flush=True)
    print(f"{wrong} without a test" if wrong else "each has a test that fails without it")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
