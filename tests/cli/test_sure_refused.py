"""What a file says of `sure` and cannot be had: refused with its place, before anything is spent."""

from __future__ import annotations

import pytest

from .desk import Desk

RUBRIC = "rubric: 1\n{keys}criteria:\n  - says apple\n  - says pear\n"
SUITE = """\
suite: 1
artifact: text.md
target: cmd:cat
{keys}cases:
  - id: one
    split: train
    input: x
    rubric: [says apple]
  - id: two
    split: val
    input: y
    rubric: [says apple]
  - id: three
    split: test
    input: z
    rubric: [says apple]
"""
BY_RUBRIC, BY_SUITE = ("text.md", "-r", "rubric.yaml"), ("suite.yaml",)
LOOP = ("--worker", "cmd:true")
LOOP_BY_SUITE = ("text.md", "--suite", "suite.yaml", *LOOP)


@pytest.fixture
def files(desk: Desk) -> Desk:
    desk.file("text.md", "A text.")
    return desk


def written(desk: Desk, keys: str) -> None:
    desk.file("rubric.yaml", RUBRIC.format(keys=keys))
    desk.file("suite.yaml", SUITE.format(keys=keys))


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (("eval", *BY_RUBRIC), "rubric.yaml:2:1"),
        (("improve", *BY_RUBRIC, *LOOP), "rubric.yaml:2:1"),
        (("eval", *BY_SUITE), "suite.yaml:4:1"),
        (("improve", *LOOP_BY_SUITE), "suite.yaml:4:1"),
    ],
)
def test_a_limit_without_sure_limits_nothing(
    files: Desk, call: tuple[str, ...], place: str
) -> None:
    """As --max-looks alone; with --sure the file's limit holds."""
    written(files, "max_looks: 4\n")
    judge = files.judge()
    found = files.run(*call, "--judge", judge.spec)
    assert found.is_refusal and "nothing says how sure" in found.err and place in found.err
    assert judge.calls == 0
    if call[0] == "eval":
        asked = files.run(*call, "--judge", judge.spec, "--sure", "95", "--json").json
        assert asked["belief"]["max_looks"] == 4


def test_a_check_of_a_rubric_says_that_eval_refuses_its_limit(files: Desk) -> None:
    written(files, "max_looks: 4\n")
    found = files.run("rubric", "check", "rubric.yaml")
    assert "rubric.yaml:2:1: `max_looks` without `sure` [limit-without-sure]" in found.out


@pytest.mark.parametrize(
    ("of", "place"), [(BY_RUBRIC, "rubric.yaml:2:1"), (BY_SUITE, "suite.yaml:4:1")]
)
@pytest.mark.parametrize("is_in_file", [True, False])
def test_people_alone_cannot_be_asked_on(
    files: Desk, of: tuple[str, ...], place: str, is_in_file: bool
) -> None:
    written(files, "sure: 95\n" if is_in_file else "")
    asked = () if is_in_file else ("--sure", "95")
    found = files.run("eval", *of, "--judge", "human", *asked)
    assert found.is_refusal and "people are the only judges" in found.err
    assert (place in found.err) is is_in_file


@pytest.mark.parametrize(
    ("of", "place"),
    [((*BY_RUBRIC, *LOOP), "rubric.yaml:2:1"), (LOOP_BY_SUITE, "suite.yaml:4:1")],
)
def test_improve_says_where_its_bar_is_too_low(
    files: Desk, of: tuple[str, ...], place: str
) -> None:
    written(files, "sure: 70\n")
    judge = files.judge()
    found = files.run("improve", *of, "--judge", judge.spec)
    assert found.is_refusal and "`sure: 70`" in found.err and place in found.err
    assert judge.calls == 0


def test_a_bar_where_none_was_locked_is_named_as_it_is_written(files: Desk) -> None:
    """95, not the 19/20 that is hashed."""
    written(files, "")
    judge = ("--judge", files.judge().spec)
    assert files.run("rubric", "lock", "rubric.yaml", *judge).code == 0
    found = files.run("eval", *BY_RUBRIC, *judge, "--locked", "--sure", "95")
    assert found.is_refusal and "rubric.sure: 95 is new" in found.err
