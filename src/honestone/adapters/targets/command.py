"""`cmd:COMMAND`: a target that is a command. Input on stdin, output on stdout, or by `{PROMPT_FILE}`, `{OUTPUT_FILE}`.

Templates are replaced inside the words after splitting, so nothing is expanded or split again. `$HONESTONE_ARTIFACT`
names a private copy of the artifact.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from honestone.core.artifact import Version, as_text
from honestone.ports import Output
from honestone.system import process
from honestone.system.calls import how_ended, last_words
from honestone.system.files import make_copy

OUTPUT_LIMIT = 16 * 1024 * 1024
_TOO_LONG = f"more than {OUTPUT_LIMIT // 2**20} MiB of output"


class CommandTarget:
    """Any end but exit code 0, a time-out, output that is too long or not UTF-8 is an error, never a low score."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, timeout: float, pass_env: Sequence[str] = ()
    ) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self._identity = {"kind": "cmd", **process.describe_command(self._argv, cwd)}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    async def run(self, version: Version, input: str | None) -> Output:
        text = version.text if input is None else input
        with tempfile.TemporaryDirectory(prefix="honestone-target-") as folder:
            root = Path(folder)
            (root / "copy").mkdir()
            copy = make_copy(version, root / "copy", name="artifact")
            prompt, out = root / "prompt.txt", root / "output.txt"
            prompt.write_text(text, encoding="utf-8")
            places = {
                "{PROMPT}": text,
                "{PROMPT_FILE}": str(prompt),
                "{OUTPUT_FILE}": str(out),
                "{ARTIFACT}": str(copy.place),
            }
            argv = [self._argv[0], *(_fill(word, places) for word in self._argv[1:])]
            env = process.base_environment({"HONESTONE_ARTIFACT": str(copy.place)}, pass_names=self._pass_env)
            try:
                ended = await process.run(
                    argv,
                    cwd=self._cwd,
                    env=env,
                    stdin=text.encode(),
                    timeout=self._timeout,
                    output_limit=OUTPUT_LIMIT,
                )
            except process.NotStarted as error:
                return Output(text="", error=f"it could not be started: {error.reason}")
            to_file = any("{OUTPUT_FILE}" in word for word in self._argv)
            return _output(ended, out if to_file else None, self._timeout)


def _fill(word: str, places: Mapping[str, str]) -> str:
    """One pass over a word: what is put in is not looked at again."""
    out, rest = "", word
    while rest:
        start = min((at for name in places if (at := rest.find(name)) >= 0), default=-1)
        if start < 0:
            return out + rest
        name = next(name for name in places if rest.startswith(name, start))
        out, rest = out + rest[:start] + places[name], rest[start + len(name) :]
    return out


def _output(ended: process.Ended, file: Path | None, timeout: float) -> Output:
    took = int(ended.duration * 1000)
    if ended.timed_out:
        return Output(text="", error=f"no output within {timeout:g} s", duration_ms=took)
    if ended.truncated:
        return Output(text="", error=_TOO_LONG, duration_ms=took)
    if ended.exit != 0:
        why = f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": ")
        return Output(text="", error=why, duration_ms=took)
    data = ended.stdout
    if file is not None:
        if file.is_symlink() or not file.is_file():
            return Output(text="", error="it wrote no output file", duration_ms=took)
        if file.stat().st_size > OUTPUT_LIMIT:
            return Output(text="", error=_TOO_LONG, duration_ms=took)
        data = file.read_bytes()
    text = as_text(data)
    if text is None:
        return Output(text="", error="its output is not UTF-8 text", duration_ms=took)
    return Output(text=text, duration_ms=took)
