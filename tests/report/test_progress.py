"""Live progress, watched through a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import io
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from honestone.cli.terminal import Progress, style_for
from honestone.system.drawing import Style, width

pexpect = pytest.importorskip("pexpect", reason="pexpect drives the pseudo-terminal")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def screen(raw: str) -> list[str]:
    """What a person sees after all of it: carriage return, erase line and line feed carried out,
    colours left out.
    """
    lines, column = [""], 0
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", raw):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif not part.startswith("\x1b"):
            lines[-1] = lines[-1][:column] + part + lines[-1][column + len(part) :]
            column += len(part)
    return lines


def run_in_terminal(
    tmp_path: Path, code: str, *, columns: int = 80, env: dict[str, str] | None = None
) -> Any:
    script = tmp_path / "watch.py"
    script.write_text(
        "import sys, time\nfrom honestone.cli.terminal import Progress\n" + code, encoding="utf-8"
    )
    environ = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm", "PYTHONUTF8": "1"} | (
        env or {}
    )
    return pexpect.spawn(
        sys.executable,
        [str(script)],
        dimensions=(24, columns),
        encoding="utf-8",
        timeout=300,
        env=environ,
    )


def test_the_line_is_live_and_gone_at_the_end(tmp_path: Path) -> None:
    """Done, total and what is being done are seen while it runs; afterwards only notes and results
    are left.
    """
    child = run_in_terminal(
        tmp_path,
        "with Progress() as progress:\n"
        "    progress.progress(1, 4, 'asking codex')\n"
        "    progress.note('gemini is not installed')\n"
        "    time.sleep(0.1)\n"
        "    progress.progress(3, 4, 'asking claude')\n"
        "print('RESULT')\n",
    )
    child.expect(pexpect.EOF)
    raw = child.before
    assert re.search(r"1/4 .*asking codex .*\d:\d\d", raw)
    assert re.search(r"3/4 .*asking claude .*\d:\d\d", raw)
    assert [one for one in screen(raw) if one] == ["gemini is not installed", "RESULT"]


def test_ctrl_c_clears_the_line(tmp_path: Path) -> None:
    """What is printed after an interruption starts on an empty line."""
    child = run_in_terminal(
        tmp_path,
        "try:\n"
        "    with Progress() as progress:\n"
        "        progress.progress(1, 9, 'asking codex')\n"
        "        time.sleep(600)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted; the same command goes on')\n",
    )
    child.expect("asking codex")
    child.kill(signal.SIGINT)
    child.expect(pexpect.EOF)
    whole = "asking codex" + child.before
    assert [one for one in screen(whole) if one] == ["interrupted; the same command goes on"]


def test_an_exit_without_the_context_manager_clears_the_line_too(tmp_path: Path) -> None:
    """sys.exit in the middle leaves no half line behind."""
    child = run_in_terminal(
        tmp_path, "progress = Progress()\nprogress.progress(1, 9, 'asking codex')\nsys.exit(3)\n"
    )
    child.expect(pexpect.EOF)
    assert "asking codex" in child.before
    assert [one for one in screen(child.before) if one] == []


@pytest.mark.parametrize("columns", [12, 30, 40, 59, 60, 120])
def test_the_line_never_wraps(tmp_path: Path, columns: int) -> None:
    """A wrapped line could not be taken back, so it always fits, wide letters included."""
    child = run_in_terminal(
        tmp_path,
        "with Progress() as progress:\n    progress.progress(123, 456, '보고서를 평가하는 중입니다 ' * 9)\n",
        columns=columns,
    )
    child.expect(pexpect.EOF)
    drawn = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", child.before).split("\r")
    assert any("123/456" in one for one in drawn)
    assert all(width(one) < columns for one in drawn)


@pytest.mark.parametrize("style", [Style(), Style(unicode=False, encoding="latin-1")])
@pytest.mark.parametrize(("done", "total"), [(0, 0), (3, 12), (5, 4), (10**9, 10**9)])
@pytest.mark.parametrize("columns", [1, 2, 5, 12, 16, 24, 25, 60, 100])
def test_the_line_fits_whatever_is_done(
    style: Style, done: int, total: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal of any width, also where words are written as escapes."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    Progress(stream, style=style, clock=Clock()).progress(done, total, "보고서를 평가하는 중 " * 9)
    frames = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", stream.getvalue()).split("\r")
    assert max(width(frame) for frame in frames) <= max(columns - 1, 1)


def test_the_line_has_spinner_count_bar_words_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order; the spinner and the time move with the clock."""
    monkeypatch.setenv("COLUMNS", "80")
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, style=Style(), clock=clock)
    progress.progress(0, 4, "asking codex")
    clock.now = 62.05
    progress.progress(1, 4, "asking codex")
    frames = stream.getvalue().split("\r\x1b[2K")
    assert frames[1].startswith("⠋ 0/4 ░░░░░░░░░░░░░░░░ asking codex 0:00")
    assert frames[2][1:] == " 1/4 ████░░░░░░░░░░░░ asking codex 1:02"
    assert frames[2][0] != frames[1][0]


def test_the_clock_moves_while_a_judge_thinks(tmp_path: Path) -> None:
    """Within an event loop the line is redrawn though nobody reports anything."""
    child = run_in_terminal(
        tmp_path,
        "import asyncio, os\n"
        "async def main():\n"
        "    with Progress() as progress:\n"
        "        progress.progress(0, 1, 'asking codex')\n"
        f"        while not os.path.exists({str(tmp_path / 'go')!r}): await asyncio.sleep(0.02)\n"
        "asyncio.run(main())\n",
    )
    child.expect(r"asking codex[^\r]*0:00")
    child.expect(r"asking codex[^\r]*0:0[1-9]")
    (tmp_path / "go").touch()
    child.expect(pexpect.EOF)
    assert [one for one in screen("asking codex 0:01" + child.before) if one] == []


def test_a_dumb_terminal_gets_notes_only(tmp_path: Path) -> None:
    """TERM=dumb cannot take a line back."""
    child = run_in_terminal(
        tmp_path,
        "with Progress() as p:\n    p.progress(1, 2, 'x')\n    p.note('hello')\n",
        env={"TERM": "dumb"},
    )
    child.expect(pexpect.EOF)
    assert child.before == "hello\r\n"


def test_a_pipe_gets_plain_notes_and_no_progress() -> None:
    """Nothing but the notes, one a line."""
    stream = io.StringIO()
    with Progress(stream) as progress:
        progress.progress(1, 2, "asking codex")
        progress.note("one")
        progress.progress(2, 2, "asking codex")
        progress.event({"type": "anything"})
        progress.note("two\n")
    assert stream.getvalue() == "one\ntwo\n"


def test_quiet_silences_everything() -> None:
    """--quiet: no note and no live line."""
    stream = Terminal()
    with Progress(stream, quiet=True) as progress:
        progress.progress(1, 2, "x")
        progress.note("one")
    assert stream.getvalue() == ""


def test_clear_makes_room_for_other_output_and_progress_comes_back() -> None:
    """After clear() nothing is left on the line; the next report draws it at once."""
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, style=Style(unicode=False), clock=clock)
    progress.progress(1, 5, "first")
    progress.clear()
    assert screen(stream.getvalue()) == [""]
    progress.progress(2, 5, "second")
    assert "2/5" in screen(stream.getvalue())[-1] and "second" in screen(stream.getvalue())[-1]
    progress.close()
    assert screen(stream.getvalue()) == [""]


def test_frequent_reports_are_not_all_drawn() -> None:
    """Ten thousand reports in a moment do not become ten thousand lines of output."""
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock=clock)
    for number in range(10_000):
        clock.now += 0.0001
        progress.progress(number, 10_000, "checking")
    progress.close()
    assert stream.getvalue().count("checking") < 30


def test_notes_cannot_act_on_the_terminal() -> None:
    """A file name with an escape sequence is shown, not obeyed; rendered pages keep their colours."""
    stream = io.StringIO()
    progress = Progress(stream)
    progress.note("read \x1b[2Jevil\r.md")
    progress.show("\x1b[32mours\x1b[0m")
    assert stream.getvalue() == "read \\x1b[2Jevil\\x0d.md\n\x1b[32mours\x1b[0m\n"


def test_a_closed_stream_does_not_end_the_work() -> None:
    """Whoever closed stderr still gets the result."""
    stream = Terminal()
    progress = Progress(stream)
    progress.progress(1, 2, "x")
    stream.close()
    progress.note("nobody hears this")
    progress.progress(2, 2, "x")
    progress.close()


def test_the_timer_ends_with_the_progress() -> None:
    """No frame is drawn after close, though the loop goes on."""

    async def watch() -> str:
        stream = Terminal()
        progress = Progress(stream)
        progress.progress(0, 1, "asking")
        progress.close()
        before = stream.getvalue()
        await asyncio.sleep(0.3)
        return stream.getvalue()[len(before) :]

    assert asyncio.run(watch()) == ""


@pytest.mark.parametrize(
    ("environ", "color"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_needs_a_terminal_that_wants_it(environ: dict[str, str], color: bool) -> None:
    """NO_COLOR and TERM=dumb are respected; a pipe never gets colour."""
    assert style_for(Terminal(), environ).color is color
    assert style_for(io.StringIO(), environ).color is False


def test_the_style_follows_the_stream() -> None:
    """COLUMNS wins, an encoding without blocks gets ASCII."""
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert style_for(latin, {"COLUMNS": "47"}).width == 47
    assert style_for(latin, {}).unicode is False
    assert style_for(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), {}).unicode is True
