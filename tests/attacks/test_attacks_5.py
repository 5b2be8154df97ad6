"""A judge that is away is not a yes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .corpus import PYTHON, Attack, Desk, Ended

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
TWO = "rubric: 1\ncriteria: [{id: good, requirement: It is good, items: [first, second]}]\n"
GONE = '[judges.gone]\nprovider = "claude"\ncommand = "/no/such/program"\n'
ANSWER = """\
import json, sys
q = json.load(sys.stdin)
items = lambda c: {{"items": {{i["id"]: {{"met": {met}}} for i in c["items"]{cut}}}}} if c.get("items") else {{"met": {met}{more}}}
{crash}print(json.dumps({{"criteria": {{c["id"]: items(c) for c in q["criteria"]}}}}))
"""


def answering(met: bool, *, cut: str = "", more: str = "", crash: str = "") -> str:
    return ANSWER.format(met=met, cut=cut, more=more, crash=crash)


JUDGES = {
    "yes": answering(True),
    "other": "# another judge that is pleased\n" + answering(True),
    "copy": answering(True),
    "no": answering(False),
    "half": answering(False, cut="[:1]"),
    "quotes": answering(False, more=', "evidence": "words that are nowhere in it"'),
    "second": answering(False, crash="if 'second' in str(q['criteria']): sys.exit('boom')\n"),
    "dead": "import sys\nsys.exit('boom')\n",
    "slow": "import time\ntime.sleep(30)\n",
    "garbled": "print('I would rather not')\n",
    "empty": "import sys\nsys.stdin.read()\nprint('{}')\n",
    "killed": "import os\nos.kill(os.getpid(), 9)\n",
    "twice": 'print(\'{"criteria": {"good": {"met": true}, "good": {"met": true}}}\')\n',
}


def seat(desk: Desk, names: str, rubric: str = ONE) -> list[str]:
    desk.put("a.md", "text\n")
    desk.put("r.yaml", rubric)
    desk.put("honestone.toml", GONE)
    words = []
    for name in names.split():
        if name != "gone":
            desk.put(f"{name}.py", JUDGES[name])
        words += ["--judge", name if name == "gone" else f"script:{PYTHON} {desk.folder / name}.py"]
    return words


def panel(
    name: str,
    judges: str,
    more: str,
    exit: int,
    rubric: str = ONE,
    says: tuple[str, ...] = (),
    **expect: object,
) -> Attack:
    """An evaluation by these judges, with more words of the command."""
    verdict = {0: "pass", 1: "fail", 3: "inconclusive"}.get(exit)
    known = {} if verdict is None or "--format" in more else {"verdict": verdict}
    command = (
        "eval",
        "a.md",
        "--rubric",
        "r.yaml",
        *([] if "--format" in more else ["--json"]),
        *more.split(),
    )
    return Attack(
        name=name,
        hole=5,
        build=lambda desk: seat(desk, judges, rubric),
        command=command,
        exit=exit,
        says=says,
        expect={**known, **expect},
    )


def loop(name: str, judges: str, more: str, exit: int, result: str, holdout: str = "") -> Attack:
    """An improvement by a worker that only makes the text longer."""

    def build(desk: Desk) -> Iterable[str]:
        words = seat(desk, judges)
        worker = desk.worker("a.write_text(a.read_text() + 'more\\n')\n")
        held = seat(desk, holdout)[1::2]
        return [*words, "--worker", worker, *(word for one in held for word in ("--holdout", one))]

    command = ("improve", "a.md", "--rubric", "r.yaml", "--rounds", "2", "--json", *more.split())
    return Attack(
        name=name, hole=5, build=build, command=command, exit=exit, expect={"result": result}
    )


def suite(name: str, judges: str, more: str, exit: int, verdict: str | None = None) -> Attack:
    def build(desk: Desk) -> Iterable[str]:
        desk.put(
            "s.yaml",
            "suite: 1\ntarget: cmd:cat\ncases: [{id: a, input: text, rubric: [It is good]}]\n",
        )
        return seat(desk, judges)

    command = ("eval", "s.yaml", "--json", *more.split())
    return Attack(
        name=name, hole=5, build=build, command=command, exit=exit, expect={"verdict": verdict}
    )


def twice(judges: str, *words: str) -> Callable[[Desk], None]:
    """A `build` that has evaluated once."""

    def build(desk: Desk) -> None:
        assert desk.run("eval", "a.md", "--rubric", "r.yaml", *seat(desk, judges), *words).code != 2

    return build


def contract_moves(desk: Desk, ended: Ended) -> bool:
    words = ("eval", "a.md", "--rubric", "r.yaml", "--json", "--quorum", "1", *seat(desk, "yes no"))
    return bool(desk.run(*words).json["contract"] != ended.json["contract"])


HALF, ALL = [50.0, 100.0], [0.0, 100.0]
ATTACKS = (
    panel("yes and no", "yes no", "", 1, score=50.0),
    panel("a crash is not a yes", "yes dead", "", 3, score=100.0, interval=HALF),
    panel("a crash of the first judge", "dead yes", "", 3, score=100.0, interval=HALF),
    panel("a judge that is killed", "yes killed", "", 3, score=100.0, interval=HALF),
    panel("a time-out is not a yes", "yes slow", "--judge-timeout 0.5", 3, interval=HALF),
    panel("no readable answer", "yes garbled", "", 3, interval=HALF),
    panel("an answer without the criterion", "yes empty", "", 3, interval=HALF),
    panel("an answer given twice", "yes twice", "", 3, interval=HALF),
    panel(
        "the calls are used up",
        "yes no",
        "--max-calls 1",
        3,
        interval=HALF,
        **{"judges.1.state": "DEGRADED"},
    ),
    panel("no call at all", "yes no", "--max-calls 0", 3, score=None, interval=ALL),
    panel("no minute", "yes no", "--max-minutes 0", 3, score=None),
    panel("min with a crash", "yes dead", "--combine min", 3, score=100.0, interval=ALL),
    panel("majority with a crash", "yes dead", "--combine majority", 3, interval=ALL),
    panel(
        "median that one vote cannot move",
        "yes other dead",
        "--combine median",
        0,
        interval=[100.0, 100.0],
    ),
    panel("mean of three with a crash", "yes other dead", "", 3, score=100.0),
    panel("a no that no vote can save", "no dead", "", 1, interval=[0.0, 50.0]),
    panel("a bar below the range", "yes dead", "--threshold 40 --floor 40", 0, interval=HALF),
    panel("one item left out", "yes half", "", 3, TWO, score=75.0),
    panel("a call per item and one crashes", "yes second", "--ask item", 3, TWO),
    panel("an unfound quote abstains", "yes quotes", "--evidence require", 3, interval=HALF),
    panel("asked one after another", "yes dead", "--gate-only", 3, interval=HALF),
    panel(
        "a quorum is not met by those spared", "no yes", "--gate-only --quorum all", 1, score=50.0
    ),
    panel("honest quorum of one", "yes dead", "--quorum 1", 0, low_confidence=True),
    panel("honest quorum of two", "yes other dead", "--quorum 2", 0, low_confidence=False),
    panel("a quorum of all with a crash", "yes dead", "--quorum all", 3),
    panel("a quorum of two of one answer", "yes dead", "--quorum 2", 3),
    panel("a quorum that even a no does not meet", "no dead", "--quorum 2", 3),
    panel(
        "honest judge that is not installed",
        "yes gone",
        "",
        0,
        low_confidence=True,
        **{"judges.1.state": "SKIPPED"},
    ),
    panel("all means those not installed too", "yes gone", "--quorum all", 3),
    panel("honest all of two", "yes other", "--quorum all", 0, low_confidence=False),
    panel("a quorum of nothing", "yes no", "--quorum 0", 2),
    panel("a quorum below nothing", "yes no", "--quorum=-1", 2),
    panel("a quorum above the panel", "yes no", "--quorum 3", 2),
    panel("a quorum in words", "yes no", "--quorum most", 2),
    panel("a quorum with a fraction", "yes no", "--quorum 1.5", 2),
    panel("the quorum of the rubric", "yes dead", "", 3, ONE + "quorum: 2\n"),
    panel("honest quorum of the rubric", "yes dead", "", 0, ONE + "quorum: 1\n"),
    panel("the option before the rubric", "yes dead", "--quorum 2", 3, ONE + "quorum: 1\n"),
    panel("a quorum that is true", "yes dead", "", 2, ONE + "quorum: true\n"),
    panel("a quorum that is text", "yes dead", "", 2, ONE + "quorum: some\n"),
    panel("the same judge twice", "yes yes", "", 0, low_confidence=True),
    panel("a copy of the same judge", "yes copy", "", 0, low_confidence=True),
    panel("the same judge many times", "yes", "--repeat 3", 0, low_confidence=True),
    panel("the same judge twice is one of a quorum", "yes yes", "--quorum 2", 2),
    panel("honest two judges", "yes other", "", 0, low_confidence=False),
    panel(
        "JUnit names a crash", "yes dead", "--format junit", 3, says=("DEGRADED", "low-confidence")
    ),
    panel(
        "JUnit names a judge that is not there",
        "yes gone",
        "--format junit",
        0,
        says=("judge gone", "SKIPPED", "low-confidence"),
    ),
    panel(
        "text says who is missing",
        "yes dead",
        "--format text",
        3,
        says=("DEGRADED", "COULD NOT BE JUDGED"),
    ),
    loop("a loop does not pass without a judge", "yes dead", "", 3, "COULD_NOT_JUDGE", "other"),
    loop("a loop over its calls", "yes no", "--max-calls 1", 1, "BUDGET", "other"),
    loop("a held-out judge that crashes", "yes", "", 3, "UNCONFIRMED", "dead"),
    loop("no quorum certifies", "yes", "--quorum 1", 3, "UNCONFIRMED", "dead"),
    loop("one of two held-out judges crashes", "yes", "--quorum 1", 3, "UNCONFIRMED", "other dead"),
    loop("honest loop", "yes", "", 0, "PASSED", "other"),
    suite("a case that a judge left open", "yes dead", "", 3, "inconclusive"),
    suite("a case over the calls", "yes no", "--max-calls 1", 3, "inconclusive"),
    suite("honest case with a quorum", "yes dead", "--quorum 1", 0, "pass"),
    suite("a case and a quorum above the panel", "yes dead", "--quorum 3", 2),
    Attack(
        name="rescoring fills nothing in",
        hole=5,
        build=twice("yes dead"),
        command=("rescore", "last", "--json"),
        exit=3,
    ),
    Attack(
        name="rescoring keeps the quorum",
        hole=5,
        build=twice("yes no dead", "--quorum", "3"),
        command=("rescore", "last", "--threshold", "0", "--floor", "0"),
        exit=3,
    ),
    Attack(
        name="the quorum is part of the contract",
        hole=5,
        build=lambda desk: seat(desk, "yes no"),
        command=("eval", "a.md", "--rubric", "r.yaml", "--json"),
        exit=1,
        after=contract_moves,
    ),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
