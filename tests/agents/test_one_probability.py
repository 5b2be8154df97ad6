"""Every door states the same probability of the same evaluation, in the same words."""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec import convert

from cli.desk import Program
from honestone.report.documents.findings import with_all_looks
from honestone.report.documents.scorecard import JudgeDoc, first_look

from .host import Host
from .mcp_host import McpHost

# Each of twelve runs goes through ten doors: two of them are programs of Python, one is pytest.
pytestmark = pytest.mark.slow

JUDGE = """
answers = {answers}
with open(LOG, encoding="utf-8") as log:
    look = len(log.readlines())
if look in {fails}:
    sys.exit("no answer today")
def marks(criterion):
    number = int(criterion["id"].removeprefix("q"))
    return {{"met": answers[look % len(answers)][number], "suggestion": f"look {{look}}"}}
print(json.dumps({{"criteria": {{c["id"]: marks(c) for c in request["criteria"]}}}}))
"""
RUBRIC = "rubric: 1\nthreshold: 75\nfloor: 0\ncriteria:\n" + "".join(
    f"  - {{id: q{number}, requirement: Property {number} holds}}\n" for number in range(4)
)


def drawn(seed: int) -> list[list[bool]]:
    """The answers of a judge: twelve looks at four items, of which a share is met."""
    chance = random.Random(seed)
    share = chance.choice([0.05, 0.5, 0.8, 0.97])
    return [[chance.random() < share for _ in range(4)] for _ in range(12)]


def failing(seed: int, bar: float | None) -> tuple[int, ...]:
    """Which calls of a judge fail, from 0: the first look alone is no trial where nothing asks on."""
    chance = random.Random(-seed)
    return () if bar is None else tuple(n for n in range(2) if chance.random() < 0.4)


def judges_of(card: dict[str, Any]) -> list[JudgeDoc]:
    return convert(card["judges"], list[JudgeDoc])


def looks_lost(card: dict[str, Any]) -> list[dict[str, Any]]:
    """What the belief of a card rests on, of judges of which a look failed."""
    lost = {first_look(one["id"]) for one in card["judges"] if "unanswered" in one}
    return [one for one in card["belief"]["rests_on"] if one.get("judge") in lost]


def words_of(text: str) -> str:
    """Without markup, escapes and line breaks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\\", "").split())


def by_python(host: Host, judges: list[str], bar: float | None) -> tuple[dict[str, Any], str]:
    """The belief of the same evaluation by the function, in a process at the same desk, and what
    `assert_passes` raises ("" where it passes).
    """
    program = host.file(
        "call.py",
        "import json, sys\nimport honestone\nfrom pathlib import Path\n"
        f"found = honestone.evaluate(Path('note.md'), Path('rubric.yaml'), judges={judges!r}, sure={bar!r}, store='.honestone')\n"
        "belief = found.belief\n"
        "try:\n"
        f"    honestone.assert_passes(Path('note.md'), Path('rubric.yaml'), judge={judges!r}, sure={bar!r}, store='.honestone')\n"
        "    refusal = ''\n"
        "except (AssertionError, honestone.CouldNotJudge) as error:\n"
        "    refusal = str(error)\n"
        "document = found.to_dict()['belief']\n"
        "print(json.dumps([found.probability, belief.probability, belief.looks, document, refusal]))\n",
    )
    ended = subprocess.run(
        [sys.executable, program.name],
        cwd=host.folder,
        env=host.env,
        capture_output=True,
        text=True,
        check=True,
    )
    probability, again, looks, document, refusal = json.loads(ended.stdout)
    assert probability == again and looks == document["looks"]
    return document, refusal


def by_pytest(host: Host, judges: list[Program], bar: float | None) -> tuple[float, str]:
    """The probability in the JUnit XML of a test that asserts it, and what pytest printed. It keeps
    no record, so the judges begin again with their first look.
    """
    for one in judges:
        one.log.unlink()
    specs = [one.spec for one in judges]
    host.file(
        "test_note.py",
        "from pathlib import Path\n"
        "def test_note(honestone):\n"
        f"    honestone.assert_passes(Path('note.md'), Path('rubric.yaml'), judge={specs!r}, sure={bar!r})\n",
    )
    words = [sys.executable, "-m", "pytest", "-q", "--junitxml=found.xml", "test_note.py"]
    ended = subprocess.run(words, cwd=host.folder, env=host.env, capture_output=True, text=True)
    (noted,) = (
        one.get("value")
        for one in ElementTree.parse(host.folder / "found.xml").iter("property")
        if one.get("name") == "probability"
    )
    return float(noted or ""), words_of(re.sub(r"(?m)^E ", "", ended.stdout))


@pytest.mark.parametrize("bar", [None, 80, 99.5])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_door_states_the_same_probability(host: Host, seed: int, bar: float | None) -> None:
    """Terminal, JSON, Markdown, HTML, JUnit, CSV, JSON lines, `show`, the comment of a pull request,
    Python, an assertion of a test, MCP and the list of runs, all by the looks on record; and the
    pytest plugin by looks of its own that say the same.
    """
    host.file("rubric.yaml", RUBRIC)
    programs = [
        host.judge(
            name,
            JUDGE.format(answers=drawn(10 * seed + number), fails=failing(10 * seed + number, bar)),
        )
        for number, name in enumerate(("one", "two"))
    ]
    judges = [one.spec for one in programs]
    ask = ["eval", "note.md", "-r", "rubric.yaml", *(f"--judge={spec}" for spec in judges)]
    ask += [] if bar is None else ["--sure", str(bar)]

    card = host.run(*ask, "--json").json
    belief = card["belief"]
    probability, sentence = belief["probability"], belief["sentence"]
    assert 0 < probability < 1 and belief["target"] == (None if bar is None else bar / 100)

    unanswered = [why for one in card["judges"] for why in one.get("unanswered", ())]
    assert card["usage"]["judge_calls"] == belief["looks"] + len(unanswered)
    lost = [words for one in with_all_looks(judges_of(card)) if (words := one.unanswered_words)]
    assert all(f"answered {one['looks']}:" in " ".join(lost) for one in looks_lost(card))

    def printed(format: str) -> str:
        return host.run(*ask, "-f", format).out

    for format in ("text", "markdown", "html"):
        assert sentence in words_of(printed(format)), format
        shown = words_of(host.run("show", card["run"], "-f", format).out)
        assert sentence in shown, format
        assert all(one in shown for one in lost), format
    assert host.run("show", card["run"], "--json").json["belief"] == belief
    # As docs/ci.md pipes it into the comment of a pull request.
    comment = host.run("show", "last", "--format", "markdown").out
    assert sentence in words_of(comment)
    junit = ElementTree.fromstring(printed("junit"))
    stated = [
        one.get("value") for one in junit.iter("property") if one.get("name") == "probability"
    ]
    assert [float(one or "") for one in stated] == [probability]
    (row,) = csv.DictReader(io.StringIO(printed("csv")))
    assert float(row["probability"]) == probability
    assert json.loads(printed("jsonl"))["probability"] == probability
    document, refusal = by_python(host, judges, bar)
    assert document == belief
    assert (sentence in words_of(refusal)) is (card["verdict"] != "pass")
    with McpHost(host, "--allow-commands") as server:
        given = {} if bar is None else {"sure": bar}
        found = server.call(
            "eval", artifact="note.md", rubric="rubric.yaml", judges=judges, **given
        )
    assert not found.error and "belief" in found.data, found
    assert found.data["belief"] == belief and sentence in words_of(found.text)
    listed = host.run("runs", "--json").json
    assert {one["probability"] for one in listed} == {probability}
    noted, said = by_pytest(host, programs, bar)
    assert noted == probability
    assert (sentence in said) is (card["verdict"] != "pass")
