"""A recorded data set as a suite: the files a person would write, `eval` as a process of its own,
and its printed report.

Outputs and marks go in as `record:` files; what a test says about them it reads from the report
alone.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import statistics
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import warm

Answer: TypeAlias = int | bool | None
Answers: TypeAlias = Mapping[str, Answer]
"""What one judge said, by criterion. None: nothing that could be read."""

Place: TypeAlias = str | tuple[str, int]
"""A case, or one attempt at a case."""


def scale(lowest: int, highest: int) -> dict[str, str]:
    """Anchors at both ends."""
    return {str(lowest): "The worst there is", str(highest): "The best there is"}


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file, packed or not."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


@dataclass(frozen=True)
class Report:
    """What `eval --json` printed, and how it exited."""

    code: int
    document: dict[str, Any]

    @property
    def cases(self) -> dict[str, dict[str, Any]]:
        return {case["id"]: case for case in self.document["cases"]}

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended how, without the zeros."""
        return {status: count for status, count in self.document["counts"].items() if count}

    def scores(self, lowest: int = 0, highest: int = 100) -> dict[str, float]:
        """The score of every case that has one, on a scale again."""
        return {
            id: lowest + case["score"] * (highest - lowest) / 100
            for id, case in self.cases.items()
            if case["score"] is not None
        }

    def combined(self, criterion: str, lowest: int, highest: int) -> dict[str, float]:
        """What the panel made of a criterion, by case; cases without a mark are not in it."""
        found = {id: _criterion(case, criterion)["score"] for id, case in self.cases.items()}
        return {
            id: lowest + s * (highest - lowest) / 100 for id, s in found.items() if s is not None
        }

    def marks(self, judge: str, criterion: str, lowest: int, highest: int) -> dict[str, int]:
        """One judge's marks as they were given; a case where it gave none is not in it."""
        found = {}
        for id, case in self.cases.items():
            share = _criterion(case, criterion)["by_judge"].get(judge)
            if share is not None:
                mark = lowest + share * (highest - lowest) / 100
                assert abs(mark - round(mark)) < 1e-9, f"{judge} never said {mark} of {id}"
                found[id] = round(mark)
        return found

    def states(self, judge: str) -> Counter[str]:
        """Over all cases, how often the judge took part and how often it gave nothing usable."""
        return Counter(
            entry["state"]
            for case in self.cases.values()
            for entry in case["judges"]
            if entry["id"] == judge
        )


def _criterion(case: Mapping[str, Any], id: str) -> dict[str, Any]:
    return next(entry for entry in case["criteria"] if entry["id"] == id)


@dataclass(frozen=True)
class Evaluator:
    """A folder of its own with a suite, its recorded outputs and its recorded judges."""

    folder: Path

    def suite(
        self,
        criteria: Sequence[Mapping[str, Any]],
        cases: Iterable[Mapping[str, Any]],
        outputs: Mapping[Any, str],
        **head: Any,
    ) -> None:
        """`suite.json` and `outputs.jsonl`, outputs by place. There is no bar to meet beside those
        of `expect`.
        """
        rubric = {"rubric": 1, "threshold": 0, "floor": 0, "criteria": list(criteria)}
        suite = {"suite": 1, **head, "rubric": rubric, "cases": list(cases)}
        (self.folder / "suite.json").write_text(json.dumps(suite), "utf-8")
        self._write(
            "outputs.jsonl",
            ({**_place("id", at), "output": output} for at, output in outputs.items()),
        )

    def judge(self, name: str, said: Mapping[Any, Answers]) -> str:
        """Records what a judge said at each place; returns what to pass to `--judge`."""
        rows = (
            {
                **_place("case", at),
                "criteria": {criterion: _as_answer(a) for criterion, a in answers.items()},
            }
            for at, answers in said.items()
        )
        self._write(f"{name}.jsonl", rows)
        return f"record:{name}.jsonl"

    def _write(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def run(self, *judges: str, options: Sequence[str] = ()) -> Report:
        """The suite through the command. The recorded figures are those of the judges that
        answered: quorum 1.
        """
        named = [word for judge in judges for word in ("--judge", judge)]
        named += ["--quorum", "1"] if judges else []
        return self._command(
            "eval", "suite.json", "--target", "record:outputs.jsonl", *named, *options
        )

    def rescore(self, *options: str) -> Report:
        """The last run again, from its record."""
        return self._command("rescore", *options)

    def _command(self, *words: str) -> Report:
        ended = subprocess.run(
            [warm.command(), *words, "--json"],
            cwd=self.folder,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(self.folder),
                "LANG": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=600,
            check=False,
        )
        assert ended.returncode in (0, 1, 3), ended.stderr.decode()[-2000:]
        assert b"Traceback" not in ended.stderr, ended.stderr.decode()[-2000:]
        return Report(ended.returncode, json.loads(ended.stdout))


def _place(name: str, at: Place) -> dict[str, Any]:
    return {name: at} if isinstance(at, str) else {name: at[0], "attempt": at[1]}


def _as_answer(answer: Answer) -> dict[str, int | bool] | None:
    if answer is None:
        return None
    return {"met": answer} if isinstance(answer, bool) else {"score": answer}


# -------------------------------------------------------------------------------------------
# figures from pairs of marks

Pairs: TypeAlias = Sequence[tuple[Any, Any]]


def both(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The marks of two judges on the cases that both marked."""
    return [(mark, other[case]) for case, mark in one.items() if case in other]


def share_equal(pairs: Pairs) -> float:
    return sum(1 for a, b in pairs if a == b) / len(pairs)


def _far(a: Any, b: Any, power: int) -> float:
    return float(abs(a - b) ** power) if power else float(a != b)


def kappa(pairs: Pairs, *, power: int = 0) -> float:
    """Cohen's kappa. `power` weighs disagreements on a scale: 1 by their distance, 2 by its square,
    0 all alike.
    """
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum(_far(a, b, power) for a, b in pairs) / len(pairs)
    by_chance = (
        sum(_far(a, b, power) * n * m for a, n in firsts.items() for b, m in seconds.items())
        / len(pairs) ** 2
    )
    return 1 - seen / by_chance


def alpha(units: Iterable[Sequence[Any]], *, power: int = 0) -> float:
    """Krippendorff's alpha, nominal or, with power 2, interval, over units that may have any number
    of marks.
    """
    used = [Counter(unit) for unit in units if len(unit) > 1]
    total: Counter[Any] = sum(used, Counter())
    n = total.total()
    seen = sum(
        _far(a, b, power) * x * y / (unit.total() - 1)
        for unit in used
        for a, x in unit.items()
        for b, y in unit.items()
    )
    by_chance = sum(
        _far(a, b, power) * x * y for a, x in total.items() for b, y in total.items()
    ) / (n - 1)
    return 1 - seen / by_chance


def kendall_tau_b(said: Sequence[float], right: Sequence[float]) -> float:
    """Over all pairs of places, by the definition, with ties on both sides taken out of what could
    agree.
    """
    signs = [
        ((a > c) - (a < c), (b > d) - (b < d))
        for (a, b), (c, d) in combinations(zip(said, right, strict=True), 2)
    ]
    apart = [sum(sign[at] != 0 for sign in signs) for at in (0, 1)]
    return sum(one * other for one, other in signs) / math.sqrt(apart[0] * apart[1])


def spearman(said: Sequence[float], right: Sequence[float]) -> float:
    """The correlation of ranks; who is tied shares the mean of the places."""
    return statistics.correlation(_ranks(said), _ranks(right))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [
        (bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values
    ]


def fleiss(units: Sequence[Sequence[Any]]) -> float:
    """Fleiss' kappa over units that all have the same number of marks."""
    per_unit = len(units[0])
    counts = [Counter(unit) for unit in units]
    seen = sum(
        (sum(n * n for n in c.values()) - per_unit) / (per_unit * (per_unit - 1)) for c in counts
    ) / len(units)
    total: Counter[Any] = sum(counts, Counter())
    by_chance = sum((n / total.total()) ** 2 for n in total.values())
    return (seen - by_chance) / (1 - by_chance)
