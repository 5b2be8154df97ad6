"""Comparisons that compare nothing, and runs of a part, do not pass for the whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from .corpus import Attack, Desk, Ended

WORDS = {"a": "one", "b": "two", "c": "three"}
Change = Callable[[list[dict[str, Any]]], object]


def suite_text(words: dict[str, str], more: str = "") -> str:
    head = "suite: 1\ntarget: cmd:cat\ncases:\n"
    split = {"a": "train", "b": "val", "c": "test"}
    row = "  - {{id: {0}, input: {1}, tags: [tag-{0}], split: {2}{3}, checks: [{{contains: [{1}]}}]}}\n"
    return head + "".join(
        row.format(id, word, split.get(id, "train"), more) for id, word in words.items()
    )


def rename(*ids: str) -> Change:
    return lambda cases: [one.update(id="z" + one["id"]) for one in cases if one["id"] in ids]


def against(
    name: str, change: Change, more: str, exit: int, missing: list[str], verdict: str, now: str = ""
) -> Attack:
    """A run compared with a saved report in which somebody changed the cases; `now` is another
    suite, run in the end.
    """

    def build(desk: Desk) -> None:
        desk.put("s.yaml", suite_text(WORDS))
        assert desk.run("eval", "s.yaml", "--output", "base.json").code == 0
        base = json.loads(desk.read("base.json"))
        change(base["cases"])
        desk.put("base.json", json.dumps(base))
        desk.put("s.yaml", now or suite_text(WORDS))

    return Attack(
        name=name,
        hole=6,
        build=build,
        command=("eval", "s.yaml", "--baseline", "base.json", "--json", *more.split()),
        exit=exit,
        expect={"verdict": verdict, "comparison.missing": missing},
    )


def part(
    name: str, words: str, left_out: int, form: str = "text", says: str = "", exit: int = 0
) -> Attack:
    """A run of some cases: its report names the rest and never says PASSED."""

    def after(desk: Desk, ended: Ended) -> bool:
        shown = desk.run("show", "last", "--format", form).out
        counted = re.search(says or rf"\b{left_out} left out\b", shown)
        document = json.loads(desk.run("show", "last", "--format", "json").out)
        return (
            bool(counted)
            and document["left_out"] == left_out
            and (left_out == 0 or "PASSED" not in shown)
        )

    def build(desk: Desk) -> None:
        desk.put("s.yaml", suite_text(WORDS).replace("contains: [two]", "contains: [nothing]"))
        assert desk.run("eval", "s.yaml").code == 1
        if "failing" not in name:
            desk.put("s.yaml", suite_text(WORDS))

    return Attack(
        name=name,
        hole=6,
        build=build,
        command=("eval", "s.yaml", *words.split()),
        exit=exit,
        after=after,
    )


def after_base(name: str, command: str, exit: int, says: tuple[str, ...] = ()) -> Attack:
    def build(desk: Desk) -> Iterable[str]:
        desk.put("s.yaml", suite_text(WORDS))
        assert desk.run("eval", "s.yaml", "--output", "base.json").code == 0
        assert desk.run("eval", "s.yaml", "--case", "a", "--output", "part.json").code == 0
        return ()

    return Attack(
        name=name, hole=6, build=build, command=tuple(command.split()), exit=exit, says=says
    )


ALL_THREE = rename("a", "b", "c")
ATTACKS = (
    against("honest baseline", lambda cases: None, "", 0, [], "pass"),
    against("every case is renamed", ALL_THREE, "", 3, ["za", "zb", "zc"], "inconclusive"),
    against(
        "every case is renamed and a gate named",
        ALL_THREE,
        "--fail-on delta<0",
        3,
        ["za", "zb", "zc"],
        "inconclusive",
    ),
    against(
        "every case is renamed and regressions gate",
        ALL_THREE,
        "--fail-on regression",
        3,
        ["za", "zb", "zc"],
        "inconclusive",
    ),
    against(
        "every case is renamed and no rate is asked",
        ALL_THREE,
        "--min-pass-rate 0",
        3,
        ["za", "zb", "zc"],
        "inconclusive",
    ),
    against("one case is renamed", rename("b"), "", 1, ["zb"], "fail"),
    against("two cases are renamed", rename("a", "c"), "", 1, ["za", "zc"], "fail"),
    against("honest gate of its own", rename("b"), "--fail-on delta<0", 0, ["zb"], "pass"),
    against("missing as a gate of its own", rename("b"), "--fail-on missing", 1, ["zb"], "fail"),
    against("an empty baseline", lambda cases: cases.clear(), "", 3, [], "inconclusive"),
    against(
        "a baseline that skipped everything",
        lambda cases: [one.update(status="skipped") for one in cases],
        "",
        3,
        [],
        "inconclusive",
    ),
    against(
        "a case is taken out of the suite",
        lambda cases: None,
        "",
        1,
        ["c"],
        "fail",
        suite_text({"a": "one", "b": "two"}),
    ),
    against(
        "a case is skipped in the suite",
        lambda cases: None,
        "",
        1,
        ["a", "b", "c"][2:],
        "fail",
        suite_text({"a": "one", "b": "two"})
        + "  - {id: c, input: three, skip: later, checks: [{contains: [three]}]}\n",
    ),
    against(
        "every case is skipped in the suite",
        lambda cases: None,
        "",
        3,
        ["a", "b", "c"],
        "inconclusive",
        suite_text(WORDS, ", skip: later"),
    ),
    against("honest new case", lambda cases: cases.pop(), "", 0, [], "pass"),
    against("honest part against a baseline", lambda cases: None, "--case a", 0, [], "pass"),
    against(
        "a part against a renamed baseline",
        ALL_THREE,
        "--case a",
        3,
        ["za", "zb", "zc"],
        "inconclusive",
    ),
    part("the failed case alone", "--failed", 2),
    part("one case by name", "--case b", 2),
    part("two cases by name", "--case a --case b", 1),
    part("one tag", "--tag tag-c", 2),
    part("one split", "--split val", 2),
    part("one shard", "--shard 1/3", 2),
    part("a failing case alone", "--case b", 2, exit=1),
    part("Markdown of a part", "--failed", 2, "markdown"),
    part("HTML of a part", "--failed", 2, "html"),
    part("JUnit of a part", "--failed", 2, "junit", 'name="left-out" value="2"'),
    part("CSV of a part", "--failed", 2, "csv", r"(?s)a,left-out,.*c,left-out,"),
    part(
        "JSON lines of a part",
        "--failed",
        2,
        "jsonl",
        r'(?s)"execution_status": "left-out".*"execution_status": "left-out"',
    ),
    part("honest whole run", "", 0, "text", "PASSED"),
    after_base(
        "a part does not become the baseline",
        "eval s.yaml --case a --baseline base.json --update-baseline",
        2,
        ("2 of 3 cases",),
    ),
    after_base("a part compared as a run", "compare base.json part.json", 1, ("b, c",)),
    after_base(
        "two runs without a common case", "compare part.json base.json --fail-on regression", 0
    ),
    after_base("nothing errored to run again", "eval s.yaml --errored", 2),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
