"""`honestone.improve` and `honestone.step`: the loop from Python, as the commands run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.core.judging.ballot import Question
from honestone.testing import ScriptedJudge, ScriptedWorker

RUBRIC = """\
rubric: 1
title: Words
threshold: 80
criteria:
  - {id: first, requirement: First half, items: [says alpha, says beta]}
  - {id: second, requirement: Second half, items: [says one, says two]}
"""
CHECKS = """\
rubric: 1
title: Words
criteria: [{id: beta, check: {contains: beta}}, {id: two, check: {contains: two}}]
"""
WORKER = """\
import os
path = os.environ["HONESTONE_ARTIFACT"]
text = open(path).read()
missing = [word for word in ("beta", "two") if word not in text]
open(path, "w").write(text + "".join(word + "\\n" for word in missing[:1]))
"""


def judge(name: str) -> ScriptedJudge:
    """Says yes where the last word of an item is in the text."""

    def look(question: Question) -> dict[str, bool]:
        text = question.artifact.version.text
        return {item.id: item.requirement.split()[-1] in text for _, item in question.items()}

    return ScriptedJudge(look, id=name)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "checks.yaml").write_text(CHECKS)
    (tmp_path / "note.md").write_text("alpha\none\n")
    (tmp_path / "worker.py").write_text(WORKER)
    return tmp_path


def worker(desk: Path) -> str:
    return f"cmd:{sys.executable} {desk / 'worker.py'}"


def test_improve_ends_as_the_command_does(desk: Path) -> None:
    """Judges may be objects; the file holds the best version, and the document is that of `improve
    --json`.
    """
    done = honestone.improve(
        Path("note.md"),
        Path("rubric.yaml"),
        judges=[judge("ann")],
        holdouts=[judge("witness")],
        worker=worker(desk),
        folder=desk,
        store=Path("st"),
    )
    assert done.passed and done.result == "PASSED" and done.exit_code == 0 and len(done.rounds) == 2
    assert (
        done.to_dict()["schema"] == "honestone.improvement/1"
        and done.document["rounds"][0]["decision"] == "accepted"
    )
    document = done.to_dict()
    stated = document["probability"], document["expected"]["final"]["probability"]
    assert stated == (document["belief"]["probability"], document["final"]["belief"]["probability"])
    assert (desk / "note.md").read_text() == "alpha\none\nbeta\ntwo\n"
    assert (desk / "st" / "reports" / f"{done.run}.md").is_file()


def test_a_limit_holds(desk: Path) -> None:
    """One call is one call, and the result says which limit ended it."""
    ann = judge("ann")
    done = honestone.improve(
        Path("note.md"),
        Path("rubric.yaml"),
        judges=[ann],
        worker=worker(desk),
        folder=desk,
        max_calls=1,
    )
    assert ann.calls == 1 and not done.passed and "--max-calls" in done.document["reason"]


@pytest.mark.parametrize(
    "given", [{"policy": "wild"}, {"target": "cmd:cat"}, {"judges": [object()]}, {"worker": None}]
)
def test_what_is_wrong_with_a_call_is_said_before_anything_is_spent(
    desk: Path, given: dict[str, object]
) -> None:
    """A UsageError, as from the command."""
    options = {"judges": [judge("ann")], "worker": worker(desk), **given}
    with pytest.raises(honestone.UsageError):
        honestone.improve(Path("note.md"), Path("rubric.yaml"), folder=desk, **options)  # type: ignore[arg-type]
    assert (desk / "note.md").read_text() == "alpha\none\n"


@pytest.mark.parametrize(
    ("rounds", "expected"), [pytest.param(4, 1.0, marks=pytest.mark.slow), (1, 0.0)]
)
def test_code_alone_is_certain(desk: Path, rounds: int, expected: float) -> None:
    """The worker adds one of two words a round, so that one round is too few."""
    found = honestone.improve(
        Path("note.md"), Path("checks.yaml"), worker=worker(desk), rounds=rounds, folder=desk
    )
    assert (found.verdict == "pass") is bool(expected)
    assert found.probability == expected
    sentence = f"{expected:.0%} sure that the contract is met (code alone decides)"
    assert found.belief is not None and found.belief.sentence == sentence
    assert [(one.kind, one.items) for one in found.belief.rests_on] == [("checks", 2)]
    assert all(one.probability is None for one in found.improvement.rounds), "it says nothing new"


def test_step_hands_out_and_takes_back(desk: Path) -> None:
    """Propose, submit, done; the process keeps its working directory."""
    here = os.getcwd()
    first = honestone.step(Path("note.md"), Path("checks.yaml"), folder=desk)
    assert first.action == "propose" and first.brief and first.location is not None
    assert " step submit " in first.document["then"]
    first.location.write_text("beta\ntwo\n")
    done = honestone.step(submit=True, round=1, folder=desk)
    assert (done.action, done.document["result"], done.exit_code) == ("done", "PASSED", 0)
    assert (desk / "note.md").read_text() == "beta\ntwo\n" and os.getcwd() == here


def test_judges_of_steps_are_names(desk: Path) -> None:
    """They are kept from call to call."""
    with pytest.raises(honestone.UsageError, match="must be names"):
        honestone.step(Path("note.md"), Path("rubric.yaml"), judges=[judge("ann")], folder=desk)  # type: ignore[list-item]


def _suite_of_words() -> dict[str, object]:
    """A case for each word, three in each split: the target says whether the text has the word."""
    words = {"train": "abc", "val": "def", "test": "ghi"}
    return {
        "suite": 1,
        "cases": [
            {"id": word, "input": word, "split": split, "rubric": ["The word is there"]}
            for split, found in words.items()
            for word in found
        ],
    }


def test_over_a_suite_a_text_is_judged_once_and_passed_says_how_sure(tmp_path: Path) -> None:
    """An output that an edit leaves as it is costs no look. Where judges that agree answer more
    than once about each case, PASSED states at least 80 %.
    """
    asked: list[tuple[str, str]] = []
    (tmp_path / "text.md").write_text("a b d e g h\n")

    def look(request: dict[str, dict[str, str]]) -> dict[str, object]:
        output = str(request["output"]).strip()
        asked.append((str(request["input"]), output))
        return {"criteria": {one["id"]: {"met": "yes" in output} for one in request["criteria"]}}  # type: ignore[index]

    def work(path: str, brief: str) -> None:
        assert re.findall(r"^- (.+)$", brief, re.M) == ["c"]
        file = Path(path)
        file.write_text(file.read_text() + "c f i\n")

    done = honestone.improve(
        Path("text.md"),
        suite=_suite_of_words(),
        target=lambda input, artifact: "yes" if input in artifact.read_text().split() else "no",
        judges=[look],
        worker=work,
        folder=tmp_path,
    )
    document = done.to_dict()
    assert (done.result, document["policy"]) == ("PASSED", "belief")
    assert document["probability"] == done.probability >= 0.8
    belief = document["belief"]
    assert done.belief is not None and done.belief.probability == done.probability
    assert (
        belief["probability"]
        == document["probability"]
        == document["final"]["belief"]["probability"]
    )
    assert belief["sentence"].startswith(
        f"{int(100 * belief['probability'])}% sure that enough cases"
    )
    # Three words got another output; the looks at the six others are shared by both versions.
    assert (
        asked.count(("a", "yes")) == 1
        and asked.count(("c", "no")) == asked.count(("c", "yes")) == 1
    )
    assert max(map(asked.count, set(asked))) <= 3


def test_over_a_suite_keep_best_asks_about_each_case_once(tmp_path: Path) -> None:
    """The rule of before is there by its name: every judge looks once. How sure that makes the bars is
    stated beside, as in `show`.
    """
    asked: list[str] = []
    (tmp_path / "text.md").write_text("a b c d e f g h i\n")

    def look(request: dict[str, object]) -> dict[str, object]:
        asked.append(str(request["input"]))
        return {"criteria": {one["id"]: {"met": True} for one in request["criteria"]}}  # type: ignore[attr-defined,index]

    done = honestone.improve(
        Path("text.md"),
        suite=_suite_of_words(),
        target=lambda input, artifact: "yes",
        judges=[look],
        worker=lambda path, brief: None,
        policy="keep-best",
        folder=tmp_path,
    )
    document = done.to_dict()
    assert (done.result, len(set(asked))) == ("PASSED", len(asked))
    assert 0.5 < document["probability"] == document["belief"]["probability"] < 1.0
    assert document["belief"]["target"] is None and document["belief"]["looks"] == len(asked)
    lonely = [one for one in document["flags"] if one.startswith("LOW CONFIDENCE")]
    assert len(lonely) == 1 and "in 3 of 3 cases" in lonely[0]
    assert honestone.show(done.run, folder=tmp_path)["belief"] == document["belief"]


def _improved_suite(folder: Path, suite: Mapping[str, object], **more: Any) -> dict[str, Any]:
    """By a judge that reads `True` for a text that has every word once the worker was there."""
    (folder / "text.md").write_text("a b d e g h\n")

    def look(question: Question) -> dict[str, bool]:
        return {item.id: "True" in (question.output or "") for _, item in question.items()}

    done = honestone.improve(
        Path("text.md"),
        suite=suite,
        target=lambda input, artifact: str(input in artifact.read_text().split()),
        judges=[ScriptedJudge(look, id="ann")],
        worker=ScriptedWorker(lambda place, brief: "a b c d e f g h i\n"),
        folder=folder,
        **more,
    )
    return done.to_dict()


@pytest.mark.slow
def test_over_a_suite_belief_by_its_name_is_the_usual_policy(tmp_path: Path) -> None:
    """It has the limits of the suite's splits, and those of no rubric."""
    found = []
    for name, more in (("usual", {}), ("named", {"policy": "belief"})):
        (tmp_path / name).mkdir()
        document = _improved_suite(tmp_path / name, _suite_of_words(), **more)
        found.append([document[key] for key in ("policy", "result", "limits", "probability")])
    assert found[0] == found[1] and found[0][:2] == ["belief", "PASSED"]


def test_over_a_suite_belief_by_its_name_is_not_another_policy(tmp_path: Path) -> None:
    """Where judges cannot be asked by need it is refused."""
    with pytest.raises(honestone.UsageError, match="--policy belief asks judges again"):
        _improved_suite(tmp_path, _suite_of_words(), policy="belief", repeat=2)


def _many_words(cases: int) -> dict[str, object]:
    """So many cases in each split."""
    return {
        "suite": 1,
        "cases": [
            {"id": f"{split}{n}", "input": f"{split}{n}", "split": split, "rubric": ["It is there"]}
            for split in ("train", "val", "test")
            for n in range(cases)
        ],
    }


def _without_a_result(document: dict[str, Any]) -> list[str]:
    """The cases of val and train that no one could say anything of, with the original."""
    items = [one for line in document["baseline"]["criteria"] for one in line["items"]]
    return [one["id"] for one in items if one["met"] is None]


def test_over_a_suite_every_case_of_train_gets_its_quorum(tmp_path: Path) -> None:
    """However many judges that is."""
    (tmp_path / "text.md").write_text("nothing\n")
    judges = [ScriptedJudge(lambda question: False, id=name) for name in ("ann", "bob")]
    document = honestone.improve(
        Path("text.md"),
        suite=_many_words(8),
        target=lambda input, artifact: f"no {input}",
        judges=judges,
        worker=ScriptedWorker(lambda place, brief: "more\n"),
        quorum=2,
        rounds=1,
        folder=tmp_path,
    ).to_dict()
    assert _without_a_result(document) == []


def test_over_a_suite_looks_on_record_leave_no_case_out(tmp_path: Path) -> None:
    """Replies that an earlier run paid for are taken, and do not use up the looks of the split."""
    suite = _many_words(8)
    (tmp_path / "text.md").write_text("nothing\n")
    shared: dict[str, Any] = {
        "target": lambda input, artifact: f"no {input}",
        "judges": [ScriptedJudge(lambda question: question.input != "train0", id="ann")],
        "folder": tmp_path,
    }
    train = {"suite": 1, "cases": _many_words(8)["cases"][:8]}  # type: ignore[index]
    before = honestone.run_suite(
        train, artifact=Path("text.md"), sure=99, min_pass_rate=0.8, **shared
    )
    assert before.to_dict()["usage"]["judge_calls"] > 8
    document = honestone.improve(
        Path("text.md"),
        suite=suite,
        worker=ScriptedWorker(lambda place, brief: "more\n"),
        rounds=1,
        **shared,
    ).to_dict()
    assert _without_a_result(document) == []


class Killed(Exception):
    """The process ended here."""


@pytest.mark.slow
def test_over_a_suite_a_killed_run_asks_for_no_look_twice(tmp_path: Path) -> None:
    """The process ends while the worker is at it. The same call goes on with the looks on record,
    and ends with as many as a run that was not killed.
    """

    def run(folder: Path, kills: int) -> tuple[list[str], float]:
        folder.mkdir()
        text = folder / "text.md"
        text.write_text("a b d e g h\n")
        asked: list[str] = []

        def look(question: Question) -> dict[str, bool]:
            asked.append(f"{question.input} {question.output} {question.draw}")
            return {item.id: "True" in (question.output or "") for _, item in question.items()}

        def work(place: Path, brief: object) -> str:
            if len(worker.briefs) <= kills:
                raise Killed
            return "a b c d e f g h i\n"

        worker = ScriptedWorker(work)
        while True:
            try:
                done = honestone.improve(
                    Path("text.md"),
                    suite=_suite_of_words(),
                    target=lambda input, artifact: str(input in artifact.read_text().split()),
                    judges=[ScriptedJudge(look, id="ann")],
                    worker=worker,
                    folder=folder,
                )
            except Killed:
                continue
            assert done.result == "PASSED"
            return sorted(asked), done.to_dict()["probability"]

    expected = run(tmp_path / "whole", kills=0)
    assert run(tmp_path / "killed", kills=1) == expected
    assert len(expected[0]) == len(set(expected[0]))


ASKED_AGAIN = '''\
import os, sys
from pathlib import Path
import honestone
from honestone.testing import ScriptedJudge, ScriptedWorker

asked, killed_at = Path("asked.log"), int(sys.argv[1])

def number_of_lines(file):
    return len(file.read_text().splitlines()) if file.exists() else 0

def look_of(judge):
    def look(question):
        if number_of_lines(asked) == killed_at and not Path("killed").exists():
            Path("killed").touch()
            os._exit(9)
        with asked.open("a") as log:
            print(question.input, question.output, judge, question.draw, file=log)
        met = "True" in question.output
        if question.input == "f":  # of this no one can be sure
            met = met and question.draw % 2 == 1
        return {item.id: met for _, item in question.items()}
    return ScriptedJudge(look, id=judge)

Path("target.py").write_text("""
import os, sys
word, text = sys.stdin.read().strip(), open(os.environ["HONESTONE_ARTIFACT"]).read()
print(word, file=open("made.log", "a"))
print(word in text.split(), len(text), end="")
""")

honestone.improve(
    Path("text.md"),
    suite={"suite": 1, "cases": [
        {"id": word, "input": word, "split": split, "rubric": ["The word is there"]}
        for split, words in (("train", "abc"), ("val", "def"), ("test", "ghi")) for word in words
    ]},
    target=f"cmd:{sys.executable} {Path('target.py').absolute()}",
    judges=[look_of(name) for name in ("ann", "bob", "cy")],
    worker=ScriptedWorker(lambda place, brief: "a b c d e f g h i\\n"),
    rounds=1,
    max_calls=120,
)
'''


@pytest.mark.slow
def test_over_a_suite_a_split_is_asked_again_about_the_same_outputs(tmp_path: Path) -> None:
    """At the end val is still open: its judges are asked on with the calls that are left, about what
    the target gave at first. A run that is killed meanwhile asks for no look twice.
    """

    def run(name: str, killed_at: int) -> tuple[list[str], list[str]]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "text.md").write_text("a b d e g h\n")
        words = [sys.executable, "-c", ASKED_AGAIN, str(killed_at)]
        codes = [subprocess.run(words, cwd=folder, check=False).returncode]
        while codes[-1] == 9:
            codes.append(subprocess.run(words, cwd=folder, check=False).returncode)
        assert codes == ([0] if killed_at < 0 else [9, 0])
        asked, made = (
            (folder / f"{log}.log").read_text().splitlines() for log in ("asked", "made")
        )
        return asked, made

    whole, made = run("whole", -1)
    assert len(set(whole)) == len(whole)
    assert sum(one[0] in "def" for one in whole) > 4 + 3 * 6  # more than two first runs may ask for
    # Three splits of the original and of the version that the worker made.
    assert sorted(made) == sorted(2 * "abcdefghi")
    again, more = run("killed", len(whole) - 4)
    assert (sorted(again), sorted(more)) == (sorted(whole), sorted(made))


def test_a_case_without_a_look_says_which_limit_came_first(tmp_path: Path) -> None:
    """And not that the suite was decided, or that a budget was used up that was not."""
    cases = honestone.run_suite(
        _many_words(2),
        target=lambda input: input,
        judges=[ScriptedJudge(lambda question: True, id="ann")],
        sure=99,
        max_looks=2,
        folder=tmp_path,
    ).to_dict()["cases"]
    reasons = [one["reasons"] for one in cases if one["status"] == "skipped"]
    assert reasons == [["not asked: --max-looks 2 are used up"]] * 4
