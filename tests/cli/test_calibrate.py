"""`honestone calibrate`: judges measured against labels, nothing paid twice, kept for whoever asks
for it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk, Program, Result, until

RUBRIC = "rubric: 1\nthreshold: 50\nfloor: 0\ncriteria:\n  - {id: sound, requirement: The text says sound}\n"
SEVERAL = """\
rubric: 1
threshold: 60
floor: 0
criteria:
  - id: words
    requirement: It names things
    items: [{id: apple, requirement: It names the apple}, {id: pear, requirement: It names the pear}]
  - {id: depth, requirement: It goes deep, anchors: {0: shallow, 10: deep}}
  - {id: clean, requirement: It swears, negate: true}
  - {id: code, requirement: It says text, check: {contains: text}}
"""


def shelf(desk: Desk, n: int = 16) -> None:
    """So many texts, every second one good, and what a person said of them."""
    desk.file("r.yaml", RUBRIC)
    rows = ["artifact,sound"]
    for at in range(n):
        desk.file(
            f"arts/t{at}.md", f"Text number {at}.\nIt is {'hollow' if at % 2 else 'sound'}.\n"
        )
        rows.append(f"arts/t{at}.md,{'no' if at % 2 else 'yes'}")
    desk.file("labels.csv", "\n".join(rows) + "\n")


def words(*judges: Program, labels: str = "labels.csv") -> tuple[str, ...]:
    named = [word for judge in judges for word in ("--judge", judge.spec)]
    return ("calibrate", "--labels", labels, "-r", "r.yaml", *named)


def kind_judge(desk: Desk) -> Program:
    return desk.judge_in_python("kind", "print(json.dumps({'criteria': {'sound': {'met': True}}}))")


@pytest.mark.slow
def test_a_lenient_judge_is_caught(desk: Desk) -> None:
    """Figures and intervals; every reply is kept and used again; the run can be shown."""
    shelf(desk)
    good, kind = desk.judge_in_python("good"), kind_judge(desk)
    found = desk.run(*words(good, kind), "--json").json
    one, other = found["judges"]
    assert (
        found["schema"] == "honestone.calibration/1"
        and found["units"] == 16
        and found["raters"] == ["person"]
    )
    assert (
        found["base_rate"] == 0.5
        and found["human_ceiling"] is None
        and found["usage"]["judge_calls"] == 32
    )
    assert (one["kappa"], one["tpr"], one["tnr"], one["bias"], one["lenient"]) == (
        1,
        1,
        1,
        0,
        False,
    )
    assert (other["kappa"], other["tpr"], other["tnr"], other["bias"], other["lenient"]) == (
        0,
        1,
        0,
        50,
        True,
    )
    assert (
        other["tnr_interval"] == [0, pytest.approx(0.3694, abs=1e-4)]
        and other["units"] == other["answers"] == 16
    )
    assert found["panel"]["drop"] == [kind.spec] and found["panel"]["best_single"] == {
        "id": good.spec,
        "kappa": 1,
    }
    assert one["criteria"][0] == {
        "id": "sound",
        **{
            name: value
            for name, value in one.items()
            if name in one["criteria"][0] and name != "id"
        },
    }
    again = desk.run(*words(good, kind), "--strict")
    assert (
        again.code == 1
        and f"{kind.spec} is lenient" in again.out
        and good.calls == kind.calls == 16
    )
    shown = desk.run("show", "last", "--json").json
    assert shown["usage"]["judge_calls"] == 0 and shown["judges"] == found["judges"]
    assert (
        "TNR" in desk.run("show", "last").out
        and "| --- |" in desk.run("show", "last", "-f", "markdown").out
    )
    assert "calibrate  labels.csv" in desk.run("runs").out and desk.run("rescore", "last").code == 2
    assert desk.run(*words(good), "--strict", "-q").code == 0


def test_items_scales_and_what_should_not_be(desk: Desk) -> None:
    """A criterion item by item and as a whole; points on its own scale; yes is bad where it is
    negated.
    """
    desk.file("r.yaml", SEVERAL)
    desk.file("a.md", "An apple, a pear: text.\n")
    desk.file("b.md", "An apple: text.\n")
    desk.file("c.md", "damn text.\n")
    desk.file(
        "labels.csv",
        "artifact,words/apple,words/pear,words,depth,clean\na.md,yes,yes,100,8,no\nb.md,yes,no,40,4,no\nc.md,no,no,no,0,yes\n",
    )
    judge = desk.judge_in_python(
        "j",
        "print(json.dumps({'criteria': {'words': {'items': {w: {'met': w in text} for w in ('apple', 'pear')}},"
        "'depth': {'score': 9 if 'pear' in text else 5}, 'clean': {'met': False}}}))",
    )
    found = desk.run(*words(judge), "--json").json
    by_id = {one["id"]: one for one in found["judges"][0]["criteria"]}
    assert (by_id["words"]["kappa"], by_id["words"]["answers"], by_id["words"]["units"]) == (
        1,
        9,
        3,
    )
    assert by_id["words"]["bias"] == pytest.approx(10 / 9) and by_id["depth"][
        "bias"
    ] == pytest.approx(70 / 3)
    assert (by_id["clean"]["tpr"], by_id["clean"]["tnr"], by_id["clean"]["bias"]) == (
        1,
        0,
        pytest.approx(100 / 3),
    )
    assert found["base_rate"] == pytest.approx(7 / 15)


def test_two_people_show_the_ceiling(desk: Desk) -> None:
    """Where they are split the label says nothing of met or not."""
    shelf(desk)
    rows = [
        {
            "artifact": f"arts/t{at}.md",
            "rater": who,
            "criterion": "sound",
            "value": (at % 2 == 0) != (at == 0 and who == "b"),
        }
        for at in range(16)
        for who in "ab"
    ]
    desk.file("two.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    found = desk.run(*words(desk.judge_in_python("good"), labels="two.jsonl"), "--json").json
    assert found["human_ceiling"] == {"kappa": pytest.approx(0.875), "agreement": 0.9375}
    assert (
        found["raters"] == ["a", "b"]
        and found["judges"][0]["answers"] == 15
        and found["judges"][0]["units"] == 16
    )
    assert found["judges"][0]["kappa"] == 1 and found["judges"][0]["bias"] == pytest.approx(50 / 16)


def test_the_rate_of_other_artifacts_is_put_right(desk: Desk) -> None:
    """They need no labels; text tells what the rate is as the judge says it, and what it is then."""
    shelf(desk)
    for at in range(4):
        desk.file(f"new/n{at}.md", f"Text number {at}.\nIt is hollow.\n")
    some = desk.judge_in_python(
        "some",
        "n = int(text.split()[2].strip('.'))\nprint(json.dumps({'criteria': {'sound': {'met': 'sound' in text or n % 4 == 1}}}))",
    )
    command = words(some)
    found = desk.run(command[0], *(f"new/n{at}.md" for at in range(4)), *command[1:], "--json").json
    rates = found["judges"][0]["corrected"]
    assert found["population"] == 4 and found["units"] == 16 and rates["observed"] == 0.25
    assert rates == {"observed": 0.25, "rogan_gladen": 0, "ppi": 0}
    assert "of 4 artifacts by" in desk.run("show", "last").out


def test_labels_of_other_bytes_are_left_out(desk: Desk) -> None:
    """And cost nothing; where none is left that is an error."""
    shelf(desk, 4)
    desk.run(
        "label",
        "arts/t0.md",
        "arts/t1.md",
        "-r",
        "r.yaml",
        "--labels",
        "l.jsonl",
        "--rater",
        "me",
        stdin="y\nn\n",
    )
    desk.file("arts/t0.md", "Another.\n")
    good = desk.judge_in_python("good")
    found = desk.run(*words(good, labels="l.jsonl"), "--json").json
    assert found["units"] == 1 and found["outdated"] == 1 and good.calls == 1
    assert "1 label is left out" in desk.run("show", "last").out
    desk.file("arts/t1.md", "Another.\n")
    refused = desk.run(*words(good, labels="l.jsonl"))
    assert refused.is_refusal and "has changed since" in refused.err and good.calls == 1


@pytest.mark.slow
def test_a_judge_that_fails_gives_no_number(desk: Desk) -> None:
    """Nobody answered: exit 3. One of two did: its figures are measured, the other has none and a
    reason.
    """
    shelf(desk)
    dead, good = desk.judge("dead", "sys.exit('no disk')"), desk.judge_in_python("good")
    nobody = desk.run(*words(dead), "--json")
    assert (
        nobody.code == 3 and "no disk" in nobody.err and nobody.json["judges"][0]["kappa"] is None
    )
    assert desk.run(*words(dead)).out == ""
    found = desk.run(*words(dead, good), "--json").json
    assert found["judges"][0]["units"] == 0 and found["judges"][0]["lenient"] is None
    assert found["judges"][0]["kappa"] is None and "no disk" in found["judges"][0]["reason"]
    assert found["panel"]["votes"] == 1 and found["judges"][1]["kappa"] == 1


@pytest.mark.slow
def test_after_a_kill_nothing_is_paid_twice(desk: Desk) -> None:
    """The same command asks only about what was not answered."""
    shelf(desk)
    slow = desk.judge(
        "slow", "if 'number 9.' in text and n == 0: time.sleep(600)\nprint(json.dumps(reply()))"
    )
    path = slow.path
    path.write_text(path.read_text().replace("again = ", "n = os.path.exists('killed')\nagain = "))
    running = desk.start(*words(slow), "--json")
    assert until(lambda: slow.calls == 16 and desk.replies == 15)
    running.kill()
    running.communicate()
    desk.file("killed", "")
    found = desk.run(*words(slow), "--json")
    assert found.code == 0 and found.json["judges"][0]["kappa"] == 1
    assert slow.calls - 16 == found.json["usage"]["judge_calls"] < 16


def refusals() -> list[tuple[dict[str, str], tuple[str, ...], list[str]]]:
    """Files, more words, what is said."""
    return [
        ({"labels.csv": "artifact,sond\narts/t1.md,yes\n"}, (), ["labels.csv:1", "`sound`"]),
        (
            {"labels.csv": "artifact,sound\narts/none.md,yes\nb,no\n"},
            (),
            ["labels.csv:2", "none.md", "labels.csv:3"],
        ),
        (
            {"labels.csv": "artifact,sound\narts,yes\n", "arts/labels.csv": "x"},
            ("--labels", "arts/labels.csv"),
            ["given twice"],
        ),
        ({"labels.csv": "artifact,sound\n"}, (), ["has no labels"]),
        ({"labels.csv": "artifact,sound\n.,yes\n"}, (), ["inside the artifact"]),
        ({}, ("--repeat", "3"), ["--repeat"]),
        (
            {"r.yaml": "rubric: 1\ncriteria: [{id: a, requirement: b, check: {contains: text}}]\n"},
            (),
            ["asks no judge"],
        ),
    ]


@pytest.mark.parametrize(("files", "more", "said"), refusals())
def test_wrong_calls_spend_nothing(
    files: dict[str, str], more: tuple[str, ...], said: list[str], desk: Desk
) -> None:
    shelf(desk, 2)
    for name, text in files.items():
        desk.file(name, text)
    good = desk.judge_in_python("good")
    result = desk.run(*words(good), *more)
    assert result.is_refusal and all(one in result.err for one in said), result.err
    assert good.calls == 0


def test_hostile_names_are_harmless(desk: Desk) -> None:
    """Of raters and artifacts, in text and Markdown."""
    desk.file("r.yaml", RUBRIC)
    desk.file("a.md", "Sound.\n")
    label: dict[str, Any] = {"artifact": "a.md", "criterion": "sound", "value": True}
    rows = [{**label, "rater": "\x1b[31m<script>|`x`"}, {**label, "rater": "=cmd()"}]
    desk.file("l.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    text = desk.run(*words(desk.judge_in_python("good"), labels="l.jsonl"), "-f", "markdown")
    assert text.code == 0 and "\x1b" not in text.out and "<script>" not in text.out
    assert "\x1b" not in desk.run("show", "last").out


def test_a_judge_that_contradicts_people_is_not_lenient(desk: Desk) -> None:
    """One that passes what people fail, and fails what they pass, has another fault; it may not
    certify either.
    """
    shelf(desk)
    desk.file("draft.md", "It is hollow.\n")
    body = "print(json.dumps({'criteria': {'sound': {'met': 'hollow' in text}}}))"
    contrary = desk.judge_in_python("contrary", body)
    shown = desk.run(*words(contrary), "--strict")
    assert f"{contrary.spec} contradicts people" in shown.out and "lenient" not in shown.out
    refused = improved(desk, desk.judge_in_python("steer"), "--holdout", contrary.spec)
    assert refused.is_refusal and "contradicts the labels" in refused.err


# ------------------------------------------------------------------------------------------------------
# who may certify

WORKER = "put(read().replace(b'hollow', b'sound'))"


def prepared(desk: Desk) -> tuple[Program, Program]:
    """A draft, and two judges that have been measured: a good one and a lenient one."""
    shelf(desk)
    desk.file("draft.md", "Text number 99.\nIt is hollow.\n")
    good, kind = desk.judge_in_python("good"), kind_judge(desk)
    assert desk.run(*words(good, kind), "-q").code == 0
    return good, kind


def improved(desk: Desk, steer: Program, *more: str, command: str = "improve") -> Result:
    worker = ("--worker", desk.worker("w", WORKER).spec) if command == "improve" else ()
    return desk.run(
        *command.split(),
        "draft.md",
        "-r",
        "r.yaml",
        "--judge",
        steer.spec,
        *worker,
        "--require-calibration",
        "--json",
        *more,
    )


@pytest.mark.slow
def test_only_a_calibrated_witness_certifies(desk: Desk) -> None:
    """A lenient one and one that was never measured are refused by name, and nothing is spent."""
    good, kind = prepared(desk)
    steer, never = desk.judge_in_python("steer"), desk.judge_in_python("never")
    for witness, said in ((kind, "is lenient"), (never, "never calibrated")):
        refused = improved(desk, steer, "--holdout", witness.spec)
        assert refused.is_refusal and said in refused.err and witness.spec in refused.err
        both = improved(desk, steer, "--holdout", good.spec, "--holdout", witness.spec)
        assert both.is_refusal and witness.spec in both.err
    assert steer.calls == never.calls == 0
    assert "Text number 99.\nIt is hollow." in (desk.folder / "draft.md").read_text()
    found = improved(desk, steer, "--holdout", good.spec)
    assert found.code == 0 and found.json["result"] == "PASSED"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("r.yaml", "says sound", "really says sound", "the rubric changed"),
        ("r.yaml", "threshold: 50", "threshold: 60", "the rubric changed"),
        (
            "good.py",
            "import json",
            "import json\n# another version\nimport json",
            "the judge changed",
        ),
    ],
)
def test_a_stale_calibration_is_refused(
    file: str, before: str, after: str, said: str, desk: Desk
) -> None:
    """Until it is measured again, and again as soon as it is as it was."""
    good, _ = prepared(desk)
    steer = desk.judge_in_python("steer")
    old = (desk.folder / file).read_text()
    desk.file(file, old.replace(before, after, 1))
    refused = improved(desk, steer, "--holdout", good.spec)
    assert (
        refused.is_refusal
        and "stale" in refused.err
        and said in refused.err
        and good.spec in refused.err
    )
    assert steer.calls == 0
    assert (
        desk.run(*words(good), "-q").code == 0
        and improved(desk, steer, "--holdout", good.spec).code == 0
    )
    desk.file(file, old)
    desk.file("draft.md", "It is hollow, once more.\n")
    assert improved(desk, steer, "--holdout", good.spec).code == 0


@pytest.mark.slow
def test_other_options_of_judging_make_it_stale(desk: Desk) -> None:
    good, _ = prepared(desk)
    refused = improved(
        desk, desk.judge_in_python("steer"), "--holdout", good.spec, "--evidence", "require"
    )
    assert refused.is_refusal and "the options of judging changed" in refused.err


@pytest.mark.slow
def test_the_newest_labels_count(desk: Desk) -> None:
    """New labels can take back what old ones said."""
    good, _ = prepared(desk)
    labels = (desk.folder / "labels.csv").read_text()
    desk.file("labels.csv", labels.replace("yes", "no"))
    assert desk.run(*words(good), "-q").code == 0
    refused = improved(desk, desk.judge_in_python("steer"), "--holdout", good.spec)
    assert refused.is_refusal and "is lenient" in refused.err


@pytest.mark.slow
def test_a_judge_that_did_not_answer_is_not_calibrated(desk: Desk) -> None:
    prepared(desk)
    dead = desk.judge("dead", "sys.exit('no disk')")
    assert desk.run(*words(desk.judge_in_python("good"), dead), "-q").code == 0
    refused = improved(desk, desk.judge_in_python("steer"), "--holdout", dead.spec)
    assert refused.is_refusal and "never calibrated" in refused.err


@pytest.mark.slow
def test_who_needs_no_witness_and_who_has_none(desk: Desk) -> None:
    """Code alone needs none; without --holdout there is no one to ask for; a suite certifies by
    itself.
    """
    good, _ = prepared(desk)
    none = improved(desk, good)
    assert none.is_refusal and "none was named" in none.err
    suite = desk.run(
        "improve", "draft.md", "--suite", "s.yaml", "--require-calibration", "--worker", "fix"
    )
    assert suite.is_refusal and "--require-calibration cannot go with --suite" in suite.err
    desk.file(
        "r.yaml", "rubric: 1\ncriteria: [{id: a, requirement: b, check: {contains: sound}}]\n"
    )
    assert improved(desk, good).json["result"] == "PASSED"


@pytest.mark.slow
def test_steps_ask_for_it_too(desk: Desk) -> None:
    """Of all judges, not of held-out ones alone; also when a run is resumed: the option is kept."""
    good, kind = prepared(desk)
    steer = desk.judge_in_python("steer")
    refused = improved(desk, steer, "--holdout", good.spec, command="step next")
    assert refused.code == 2 and steer.spec in refused.err and "never calibrated" in refused.err
    assert desk.run(*words(steer), "-q").code == 0
    calls = steer.calls
    refused = improved(desk, steer, "--holdout", kind.spec, command="step next")
    assert refused.code == 2 and "is lenient" in refused.err and steer.calls == calls
    first = improved(desk, steer, "--holdout", good.spec, command="step next")
    assert first.code == 0 and first.json["action"] == "propose"
    desk.file("good.py", (desk.folder / "good.py").read_text() + "# another version\n")
    assert "stale" in desk.run("step", "next", "--json").err
