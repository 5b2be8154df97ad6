"""`honestone noise`: every look is a call, kept at once; `improve` takes its tolerance from the
record.
"""

from __future__ import annotations

from typing import Any

import pytest

from .desk import Desk, Program, until

RUBRIC = "rubric: 1\nthreshold: 70\nfloor: 0\ncriteria:\n  - {id: depth, requirement: It goes deep, anchors: {0: shallow, 100: deep}}\n"
YES_NO = "rubric: 1\ncriteria:\n  - {id: a, requirement: It is good}\n  - {id: code, requirement: It says text, check: {contains: text}}\n"


def scripted(desk: Desk, values: list[Any], name: str = "judge", before: str = "") -> Program:
    """A judge whose looks score one value after the other; None: it answers nothing."""
    return desk.judge(
        name,
        f"n = sum(1 for _ in open(LOG)) - 1\n{before}value = {values!r}[n % {len(values)}]\n"
        "if value is None: sys.exit('no disk')\n"
        "print(json.dumps({'criteria': {c['id']: {'score': value} for c in request['criteria']}}))\n",
    )


def prepared(desk: Desk, rubric: str = RUBRIC) -> None:
    desk.file("a.md", "A text.\n")
    desk.file("r.yaml", rubric)


def test_a_planted_spread_is_found(desk: Desk) -> None:
    """The judges' own, the panel's, the flips of the verdict, and what that means."""
    prepared(desk)
    noisy, calm = scripted(desk, [60, 80, 70, 75, 65], "noisy"), scripted(desk, [70], "calm")
    words = ("noise", "a.md", "--rubric", "r.yaml", "--judge", noisy.spec, "--judge", calm.spec)
    found = desk.run(*words, "--json").json
    one, other = found["judges"]
    assert (
        found["schema"] == "honestone.noise/1"
        and found["n"] == 5
        and found["usage"]["judge_calls"] == 10
    )
    assert one["criteria"] == [{"id": "depth", "mean": 70, "sd": pytest.approx(7.905694)}]
    assert other["overall"] == {"mean": 70, "sd": 0} and found["overall"]["sd"] == pytest.approx(
        3.952847
    )
    assert found["verdict"] == {
        "pass": 3,
        "fail": 2,
        "inconclusive": 0,
        "flip_rate": pytest.approx(0.6),
    }
    assert found["tolerance"] == pytest.approx(1.959964 * 2**0.5 * 3.952847, abs=1e-4)
    assert desk.run("show", "last", "--json").json == found
    text = desk.run("show", "last").out
    assert (
        "changes under 11.0 points are noise here" in text
        and "two looks differ in 60.0% of pairs" in text
    )
    assert "noise" in desk.run("runs").out and desk.run("rescore", "last").code == 2


def test_a_second_measurement_asks_again(desk: Desk) -> None:
    """Every look is a fresh draw: what is on record is the noise of then."""
    prepared(desk)
    judge = scripted(desk, [70, 80])
    words = ("noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "2", "--json")
    assert (
        desk.run(*words).json["tolerance"] == desk.run(*words).json["tolerance"]
        and judge.calls == 4
    )


@pytest.mark.slow
def test_after_a_kill_no_look_is_repeated(desk: Desk) -> None:
    """The same command finishes the run, and of the look that was interrupted asks only who had not
    answered.
    """
    prepared(desk)
    quick = scripted(desk, [60], "quick")
    judge = scripted(desk, [60, 80, 70, 70], before="if n == 2: time.sleep(600)\n")
    words = (
        "noise",
        "a.md",
        "--rubric",
        "r.yaml",
        "--judge",
        quick.spec,
        "--judge",
        judge.spec,
        "-n",
        "3",
        "--json",
    )
    running = desk.start(*words)
    assert until(lambda: judge.calls == 3 and desk.replies == 5)
    running.kill()
    running.communicate()
    found = desk.run(*words)
    assert (
        found.code == 0
        and found.json["judges"][1]["overall"]["mean"] == 70
        and judge.calls == 4
        and quick.calls == 3
    )
    assert len(desk.run("runs", "--json").json) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n", "1"), "-n is 1"),
        (("--repeat", "1"), "-n is 1"),
        (("--rubric", "code.yaml"), "asks no judge"),
    ],
)
def test_what_means_nothing_is_refused(words: tuple[str, ...], said: str, desk: Desk) -> None:
    """Exit 2, and no call."""
    prepared(desk)
    desk.file(
        "code.yaml", "rubric: 1\ncriteria: [{id: a, requirement: b, check: {contains: text}}]\n"
    )
    judge = scripted(desk, [70])
    rubric = () if "--rubric" in words else ("--rubric", "r.yaml")
    result = desk.run("noise", "a.md", *rubric, "--judge", judge.spec, *words)
    assert result.code == 2 and said in result.err and not result.out and judge.calls == 0


def test_a_judge_that_fails_gives_no_number(desk: Desk) -> None:
    """Looks without a score do not count; with fewer than two there is nothing to measure."""
    prepared(desk)
    often, once = scripted(desk, [None, 60, 80], "often"), scripted(desk, [60, None], "once")
    found = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", often.spec, "-n", "3", "--json"
    ).json
    assert found["judges"][0]["looks"] == 2 and "no disk" in found["judges"][0]["reason"]
    assert found["verdict"]["inconclusive"] == 1 and found["overall"]["mean"] == 70
    result = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", once.spec, "-n", "2", "--json"
    )
    assert result.code == 3 and not result.out and "no disk" in result.err


def test_code_takes_part(desk: Desk) -> None:
    """The panel's score has the checks in it."""
    prepared(desk, YES_NO)
    judge = desk.judge("j", "print(json.dumps({'criteria': {'a': {'met': True}}}))")
    found = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "2", "--json"
    ).json
    assert found["overall"] == {"mean": 100, "sd": 0} and found["tolerance"] == 0
    assert [one["id"] for one in found["judges"][0]["criteria"]] == ["a", "code"]


WORKER = "put(read() + b'more\\n')"


def improved(desk: Desk, judge: Program) -> dict[str, Any]:
    worker = desk.worker("w", WORKER)
    words = (
        "--judge",
        judge.spec,
        "--worker",
        worker.spec,
        "--policy",
        "keep-best",
        "--rounds",
        "1",
        "--json",
    )
    found: dict[str, Any] = desk.run("improve", "a.md", "--rubric", "r.yaml", *words).json
    return found


@pytest.mark.parametrize(
    ("looks", "after", "kept"),
    [
        ([50, 60, 55], 46, True),  # a fall of 4 is noise here
        ([50, 60, 55], 30, False),
        ([50, 50, 50], 49, False),  # no noise: every fall is one
        ([50, 50, 50], 50, True),
    ],
)
def test_improve_keeps_what_fell_by_less_than_the_noise(
    looks: list[int], after: int, kept: bool, desk: Desk
) -> None:
    """A first look at the original finds 50 again; the change scores `after`."""
    prepared(desk)
    judge = scripted(
        desk,
        looks,
        before=f"if 'more' in text: sys.exit(print(json.dumps({{'criteria': {{'depth': {{'score': {after}}}}}}})))\n",
    )
    noise = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "3", "--json"
    ).json
    found = improved(desk, judge)
    assert found["noise"] == {
        "from": "noise",
        "tolerance": pytest.approx(noise["tolerance"]),
        "run": noise["run"],
    }
    assert (
        found["baseline"]["score"] == 50 and (found["rounds"][0]["decision"] == "accepted") is kept
    )


def test_without_a_measurement_two_points_are_noise(desk: Desk) -> None:
    """Neither does the noise of other judges count."""
    prepared(desk)
    other = scripted(desk, [50, 90], "other")
    assert (
        desk.run("noise", "a.md", "--rubric", "r.yaml", "--judge", other.spec, "-n", "2").code == 0
    )
    assert improved(desk, scripted(desk, [50]))["noise"] == {
        "from": "default",
        "tolerance": 2,
        "run": None,
    }


@pytest.mark.slow
def test_reports_show_the_noise_they_know(desk: Desk) -> None:
    """Of the same rubric and judges, in every form, also of a run from before; a score near its bar
    says so.
    """
    prepared(desk)
    judge = scripted(desk, [66, 72, 69])
    words = ("eval", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-q")
    assert (
        "noise" not in desk.run(*words, "--json").json
        and "noise" not in desk.run("show", "last").out
    )
    noise = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "3", "--json"
    ).json
    told = f"changes under {int(noise['tolerance'] * 10) / 10} points are noise here"
    found = desk.run(*words, "--json").json
    known = {"from": "noise", "tolerance": pytest.approx(noise["tolerance"]), "run": noise["run"]}
    assert found["noise"] == known and desk.run("show", "last", "--json").json["noise"] == known
    text = " ".join(desk.run("show", "last").out.split())
    assert told in text and noise["run"] in text and "another look may turn the verdict" in text
    assert told in desk.run("show", "last", "--format", "markdown").out
    far = desk.run(*words, "--threshold", "30", "--json").json
    assert "noise" not in far  # another contract
    other = scripted(desk, [50], "other")
    assert (
        "noise"
        not in desk.run("eval", "a.md", "--rubric", "r.yaml", "--judge", other.spec, "--json").json
    )


@pytest.mark.slow
def test_an_improvement_shows_the_noise_it_went_by(desk: Desk) -> None:
    prepared(desk)
    judge = scripted(desk, [50, 60, 55])
    noise = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "3", "--json"
    ).json
    improved(desk, judge)
    for form in ("text", "markdown", "html"):
        page = " ".join(desk.run("show", "last", "--format", form).out.split())
        assert "points are noise here (measured in run" in page and noise["run"] in page


SUITE = """\
suite: 1
rubric: {file: r.yaml}
cases:
  - {id: near, input: a text that is near}
  - {id: far, input: a text that is far}
"""


@pytest.mark.slow
def test_suites_and_comparisons_say_which_differences_are_noise(desk: Desk) -> None:
    """Of cases whose rubric was measured with these judges: the reports of the run, a baseline's,
    and `compare`.
    """
    prepared(desk)
    desk.file("s.yaml", SUITE)
    target = desk.file("t.py", "import sys; print(sys.stdin.read(), open('version.txt').read())\n")
    judge = desk.judge(
        "judge",
        "known = {'near one': 70, 'near two': 71, 'far one': 80, 'far two': 20}\n"
        "words = ' '.join((request['output'] or '').split()[-2:])\n"
        "v = known[words] if words else [60, 70, 65][sum(1 for _ in open(LOG)) % 3]\n"
        "print(json.dumps({'criteria': {'depth': {'score': v}}}))\n",
    )
    words = (
        "eval",
        "s.yaml",
        "--target",
        f"cmd:python3 {target.name}",
        "--judge",
        judge.spec,
        "-q",
    )
    desk.file("version.txt", "one")
    first = desk.run(*words, "--json").json
    assert "noise" not in first["cases"][0]
    noise = desk.run(
        "noise", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "-n", "3", "--json"
    ).json
    known = {"from": "noise", "tolerance": pytest.approx(noise["tolerance"]), "run": noise["run"]}
    desk.file("version.txt", "two")
    second = desk.run(*words, "--baseline", first["run"], "--json").json
    assert [case["noise"] for case in second["cases"]] == [known, known]
    assert [case["noise"] for case in second["comparison"]["cases"]] == [known, known]
    for form in ("text", "markdown", "html"):
        page = " ".join(desk.run("show", second["run"], "--format", form).out.split())
        assert "points are noise here (measured in run" in page and noise["run"] in page
        assert page.count("within noise") >= 1
        page = " ".join(
            desk.run("compare", first["run"], second["run"], "--format", form).out.split()
        )
        assert (
            page.count("within noise") >= 1
            and "−60.0, within noise" not in page
            and noise["run"] in page
        )
    assert [
        case["noise"]
        for case in desk.run("compare", first["run"], second["run"], "--json").json["cases"]
    ] == [known] * 2
    other = desk.judge("other", "print(json.dumps({'criteria': {'depth': {'score': 50}}}))")
    found = desk.run(
        "eval", "s.yaml", "--target", f"cmd:python3 {target.name}", "--judge", other.spec, "--json"
    ).json
    assert "noise" not in found["cases"][0]
