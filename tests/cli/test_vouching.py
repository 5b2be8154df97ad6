"""Judges that may decide: `--require-calibration` and `--require-tier`, and the keys of a rubric
and of a suite.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import honestone
from honestone.core.errors import UsageError
from honestone.core.statistics.calibration import MOST_FALSE_PASSES, unmet_labels_wanted
from honestone.formats.rubric.rubric_file import parse_rubric, read_rubric
from honestone.formats.rubric.rubric_write import dump_rubric
from honestone.formats.suite.suite_write import dump_suite
from honestone.interop.recognise import read_any_suite

from .desk import Desk, Program
from .test_calibrate import RUBRIC, kind_judge, shelf, words

SUITE = "suite: 1\ntarget: cmd:cat\ncases:\n  - {id: one, input: It is sound., rubric: {file: r.yaml}}\n"
ASKED = ["--require-calibration", "--require-tier", "calibration key", "tier key"]


def desk_with(desk: Desk, asked: str, *, of_suite: bool) -> tuple[str, ...]:
    """The words of a command that asks for it in one way: an option, or a key of the rubric or the
    suite.
    """
    shelf(desk)
    key = {
        "calibration key": "require_calibration: true\n",
        "tier key": "require_tier: medium\n",
    }.get(asked, "")
    desk.file("r.yaml", RUBRIC if of_suite else RUBRIC.replace("rubric: 1\n", "rubric: 1\n" + key))
    desk.file("suite.yaml", SUITE.replace("suite: 1\n", "suite: 1\n" + (key if of_suite else "")))
    desk.file("a.md", "It is sound.\n")
    more = {"--require-calibration": (asked,), "--require-tier": (asked, "medium")}.get(asked, ())
    return (*(("eval", "suite.yaml") if of_suite else ("eval", "a.md", "-r", "r.yaml")), *more)


@pytest.mark.slow
@pytest.mark.parametrize("of_suite", [False, True])
@pytest.mark.parametrize("asked", ASKED)
def test_a_judge_that_was_not_measured_is_refused_before_a_call(
    asked: str, of_suite: bool, desk: Desk
) -> None:
    """By name, with the command that measures it; of a panel each. Once measured it may decide."""
    command = desk_with(desk, asked, of_suite=of_suite)
    one, other = desk.judge("one"), desk.judge("other")
    measure = "honestone calibrate" if "calibration" in asked else "honestone audit"
    for panel in ((one,), (one, other)):
        refused = desk.run(*command, *judges(*panel))
        assert refused.is_refusal and panel[0].spec in refused.err and measure in refused.err, (
            refused.err
        )
    assert one.calls == other.calls == 0
    measured = (
        words(one) if "calibration" in asked else ("audit", "a.md", "-r", "r.yaml", *judges(one))
    )
    assert desk.run(*measured, "-q").code == 0
    assert desk.run(*command, *judges(one)).code == 0
    calls = other.calls
    refused = desk.run(*command, *judges(one, other))
    assert refused.is_refusal and other.spec in refused.err and other.calls == calls


def judges(*named: Program) -> tuple[str, ...]:
    return tuple(word for judge in named for word in ("--judge", judge.spec))


@pytest.mark.parametrize(("unmet", "fits"), [(0, False), (1, False), (5, False), (8, True)])
def test_a_calibration_that_shows_nothing_vouches_for_nobody(
    unmet: int, fits: bool, desk: Desk
) -> None:
    """How much a judge passes that is unmet has to be known; the refusal says how many labels would
    do.
    """
    shelf(desk, 30)
    lines = (desk.folder / "labels.csv").read_text().splitlines()
    met = [line for line in lines[1:] if line.endswith("yes")][:4]
    not_met = [line for line in lines[1:] if line.endswith("no")][:unmet]
    desk.file("labels.csv", "\n".join([lines[0], *met, *not_met]) + "\n")
    desk.file("a.md", "It is sound.\n")
    good = desk.judge("good")
    assert desk.run(*words(good), "-q").code == 0
    calls = good.calls
    found = desk.run("eval", "a.md", "-r", "r.yaml", *judges(good), "--require-calibration")
    if fits:
        assert found.code == 0
        return
    assert found.is_refusal and good.spec in found.err and good.calls == calls
    assert "about 8 such labels would do" in found.err, found.err


def test_as_many_labels_do_as_are_said() -> None:
    """With one fewer the rate is not known well enough; at a rate that is too high no number does."""
    assert unmet_labels_wanted(0.0) == 8
    assert [unmet_labels_wanted(rate) is None for rate in (0.1, 0.3, MOST_FALSE_PASSES, 0.9)] == [
        False,
        False,
        True,
        True,
    ]
    wanted = [unmet_labels_wanted(rate) or 0 for rate in (0.0, 0.05, 0.1, 0.2, 0.3)]
    assert wanted == sorted(wanted)


@pytest.mark.slow
def test_a_lenient_judge_may_not_decide(desk: Desk) -> None:
    """Also where the rubric asks for it, and in `improve`, of judges that steer too."""
    shelf(desk)
    desk.file("a.md", "It is sound.\n")
    good, kind = desk.judge("good"), kind_judge(desk)
    assert desk.run(*words(good, kind), "-q").code == 0
    desk.file("r.yaml", RUBRIC.replace("rubric: 1\n", "rubric: 1\nrequire_calibration: true\n"))
    refused = desk.run("eval", "a.md", "-r", "r.yaml", *judges(kind))
    assert refused.is_refusal and "is lenient" in refused.err
    worker = desk.worker("w", "put(read())").spec
    loop = ("improve", "a.md", "-r", "r.yaml", "--worker", worker, "--policy", "keep-best")
    refused = desk.run(*loop, *judges(kind), "--holdout", good.spec)
    assert refused.is_refusal and "is lenient" in refused.err
    assert "is lenient" not in desk.run(*loop, *judges(good)).err


@pytest.mark.slow
def test_the_key_changes_nothing_of_what_was_measured(desk: Desk) -> None:
    """A calibration holds after the key is added; a rubric that only code judges needs none; a
    wrong tier is an error.
    """
    shelf(desk)
    desk.file("a.md", "It is sound.\n")
    good = desk.judge("good")
    assert desk.run(*words(good), "-q").code == 0
    desk.file("r.yaml", RUBRIC.replace("rubric: 1\n", "rubric: 1\nrequire_calibration: true\n"))
    assert desk.run("eval", "a.md", "-r", "r.yaml", *judges(good)).code == 0
    assert desk.run(*words(good), "-q").code == 0, "it does not stand in the way of measuring"
    desk.file(
        "r.yaml",
        "rubric: 1\nrequire_calibration: true\ncriteria: [{id: a, requirement: b, check: {contains: sound}}]\n",
    )
    assert desk.run("eval", "a.md", "-r", "r.yaml").code == 0
    desk.file("r.yaml", RUBRIC.replace("rubric: 1\n", "rubric: 1\nrequire_tier: top\n"))
    wrong = desk.run("eval", "a.md", "-r", "r.yaml", *judges(good))
    assert wrong.code == 2 and "r.yaml:2:15" in wrong.err and "`high`, `medium`, `low`" in wrong.err


def test_python_asks_for_it_too(desk: Desk) -> None:
    """`evaluate`, `evaluate_many`, `assert_passes` and `run_suite` refuse a judge that was not
    measured.
    """
    shelf(desk)
    desk.file("suite.yaml", SUITE)
    good = desk.judge("good")
    given = {"folder": desk.folder, "store": desk.folder / ".honestone"}
    rubric = Path("r.yaml")
    for more in ({"require_calibration": True}, {"require_tier": "low"}):
        options: dict[str, object] = {**given, **more}
        with pytest.raises(UsageError, match="never"):
            honestone.evaluate("It is sound.", rubric, judges=good.spec, **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="never"):
            honestone.evaluate_many(["It is sound."], rubric, judges=good.spec, **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="never"):
            honestone.assert_passes("It is sound.", rubric, judge=good.spec, **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="never"):
            honestone.run_suite(Path("suite.yaml"), judges=good.spec, **options)  # type: ignore[arg-type]
    assert good.calls == 0


def test_init_writes_the_key_as_a_comment(desk: Desk) -> None:
    """With a sentence; taking the `#` away is all that it needs."""
    desk.file("note.md", "# Note\n\nIt is sound.\n")
    assert desk.run("init", "note.md").code == 0
    written = (desk.folder / "rubric.yaml").read_text()
    assert "\n# require_calibration: true\n" in written
    desk.file("rubric.yaml", written.replace("# require_calibration", "require_calibration"))
    shown = desk.run("rubric", "check", "rubric.yaml", "--json")
    assert shown.code == 0 and json.loads(shown.out)


def test_what_a_file_asks_of_judges_is_written_with_it(desk: Desk) -> None:
    """A rubric and a suite that are read and written again ask the same; what the rubric of a case
    asks holds for all.
    """
    asked = "require_calibration: true\nrequire_tier: medium\n"
    shelf(desk)
    desk.file("r.yaml", RUBRIC.replace("rubric: 1\n", "rubric: 1\n" + asked))
    desk.file("suite.yaml", SUITE.replace("suite: 1\n", "suite: 1\nrequire_tier: low\n"))
    source = read_rubric(desk.folder / "r.yaml")
    assert parse_rubric(dump_rubric(source.rubric), "again").rubric == source.rubric
    suite = read_any_suite(desk.folder / "suite.yaml").suite
    written = dump_suite(suite)
    assert "\nrequire_calibration: true\nrequire_tier: medium\ncases:\n" in written, written
    for other in ("agentv", "task-suite", "healthbench"):
        lost = desk.run("suite", "convert", "suite.yaml", "--to", other)
        assert "require_calibration" in lost.err and "require_tier" in lost.err, (other, lost.err)
