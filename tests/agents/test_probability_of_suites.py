"""Every door states the same probability of the same suite, and of each of its cases, whose attempts
give what is drawn.
"""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from honestone.core.numbers import chance_words
from honestone.report.documents.scorecard import first_look

from .host import Host
from .test_one_probability import words_of

# Each of five suites goes through eight doors, one of them a program of Python.
pytestmark = pytest.mark.slow

# Each look has an answer of its own, in whatever order those of several cases come.
JUDGE = """
import random
look = [{name!r}, *(request[of] for of in ("input", "output", "draw"))]
met = random.Random(repr(look)).random() < {share}
marks = {{"met": met, "suggestion": f"look {{look}}"}}
print(json.dumps({{"criteria": {{c["id"]: marks for c in request["criteria"]}}}}))
"""
TARGET = """\
import os
outputs = {outputs}
def answer(input):
    return outputs[input + os.environ["HONESTONE_ATTEMPT"]]
"""


def written(host: Host, seed: int, rule: str) -> list[str]:
    """A suite of three cases with up to three attempts each, of whose outputs some are equal, and two
    judges that say yes to a share of what they read; their names.
    """
    chance = random.Random(seed)
    share = chance.choice([0.3, 0.7, 0.9])
    attempts = {id: chance.choice([1, 2, 3]) for id in "abc"} | {"b": 3}
    outputs = {f"{id}{n}": chance.choice("xyz") for id in attempts for n in (1, 2, 3)}
    host.file("target.py", TARGET.format(outputs=outputs))
    cases = [
        {"id": id, "input": id, "rubric": ["It holds"], "attempts": n} for id, n in attempts.items()
    ]
    suite = {"suite": 1, "target": "python:target.py:answer", "attempt_rule": rule, "cases": cases}
    host.file("suite.yaml", json.dumps(suite))
    return [
        host.judge_in_python(name, JUDGE.format(name=f"{name} {seed}", share=share)).spec
        for name in ("one", "two")
    ]


def by_python(host: Host, judges: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The report of the same suite by the function, in a process at the same desk."""
    program = host.file(
        "call.py",
        "import json\nimport honestone\nfrom pathlib import Path\n"
        f"done = honestone.run_suite(Path('suite.yaml'), judges={judges!r}, store='.honestone', **{options!r})\n"
        "document = done.to_dict()\n"
        "assert done.probability == done.belief.probability == document['belief']['probability']\n"
        "print(json.dumps(document))\n",
    )
    words = [sys.executable, program.name]
    ended = subprocess.run(words, cwd=host.folder, env=host.env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def of_cases(report: dict[str, Any]) -> dict[str, float | None]:
    """P(it passes) of each case, as its document says."""
    found = {}
    for one in report["cases"]:
        alone = one.get("belief") or {}
        found[one["id"]] = one["passes"] if "passes" in one else alone.get("probability")
    return found


@pytest.mark.parametrize(
    ("seed", "rule", "bar"),
    [
        (1, "pass^k", 90),
        (2, "pass@k", 90),
        (3, "mean", 80),
        (4, "best", 97),
        (5, "mean", None),
    ],
)
def test_every_door_states_the_same_probability_of_a_suite(
    host: Host, seed: int, rule: str, bar: int | None
) -> None:
    """Terminal, JSON, Markdown, HTML, JUnit, CSV, JSON lines, `show`, Python and the list of runs."""
    judges = written(host, seed, rule)
    ask = ["eval", "suite.yaml", *(f"--judge={spec}" for spec in judges)]
    ask += [] if bar is None else ["--sure", str(bar)]
    report = host.run(*ask, "--json").json
    belief = report["belief"]
    probability, sentence = belief["probability"], belief["sentence"]
    assert 0 < probability < 1 and belief["target"] == (None if bar is None else bar / 100)

    for format in ("text", "markdown", "html"):
        assert sentence in words_of(host.run(*ask, "-f", format).out), format
        assert sentence in words_of(host.run("show", report["run"], "-f", format).out), format
    shown = host.run("show", report["run"], "--json").json
    assert shown["belief"] == belief
    cases = of_cases(report)
    assert of_cases(shown) == cases
    open_cases = [one for one in cases.values() if bar and one not in (None, 0.0, 1.0)]
    for format in ("text", "markdown", "html"):
        printed = words_of(host.run("show", report["run"], "-f", format).out)
        assert all(f"{chance_words(one or 0.0)} that it passes" in printed for one in open_cases)
    junit = ElementTree.fromstring(host.run(*ask, "-f", "junit").out)
    stated = [
        one.get("value")
        for suite in junit.iter("testsuite")
        for one in suite.findall("properties/property")
        if one.get("name") == "probability"
    ]
    assert [float(one or "") for one in stated] == [probability]
    rows = csv.DictReader(io.StringIO(host.run(*ask, "-f", "csv").out))
    of_rows = {row["case"]: row["probability"] for row in rows}
    assert {id: float(one) if one else None for id, one in of_rows.items()} == cases
    lines = map(json.loads, host.run(*ask, "-f", "jsonl").out.splitlines())
    assert {one["test_id"]: one["probability"] for one in lines} == cases
    options = {} if bar is None else {"sure": bar}
    again = by_python(host, judges, options)
    assert again["belief"] == belief and of_cases(again) == cases
    assert again["usage"]["judge_calls"] == 0
    listed = host.run("runs", "--json").json
    assert {one["probability"] for one in listed} == {probability}
    # Who looked at a case is there, whatever it was not asked.
    looked = {one["judge"] for one in belief["rests_on"] if one["kind"] == "looks"}
    answered = (one["id"] for one in report["judges"] if one["state"] == "AVAILABLE")
    assert looked == set(map(first_look, answered))
