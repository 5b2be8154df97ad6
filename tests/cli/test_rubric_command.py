"""`honestone rubric`: check and show."""

from __future__ import annotations

import json

from .desk import RUBRIC, Desk

SOUND = """\
rubric: 1
title: A sound rubric
threshold: 80
criteria:
  - id: facts
    requirement: The facts are there
    weight: 60
    required: true
    floor: 70
    items:
      - States the exact version of the software
      - Names the operating system
      - Gives the exact error message
      - {id: steps, requirement: Gives numbered steps, check: {regex: "(?m)^1[.]"}, fix: ./number.sh}
      - Says what was expected instead
  - id: tone
    requirement: Neutral, factual tone
    weight: 40
    anchors: {0: hostile, 25: irritated, 50: mixed, 75: mostly factual, 100: factual throughout}
"""


def test_a_sound_rubric_has_no_findings(desk: Desk) -> None:
    """Exit 0, also with `--strict`, and a line that counts what is asked of whom."""
    desk.rubric(SOUND)
    result = desk.run("rubric", "check", "rubric.yaml", "--strict")
    assert result.code == 0, result.out
    assert "sound" in result.out
    assert "2 criteria, 6 items (1 answered by code); threshold 80" in result.out


def test_findings_exit_0_and_1_with_strict(desk: Desk) -> None:
    """Weights that nearly sum to 100 and a lone criterion are findings with place and suggestion."""
    desk.rubric(SOUND.replace("weight: 40", "weight: 35"))
    result = desk.run("rubric", "check", "rubric.yaml", "--json")
    assert result.code == 0
    assert result.json["ok"] is False
    assert any("95" in finding["message"] for finding in result.json["findings"])
    assert all(finding["place"].startswith("rubric.yaml:") for finding in result.json["findings"])
    assert desk.run("rubric", "check", "rubric.yaml", "--strict").code == 1
    desk.rubric(SOUND[: SOUND.index("  - id: tone")])
    alone = desk.run("rubric", "check", "rubric.yaml", "--json")
    assert alone.code == 0
    assert alone.json["findings"]


def test_relative_weights_are_no_finding(desk: Desk) -> None:
    """3 and 1 sum to no 100 and are not meant to."""
    desk.rubric(SOUND.replace("weight: 60", "weight: 3").replace("weight: 40", "weight: 1"))
    assert desk.run("rubric", "check", "rubric.yaml", "--strict").code == 0


def test_show_says_how_a_rubric_is_understood(desk: Desk) -> None:
    """Shares, floors, who answers what, anchors with their texts."""
    desk.rubric(SOUND)
    out = desk.run("rubric", "show", "rubric.yaml").out
    for line in (
        "A sound rubric",
        "threshold 80, floor 60",
        "60%",
        "required",
        "floor 70",
        "40%",
        "code, regex",
    ):
        assert line in out
    assert "75: mostly factual" in out
    assert "can be fixed" in out


def test_show_json_and_schema_are_json(desk: Desk) -> None:
    """The rubric as data, and the schema that editors take, which knows every key used here."""
    desk.rubric(RUBRIC)
    plain = desk.run("rubric", "show", "rubric.yaml", "--json").json
    assert [criterion["id"] for criterion in plain["criteria"]] == ["words", "close"]
    schema = json.loads(desk.run("rubric", "show", "--schema").out)
    assert {"rubric", "title", "threshold", "floor", "criteria"} <= set(schema["properties"])


def test_show_without_a_file_is_a_usage_error(desk: Desk) -> None:
    """Neither a file nor `--schema`: exit 2 with a hint."""
    result = desk.run("rubric", "show")
    assert result.is_refusal
    assert "--schema" in result.err


def test_a_title_with_escapes_cannot_colour_the_terminal(desk: Desk) -> None:
    """Text of a rubric is shown without control characters."""
    desk.rubric(RUBRIC.replace("title: A note that a stranger can use", 'title: "\\e[31mred"'))
    result = desk.run("rubric", "show", "rubric.yaml")
    assert result.code == 0
    assert "\x1b" not in result.out
    assert "red" in result.out
