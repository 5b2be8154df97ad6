"""`improve` by belief, which is the default, and by `strict`, as a person uses them: real judges
and workers, one look a version, a stated chance.
"""

from __future__ import annotations

import pytest

from honestone.core.numbers import points

from .desk import Desk, Result
from .test_improve import ADD_ALL, NOTE, WHOLE, call_of, improve, left_unfinished, note

WHOLE_LINES = sorted(WHOLE.splitlines())
"""Which criterion comes first is the policy's to say."""
OTHERS = [f"print(json.dumps(reply()))  # program {n}" for n in range(4)]


def lines(desk: Desk) -> list[str]:
    return sorted(note(desk).splitlines())


def run(desk: Desk, policy: str, *, holdouts: int = 2, **more: object) -> Result:
    """With two judges that steer. All read the text rightly, and are programs of their own."""
    panel = [desk.judge(f"panel{n}", OTHERS[n]) for n in range(2)]
    for n in range(holdouts):
        desk.judge(f"witness{n}", OTHERS[2 + n])
    words = [
        word
        for n in range(holdouts)
        for word in ("--holdout", desk.judge(f"witness{n}", OTHERS[2 + n]).spec)
    ]
    return improve(
        desk,
        desk.worker("worker", ADD_ALL),
        *panel,
        policy=policy,
        more=words or ["--holdout", "none"],
        **more,
    )


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["belief", "strict"])
def test_a_pass_says_how_sure_it_is(ready: Desk, policy: str) -> None:
    """By two looks of held-out judges at least; the document, the reason and `show` say how sure."""
    done = run(ready, policy)
    assert done.code == 0 and lines(ready) == WHOLE_LINES, done.err
    found = done.json
    assert found["result"] == "PASSED" and found["policy"] == policy and found["probability"] >= 0.5
    assert "sure that the contract is met" in found["reason"] and found["limits"]["rounds"] == 16
    assert sum(one["verdict"] == "pass" for one in found["certification"]["judges"]) == 2
    assert all(
        one["probability"] is None or 0 <= one["probability"] <= 1 for one in found["rounds"]
    )
    sentence = found["belief"]["sentence"]
    assert sentence in found["reason"]
    for form in ("text", "markdown", "html"):
        shown = ready.run("show", found["run"], "--format", form).out
        assert sentence in " ".join(shown.split()), form


@pytest.mark.parametrize(
    ("witness", "more", "words"),
    [
        (
            "raise RuntimeError('gone')",
            {"sure": "97"},
            "no further look would tell, as {} gave no answer",
        ),
        (OTHERS[2], {"sure": "99.9", "max_looks": "2"}, " more would tell (--max-looks "),
        (OTHERS[2], {"sure": "99.9", "max_calls": "6"}, " more would tell (--max-calls "),
    ],
)
def test_what_is_undecided_says_what_would_ask_on(
    ready: Desk, witness: str, more: dict[str, str], words: str
) -> None:
    """The option with a number that would do; none where no answer comes."""
    held_out = ready.judge_in_python("witness", witness).spec
    done = improve(
        ready,
        ready.worker("worker", ADD_ALL),
        ready.judge_in_python("panel", OTHERS[0]),
        policy="belief",
        more=["--holdout", held_out],
        **more,
    )
    belief = done.json["belief"]
    assert words.format(held_out) in belief["sentence"] and not belief["decided"], done.err
    assert (belief["more_looks"] is None) is ("no further" in words)
    assert belief["sentence"] in done.json["reason"]


def test_the_first_line_has_the_bar_and_the_next_command_keeps_it(ready: Desk) -> None:
    """As the first line of `eval` has it."""
    done = run(ready, "belief", rounds=1, sure="97")
    assert "asked on until it is 97% sure; worker " in done.err
    sentence = done.json["belief"]["sentence"]
    assert "asked: 97%" in sentence and sentence in done.json["reason"]
    for card in (done.json["baseline"], done.json["final"]):
        stated = [one for one in card["reasons"] if "asked: 97%" in one]
        assert stated == [card["belief"]["sentence"]]
    shown = ready.run("show", "last").out
    again = next(line for line in shown.splitlines() if line.startswith("next"))
    assert " --sure 97 " in again


def test_nobody_held_out_is_never_a_pass(ready: Desk) -> None:
    done = run(ready, "belief", holdouts=0)
    assert (done.code, done.json["result"]) == (3, "UNCONFIRMED") and lines(ready) == WHOLE_LINES
    assert "sure that the contract is met" in done.json["reason"]


def test_the_list_of_runs_has_the_score_and_the_chance_of_the_end(ready: Desk) -> None:
    """Those that are expected by every vote, as the run printed them; not the marks of the judge
    that happened to look at the last version.
    """
    done = run(ready, "belief", holdouts=0, rounds=1)
    expected = done.json["expected"]["final"]
    assert expected["score"] != done.json["final"]["score"]
    (listed,) = ready.run("runs", "--kind", "improve", "--json").json
    assert listed["score"] == expected["score"]
    assert listed["probability"] == done.json["probability"] == expected["probability"]
    assert points(expected["score"]) in ready.run("runs", "--kind", "improve").out
    assert points(expected["score"]) in ready.run("show", "last").out


def test_the_end_says_how_sure_it_is_and_what_to_type(ready: Desk) -> None:
    """With all judges of the run, though one alone looked at the last version."""
    done = run(ready, "belief", rounds=1)
    assert done.code == 1 and "sure that the contract is met" in done.json["reason"]
    shown = ready.run("show", "last").out
    again = next(line for line in shown.splitlines() if line.startswith("next"))
    assert (
        again.count("--judge") == 2
        and again.count("--holdout") == 2
        and again.endswith(" --effort thorough")
    )


def test_code_alone_needs_no_belief(desk: Desk) -> None:
    """What has no noise is decided as keep-best decides it, and is certain."""
    desk.rubric(
        "rubric: 1\ncriteria:\n  - id: a\n    requirement: pear\n    check: {contains: pear}\n"
    )
    desk.file("note.md", "# Fruit\n")
    done = improve(desk, desk.worker("worker", "put(read() + b'a pear\\n')"), policy="belief")
    assert done.code == 0 and done.json["policy"] == "keep-best" and done.json["probability"] == 1.0


@pytest.mark.slow
def test_a_run_that_began_under_keep_best_ends_under_it(ready: Desk) -> None:
    """As one of an earlier version does, whose default that was; the next run is by belief."""
    judge = ready.judge()
    worker = left_unfinished(ready, judge)
    begun, asked = ready.run("runs", "--json").json[0]["id"], judge.calls
    call = [
        word
        for word in call_of(worker, judge, threshold=100)
        if word not in ("--policy", "keep-best")
    ]
    done = ready.run(*call).json
    assert (done["run"], done["resumed"], done["policy"], judge.calls) == (
        begun,
        True,
        "keep-best",
        asked,
    )
    again = ready.run(*call).json
    assert again["run"] != begun and again["policy"] == "belief"


@pytest.mark.slow
def test_fresh_starts_over_under_belief(ready: Desk) -> None:
    judge = ready.judge()
    call = call_of(left_unfinished(ready, judge), judge, threshold=100)
    done = ready.run(
        *(word for word in call if word not in ("--policy", "keep-best")), "--fresh"
    ).json
    assert (done["resumed"], done["policy"]) == (False, "belief")


@pytest.mark.slow
def test_an_unfinished_run_of_another_worker_decides_nothing(ready: Desk) -> None:
    """It is another run, and what it began under is its own."""
    judge = ready.judge()
    left_unfinished(ready, judge)
    call = call_of(ready.worker("worker", ADD_ALL), judge, threshold=100)
    other = ready.run(*(word for word in call if word not in ("--policy", "keep-best"))).json
    assert (other["resumed"], other["policy"]) == (False, "belief")


@pytest.mark.slow
def test_nothing_is_paid_twice(ready: Desk) -> None:
    """The same command on the same file: every look is on record, also the second ones."""
    before = run(ready, "belief").json
    ready.file("note.md", NOTE)
    again = run(ready, "belief").json
    assert (
        again["result"] == before["result"] == "PASSED"
        and again["probability"] == before["probability"]
    )
    assert again["usage"]["judge_calls"] == 0 and before["usage"]["judge_calls"] > 0


YES_NO_LINES = "".join(f"p{place} {'yes' if place < 3 else 'no'}\n" for place in range(8))
YES_NO_RUBRIC = "rubric: 1\nthreshold: 87.5\nfloor: 0\ncriteria:\n" + "".join(
    f"  - {{id: p{place}, requirement: p{place} is yes}}\n" for place in range(8)
)
LOOKS_FOR_WORDS = (
    "text = request['artifact']['text']\n"
    "ids = [one['id'] for one in request['criteria']]\n"
    "print(json.dumps({'criteria': {name: {'met': name + ' yes' in text} for name in ids}}))"
)
BREAKS = "put(read().replace(b' yes', b' no', 1) + b'%d\\n' % len(read()))"
APPENDS = "put(read() + b'x\\n')"


@pytest.mark.parametrize("policy", ["plain", "keep-best", "belief", "strict"])
@pytest.mark.parametrize("worker", [BREAKS, APPENDS])
def test_a_worker_that_harms_or_appends_leaves_the_file_as_it_was(
    desk: Desk, policy: str, worker: str
) -> None:
    """Byte for byte, with every policy, and the report says that the original was kept and why."""
    desk.rubric(YES_NO_RUBRIC)
    desk.file("a.md", YES_NO_LINES)
    judge = desk.judge("judge", LOOKS_FOR_WORDS)
    done = desk.run(
        *(
            "improve",
            "a.md",
            "--rubric",
            "rubric.yaml",
            "--judge",
            judge.spec,
            "--policy",
            policy,
            "--json",
        ),
        *("--worker", desk.worker("worker", worker).spec),
    )
    assert done.code == 1, done.err
    assert (desk.folder / "a.md").read_text() == YES_NO_LINES
    assert done.json["delivery"]["rule"] == "original"
    assert "the original was kept: " in desk.run("show", "last").out


@pytest.mark.slow
def test_every_report_shows_the_same_figures_of_a_round(ready: Desk) -> None:
    """What is shown while the run goes on is what JSON, the text and the page say of each round,
    and all rounds are on one scale: the score that is expected by every vote, whichever judge
    looked.
    """
    panel = [ready.judge(f"panel{n}", OTHERS[n]) for n in range(2)]
    done = improve(
        ready, ready.worker("worker", ADD_ALL), *panel, policy="belief", more=["--holdout", "none"]
    )
    document = done.json
    live = done.err
    text, page = ready.run("show", "last").out, ready.run("show", "last", "--format", "html").out
    assert document["rounds"]
    for one in document["rounds"]:
        move = f"{points(one['score_before'])} → {points(one['score_after'])}"
        assert move in text
        assert move in live
        low, high = one["interval_after"]
        assert low <= one["score_after"] <= high
        assert points(one["score_after"]) in page
    first = document["rounds"][0]
    assert document["expected"]["baseline"]["score"] <= document["expected"]["final"]["score"]
    assert {move["id"] for move in first["criteria"]} == {
        one["id"] for one in document["final"]["criteria"]
    }


def test_a_round_says_the_quantity_that_decided(ready: Desk) -> None:
    """A kept version is nearer by the number that its sentence prints, and a rejected one is not."""
    done = run(ready, "belief")
    for one in done.json["rounds"]:
        before, now = (
            float(part.split()[0]) for part in one["reason"].split(": ", 1)[1].split(", ")[:2]
        )
        if one["reason"].startswith("nearer"):
            assert now > before
        elif one["reason"].startswith("not nearer"):
            assert now <= before


def test_floors_of_a_round_are_those_of_the_scores_that_it_shows(desk: Desk) -> None:
    """A held-out judge that says no to all lowers the votes of a version after the round; the round
    shows what was expected when it was decided.
    """
    desk.rubric(YES_NO_RUBRIC.replace("floor: 0", "floor: 60"))
    desk.file("a.md", YES_NO_LINES)
    always = "print(json.dumps({'criteria': {c['id']: {'met': %s} for c in request['criteria']}}))"
    worker = desk.worker("worker", APPENDS)
    done = desk.run(
        *("improve", "a.md", "--rubric", "rubric.yaml", "--json", "--worker", worker.spec),
        *("--judge", desk.judge_in_python("yes", always % True).spec),
        *("--holdout", desk.judge_in_python("no", always % False).spec),
    )
    rounds = done.json["rounds"]
    assert rounds and any(one["score_after"] is not None for one in rounds), done.err
    floors = {one["id"]: one["floor"] for one in done.json["final"]["criteria"]}
    for one in rounds:
        below = [move["id"] for move in one["criteria"] if move["after"] < floors[move["id"]]]
        assert one["floor_violations"] == sorted(below)
        assert not one["within_noise"]


@pytest.mark.parametrize("policy", ["belief", "keep-best"])
def test_a_run_without_an_answer_states_no_probability(ready: Desk, policy: str) -> None:
    """What is assumed before the first answer is nothing that a report states."""
    silent = ready.judge_in_python("silent", "raise RuntimeError('gone')")
    done = improve(ready, ready.worker("worker", ADD_ALL), silent, policy=policy)
    assert (done.code, done.json["result"]) == (3, "COULD_NOT_JUDGE")
    assert done.json["probability"] is done.json["belief"] is None
    (listed,) = ready.run("runs", "--json").json
    assert listed["probability"] is None


@pytest.mark.parametrize("policy", ["keep-best", "plain"])
def test_a_bar_of_the_rubric_is_refused_where_marks_decide(desk: Desk, policy: str) -> None:
    """As --sure is: it would be PASSED below what the contract asks for. Code alone is certain."""
    judge, worker = desk.judge("judge", LOOKS_FOR_WORDS), desk.worker("worker", APPENDS)
    desk.rubric(YES_NO_RUBRIC.replace("threshold", "sure: 95\nthreshold"))
    desk.file("note.md", YES_NO_LINES)
    done = improve(desk, worker, judge, policy=policy)
    assert done.is_refusal and f"{policy} has a rule of its own" in done.err
    assert judge.calls == worker.calls == 0
    desk.rubric(
        "rubric: 1\nsure: 95\ncriteria: [{id: a, requirement: It is, check: {contains: p0}}]"
    )
    assert improve(desk, worker, policy=policy).json["result"] == "PASSED"


@pytest.mark.parametrize("policy", ["belief", "keep-best"])
def test_no_call_at_all_is_a_limit_and_no_fault_of_judges(ready: Desk, policy: str) -> None:
    judge = ready.judge()
    done = improve(ready, ready.worker("worker", ADD_ALL), judge, policy=policy, max_calls=0)
    assert (done.code, done.json["result"]) == (3, "COULD_NOT_JUDGE") and not judge.calls
    assert done.json["reason"] == "the limit came first: --max-calls 0 are used up"
    assert "honestone doctor" not in ready.run("show", "last").out
