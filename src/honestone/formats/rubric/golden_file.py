"""Golden examples: files or folders with a verdict that the rubric must give. Rubric unit tests.

DIR/expected.yaml    NAME: pass | fail | inconclusive, or {verdict: fail, score: [10, 30], CRITERION: [80, 100]}
DIR/pass/*, DIR/fail/*    without a file: the folder's name is the verdict
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.suite.case import Expect
from honestone.formats.syntax.marked import Marked, read_marked
from honestone.formats.syntax.reader import FileReading, did_you_mean

FILES: Final = ("expected.yaml", "expected.yml", "expected.json")
VERDICTS: Final = ("pass", "fail", "inconclusive")


class GoldenExample(Struct, frozen=True, kw_only=True):
    """One example: its name under the folder, where it is, and what the rubric must make of it."""

    name: str
    path: Path
    expect: Expect


def read_examples(folder: Path, rubric: Rubric) -> tuple[list[GoldenExample], list[str]]:
    """The examples in order, and notes about files that are none. Raises UsageError with every
    mistake's place.
    """
    if not folder.is_dir():
        raise FileError(f"folder `{folder}` not found", hint="--golden takes a folder of examples")
    found = {
        f"{verdict}/{path.name}": GoldenExample(
            name=f"{verdict}/{path.name}", path=path, expect=Expect(verdict=cast(Any, verdict))
        )
        for verdict in VERDICTS
        for path in _entries(folder / verdict)
    }
    table = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if table is not None:
        found |= {example.name: example for example in _read_table(table, rubric)}
    if not found:
        raise UsageError(
            f"`{folder}` holds no examples",
            hint="put files into pass/ and fail/ below it, or name them in expected.yaml (NAME: pass)",
        )
    known = {name.split("/")[0] for name in found} | set(FILES)
    notes = [
        f"{path} is not in {table.name}, so nothing is expected of it"
        for path in _entries(folder)
        if table is not None and path.name not in known
    ]
    return list(found.values()), notes


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FileError(f"`{folder}` cannot be read: {error.strerror or error}") from None


def _read_table(path: Path, rubric: Rubric) -> list[GoldenExample]:
    marked = read_marked(path)
    if not isinstance(marked.value, dict) or not marked.value:
        raise UsageError(
            "this must be a mapping from names to verdicts",
            place=marked.at(()),
            hint="for example good.md: pass",
        )
    reading = _GoldenReading(marked, {criterion.id for criterion, _ in rubric.walk()})
    examples = [reading.example(path.parent, key) for key in marked.value]
    reading.finish()
    return [example for example in examples if example is not None]


class _GoldenReading(FileReading):
    """One pass over the table; what is wrong is noted with its place."""

    def __init__(self, marked: Marked, criteria: Collection[str]) -> None:
        super().__init__(marked)
        self.criteria = criteria

    def example(self, folder: Path, key: Any) -> GoldenExample | None:
        name = self.marked.raw_key((key,)).rstrip("/")
        path = folder / name
        if not _is_inside(folder, name):
            hint = "examples belong in the folder of the file that names them"
            self.problem(f"`{name}` leads out of `{folder}`", (key,), hint, at_key=True)
            return None
        if not path.exists():
            names = [entry.name for entry in _entries(folder)]
            hint = did_you_mean(name, names) or "remove the line, or add the file"
            self.problem(f"example `{path}` not found", (key,), hint, at_key=True)
            return None
        expect = self.expect(self.marked.value[key], (key,))
        return None if expect is None else GoldenExample(name=name, path=path, expect=expect)

    def expect(self, value: Any, path: tuple[Any, ...]) -> Expect | None:
        if isinstance(value, str):
            verdict = self.verdict(value, path)
            return None if verdict is None else Expect(verdict=cast(Any, verdict))
        if not isinstance(value, dict) or not value:
            hint = "pass, fail, or {verdict: fail, score: [10, 30]}"
            self.problem("what is expected must be a verdict or a mapping", path, hint)
            return None
        return self.ranges(value, path)

    def ranges(self, value: Mapping[Any, Any], path: tuple[Any, ...]) -> Expect:
        verdict: str | None = None
        score: tuple[Fraction, Fraction] | None = None
        criteria: dict[str, tuple[Fraction, Fraction]] = {}
        for key, wanted in value.items():
            here = (*path, key)
            name = self.marked.raw_key(here)
            if name == "verdict":
                verdict = self.verdict(wanted, here)
            elif name == "score":
                score = self.range(wanted, here)
            elif name not in self.criteria:
                hint = did_you_mean(name, [*self.criteria, "verdict", "score"])
                self.problem(f"the rubric has no criterion `{name}`", here, hint, at_key=True)
            elif (ends := self.range(wanted, here)) is not None:
                criteria[name] = ends
        return Expect(verdict=cast(Any, verdict), score=score, criteria=criteria)

    def verdict(self, value: Any, path: tuple[Any, ...]) -> str | None:
        if value in VERDICTS:
            return str(value)
        self.problem(
            f"`{self.marked.raw(path)}` is not a verdict", path, f"one of: {', '.join(VERDICTS)}"
        )
        return None

    def range(self, value: Any, path: tuple[Any, ...]) -> tuple[Fraction, Fraction] | None:
        """`[60, 80]` or one number, in points, as 0-1."""
        places = (
            [(*path, at) for at in range(2)]
            if isinstance(value, list) and len(value) == 2
            else [path, path]
        )
        try:
            low, high = (self.marked.number(place) / 100 for place in places)
        except ValueError:
            self.problem(
                "a range must be two numbers", path, "for example [60, 80], in points of 100"
            )
            return None
        if not 0 <= low <= high <= 1:
            message = "a range goes from a lower number to a higher one, both from 0 to 100"
            self.problem(message, path, "for example [60, 80]")
            return None
        return low, high


def _is_inside(folder: Path, name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def differing(
    expect: Expect,
    verdict: str,
    score: tuple[Fraction, Fraction],
    criteria: Mapping[str, tuple[Fraction, Fraction]],
) -> Iterator[tuple[str, bool | None]]:
    """What is not as expected, in words: False is certainly not, None: unknown as long as marks are
    missing.

    `score` and `criteria` are intervals (0-1) of what is known.
    """
    if expect.verdict is not None and verdict != expect.verdict:
        yield (
            f"the verdict is {verdict}, not {expect.verdict}",
            None if verdict == "inconclusive" else False,
        )
    wanted = ({"the score": expect.score} if expect.score else {}) | {
        f"`{name}`": ends for name, ends in expect.criteria.items()
    }
    known = {"the score": score, **{f"`{name}`": ends for name, ends in criteria.items()}}
    for name, (low, high) in wanted.items():
        found_low, found_high = known[name]
        if low <= found_low and found_high <= high:
            continue
        is_out = found_high < low or found_low > high
        yield (
            f"{name} is {_span(found_low, found_high)}, expected {_span(low, high)}",
            False if is_out else None,
        )


def _span(low: Fraction, high: Fraction) -> str:
    from honestone.core.numbers import show_points

    return show_points(low) if low == high else f"{show_points(low)} to {show_points(high)}"
