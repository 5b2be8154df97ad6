"""What judges are told: the question, and nothing that could lead them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from msgspec.structs import fields

from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.judging.ballot import AskedCriterion, Question, asked_criteria
from honestone.core.judging.request import judge_request
from honestone.core.judging.rubric import Check, Item, Rubric

from .strategies import checked, checklist, group, percent, rubric, rubrics, scale, yes_no

FILE = Artifact("doc.md", Version.of_text("Some text\n"))
OF = rubric(
    checklist(
        "list",
        [
            "said",
            Item(id="rated", requirement="how well", anchors=scale("0.5", 10)),
            Item(
                id="coded",
                requirement="c",
                check=Check(kind="contains", value="x"),
                fix="./secret-tool",
            ),
        ],
        weight="77.125",
        floor="43.21",
        required=True,
    ),
    checked("code"),
    group("top", percent("tone", weight="3.375"), yes_no("holds", may_not_apply=True)),
    yes_no("bad", weight="-4.625"),
    threshold="81.5",
    floor="62.25",
    title="The title",
)


def request(
    of: Rubric = OF, artifact: Artifact = FILE, problems: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    return judge_request(Question(artifact=artifact, criteria=asked_criteria(of), **more), problems)


def test_the_whole_request() -> None:
    """Every field, as a judge that is a program sees it."""
    assert request() == {
        "schema": "honestone.judge-request/1",
        "artifact": {"path": "doc.md", "digest": FILE.version.digest, "text": "Some text\n"},
        "input": None,
        "reference": None,
        "output": None,
        "criteria": [
            {
                "id": "list",
                "requirement": "list is complete",
                "items": [
                    {"id": "said", "requirement": "has said"},
                    {
                        "id": "rated",
                        "requirement": "how well",
                        "anchors": {"0.5": "level 0.5", "10": "level 10"},
                    },
                ],
            },
            {
                "id": "tone",
                "requirement": "tone is good",
                "anchors": {"0": "level 0", "100": "level 100"},
            },
            {"id": "holds", "requirement": "holds holds"},
            {"id": "bad", "requirement": "bad holds"},
        ],
        "workspace": None,
        "draw": 0,
    }


def test_a_judge_is_not_told_what_would_lead_it() -> None:
    """No weight, floor, threshold, required flag, check or fix command; by type, no earlier score
    or round.
    """
    sent = json.dumps(request())
    for hidden in (
        "77.125",
        "43.21",
        "3.375",
        "4.625",
        "81.5",
        "62.25",
        "weight",
        "floor",
        "threshold",
        "required",
        "secret-tool",
        "coded",
    ):
        assert hidden not in sent
    assert {f.name for f in fields(Question)} == {
        "artifact",
        "criteria",
        "input",
        "images",  # those of the input
        "reference",
        "output",
        "workspace",
        "draw",
        "case",
        "also_asked",  # ids of other calls: no request holds them
        "whole",  # all criteria, where a call asks a part of them: no request holds them
        "attempt",  # recorded answers are found by them: no request holds them
    }
    assert {f.name for f in fields(AskedCriterion)} == {"id", "requirement", "items"}


def test_a_second_look_names_the_problems() -> None:
    """And only a second look has the field."""
    assert "problems" not in request()
    assert request(problems=("`a` answered twice",))["problems"] == ["`a` answered twice"]


def test_a_folder_is_a_list_of_files() -> None:
    """In path order, text files only; there is no `text` then."""
    version = Version({"b": Entry(b"2"), "a": Entry(b"1"), "z": Entry(b"\0")}, is_folder=True)
    sent = request(artifact=Artifact("skill", version))["artifact"]
    assert sent == {
        "path": "skill",
        "digest": version.digest,
        "files": [{"path": "a", "text": "1"}, {"path": "b", "text": "2"}],
    }


def test_a_case_and_its_output_are_passed_on() -> None:
    """Input, reference, output, workspace and the number of the look."""
    more = {
        "input": "in",
        "reference": "ref",
        "output": "",
        "workspace": {"path": "w", "diff": ""},
        "draw": 2,
    }
    sent = request(**more)
    assert {name: sent[name] for name in more} == more


def test_large_and_fine_levels_keep_their_numbers() -> None:
    """Two levels never become one by rounding."""
    item = Item(id="a", requirement="a", anchors=scale("0.1234567", 1000000, 1000001), whole=True)
    sent = judge_request(
        Question(artifact=FILE, criteria=(AskedCriterion(id="a", requirement="a", items=(item,)),))
    )
    assert list(sent["criteria"][0]["anchors"]) == ["0.1234567", "1000000", "1000001"]


@given(rubrics())
def test_judges_are_asked_exactly_what_no_check_answers(of: Rubric) -> None:
    """In the order of the rubric, and the request is plain JSON."""
    question = Question(artifact=FILE, criteria=asked_criteria(of))
    assert list(question.items()) == [
        (key, item) for key, item in of.questions() if item.check is None
    ]
    assert json.loads(json.dumps(judge_request(question))) == judge_request(question)
