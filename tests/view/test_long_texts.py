"""A text that is too long for one page is served in parts, with the quotes of each at their place
in the whole.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.desk import Desk
from honestone.report.pages.judged_texts.quote_marks import LONGEST
from honestone.report.pages.part_of import PartOf
from view.test_server import Server

NEEDLE = "the needle is here"
TEXT = "# Long\n\n" + "hay < hay & hay\n" * 26_000 + NEEDLE + "\n" + "more hay\n" * 3_000

JUDGE = f"""
import json, sys
json.load(sys.stdin)
print(json.dumps({{"criteria": {{"a": {{"met": True, "evidence": [{NEEDLE!r}]}}}}}}))
"""


@pytest.fixture
def served(desk: Desk) -> Iterator[Server]:
    """An artifact and the output of a case, both of three parts, judged by a judge that quotes what
    is in the third.
    """
    desk.file("long.md", TEXT)
    desk.file("judge.py", JUDGE)
    desk.file("rubric.yaml", "rubric: 1\ncriteria: [{id: a, requirement: has a needle}]\n")
    desk.file(
        "suite.yaml",
        json.dumps(
            {
                "suite": 1,
                "cases": [
                    {"id": "one", "input": "go", "rubric": [{"id": "a", "requirement": "it"}]}
                ],
            }
        ),
    )
    judge = ("--judge", f"script:{sys.executable} judge.py", "-q")
    desk.run(
        "eval",
        "suite.yaml",
        "--target",
        f"cmd:{sys.executable} -c 'print(open(\"long.md\").read())'",
        *judge,
    )
    desk.run("eval", "long.md", "--rubric", "rubric.yaml", *judge)
    server = Server(desk)
    yield server
    server.stop()


def shown(page: str) -> str:
    found = re.search(r'<pre data-hs="text">\n(.*?)</pre>', page, re.DOTALL)
    assert found is not None
    return html.unescape(re.sub(r"<[^>]*>", "", found[1]))


def test_the_parts_of_a_judged_text_are_the_text(served: Server) -> None:
    pages = [served.get(f"/run/last?part={number}") for number in (1, 2, 3)]
    assert "".join(map(shown, pages)) == TEXT
    assert "?part=3" in pages[0] and "part 3 of the text" in pages[0] and "<mark" not in pages[0]
    start = TEXT.index(NEEDLE)
    assert f'data-start="{start}" data-end="{start + len(NEEDLE)}"' in pages[2]
    assert 'aria-current="page">3<' in pages[2]


@pytest.mark.parametrize("part", ["", "0", "-1", "x", "1e9", "\u0661"])
def test_an_odd_part_is_the_first(served: Server, part: str) -> None:
    assert len(shown(served.get(f"/run/last?part={quote(part)}"))) == LONGEST


def test_a_part_beyond_the_end_is_the_last(served: Server) -> None:
    assert NEEDLE in shown(served.get("/run/last?part=9999"))


def test_the_parts_of_an_output_keep_the_case_in_the_address(served: Server) -> None:
    suite = json.loads(served.get("/api/runs"))[1]["id"]
    page = served.get(f"/run/{suite}/case?id=one&part=3")
    assert "?id=one&amp;part=2" in page
    assert NEEDLE in shown(page)
    assert f'data-start="{TEXT.index(NEEDLE)}"' in page


@given(st.integers(0, 500), st.integers(1, 60))
def test_parts_are_the_whole_once(length: int, longest: int) -> None:
    count = PartOf(number=1, query={}).count(length, longest)
    spans = [
        PartOf(number=number, query={}).span(length, longest) for number in range(1, count + 1)
    ]
    assert [at for start, end in spans for at in range(start, end)] == list(range(length))
    assert PartOf(number=count + 5, query={}).span(length, longest) == spans[-1]
