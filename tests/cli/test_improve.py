"""`honestone improve` as a person uses it: real workers that edit real copies, and the file that is
delivered.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

from .desk import GOOD, RUBRIC, Desk, Program, Result

ADD_PEAR = "put(read() + b'And a pear.\\n')"
ADD_ALL = """
if "Criterion: words" in brief:
    put(read() + b"And a pear.\\n")
elif "Criterion: close" in brief:
    put(read() + b"This is my farewell.\\n")
"""
NOTE = "# Fruit\n\nAn apple a day.\n"
WHOLE = NOTE + "This is my farewell.\nAnd a pear.\n"
"""What `ADD_ALL` makes of the note: the farewell first, because its criterion scores lowest."""


def improve(
    desk: Desk,
    worker: Program | str | None,
    *judges: Program,
    artifact: str = "note.md",
    **extra: Any,
) -> Result:
    """`honestone improve --json` with this worker and these judges; `holdout` names a witness."""
    return desk.run(*call_of(worker, *judges, artifact=artifact, **extra))


def call_of(
    worker: Program | str | None, *judges: Program, artifact: str = "note.md", **extra: Any
) -> list[str]:
    words = ["improve", artifact, "--rubric", str(extra.pop("rubric", "rubric.yaml")), "--json"]
    if worker is not None:
        words += ["--worker", worker if isinstance(worker, str) else worker.spec]
    for judge in judges:
        words += ["--judge", judge.spec]
    words += extra.pop("more", [])
    if (
        "suite" not in extra
    ):  # Rounds and decisions of the loop are the same under each policy; here under this one.
        words += ["--policy", str(extra.pop("policy", "keep-best"))]
    for name, value in extra.items():
        flag = f"--{name.replace('_', '-')}"
        words += (
            [flag]
            if value is True
            else [flag, value.spec if isinstance(value, Program) else str(value)]
        )
    return words


def note(desk: Desk) -> str:
    return (desk.folder / "note.md").read_bytes().decode()


def wait_for(true: Any, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not true() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert true()


def kill(process: subprocess.Popen[str]) -> None:
    """As the power does it."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)


def left_unfinished(desk: Desk, judge: Program, **extra: Any) -> Program:
    """An `improve` that was killed while its worker was at work in round 2; returns the worker."""
    body = f"""
    import time
    before = read()
    if b"pear" not in before:
        {ADD_PEAR}
    for _ in range(400):
        if b"pear" in before and not os.path.exists(LOG + ".go"):
            time.sleep(0.01)
    """
    worker = desk.worker("slow", body)
    process = desk.start(*call_of(worker, judge, threshold=100, **extra))
    wait_for(lambda: worker.calls == 2, process)
    kill(process)
    Path(f"{worker.log}.go").touch()
    return worker


# ----------------------------------------------------------------------------------------------------------
# ends


def test_a_file_is_improved_until_it_passes_and_a_witness_confirms_it(ready: Desk) -> None:
    """Two rounds, one criterion each, lowest first; the witness is asked once, about the end; exit
    0.
    """
    judge, witness, worker = ready.judge(), ready.judge("witness"), ready.worker("worker", ADD_ALL)
    result = improve(ready, worker, judge, holdout=witness)
    run = result.json
    assert result.code == 0, result.err
    assert run["result"] == "PASSED"
    assert note(ready) == WHOLE
    assert [(r["round"], r["focus"], r["decision"]) for r in run["rounds"]] == [
        (1, ["close"], "accepted"),
        (2, ["words"], "accepted"),
    ]
    assert [(r["score_before"], r["score_after"]) for r in run["rounds"]] == [
        (37.5, 62.5),
        (62.5, 100.0),
    ]
    assert run["best_round"] == 2
    assert (run["baseline"]["score"], run["final"]["score"]) == (37.5, 100.0)
    assert run["certification"]["ok"] is True
    assert (judge.calls, witness.calls, worker.calls) == (3, 1, 2)
    assert witness.requests[0]["artifact"]["text"] == WHOLE
    assert run["usage"]["judge_calls"] == 4
    assert run["usage"]["worker_calls"] == 2


def test_without_a_witness_a_pass_is_unconfirmed(ready: Desk) -> None:
    """Where judges decide, PASSED takes one that did not steer: exit 3, and the best version is
    delivered.
    """
    result = improve(ready, ready.worker("worker", ADD_ALL), ready.judge())
    assert (result.code, result.json["result"]) == (3, "UNCONFIRMED")
    assert result.json["final"]["verdict"] == "pass"
    assert note(ready) == WHOLE


def test_a_witness_that_disagrees_keeps_a_pass_from_being_one(ready: Desk) -> None:
    """The held-out judge says no to everything: UNCONFIRMED, `certification.ok` is false, exit 3.
    It never saw the original, so it does not say that the version is no better, and the better
    version is delivered.
    """
    witness = ready.judge("witness", "print(json.dumps(reply()).replace('true', 'false'))")
    result = improve(ready, ready.worker("worker", ADD_ALL), ready.judge(), holdout=witness)
    assert (result.code, result.json["result"]) == (3, "UNCONFIRMED")
    assert result.json["certification"]["ok"] is False
    assert result.json["delivery"]["rule"] == "better"
    assert note(ready) == WHOLE


def test_code_alone_needs_no_witness(desk: Desk) -> None:
    """A rubric of checks, improved by its own fix command, passes without any judge."""
    desk.file(
        "tools/fix.py",
        "import os\nopen(os.environ['HONESTONE_ARTIFACT'], 'a').write('A pear.\\n')\n",
    )
    desk.rubric(
        """\
        rubric: 1
        criteria:
          - id: pear
            requirement: It names the pear
            items:
              - {id: named, requirement: A pear, check: {contains: pear}, fix: python3 tools/fix.py}
        """
    )
    desk.file("note.md", "An apple.\n")
    result = improve(desk, None)
    assert (result.code, result.json["result"]) == (0, "PASSED"), result.err
    assert note(desk) == "An apple.\nA pear.\n"
    assert result.json["certification"]["needed"] is False
    assert result.json["usage"]["judge_calls"] == 0
    assert result.json["worker"] == "fix"


def test_the_lowest_criterion_below_its_floor_comes_first_even_when_the_overall_passes(
    ready: Desk,
) -> None:
    """75 over a bar of 50 is worked on all the same, at the criterion under its floor."""
    ready.rubric(RUBRIC.replace("    weight: 1", "    weight: 1\n    floor: 60"))
    ready.file("note.md", "An apple, a pear.\n")
    worker = ready.worker("worker", ADD_ALL)
    result = improve(ready, worker, ready.judge(), threshold=50)
    assert result.json["baseline"]["verdict"] == "fail"
    assert [r["focus"] for r in result.json["rounds"]] == [["close"]]
    assert note(ready) == "An apple, a pear.\nThis is my farewell.\n"


def test_row_13_a_round_that_makes_it_worse_is_rolled_back(ready: Desk) -> None:
    """The second round destroys everything: it is rejected, told so, and the file holds the first
    round's bytes.
    """
    worker = ready.worker(
        "worker",
        "put(read() + b'And a pear.\\n' if b'pear' not in read() else b'Nothing at all.\\n')",
    )
    result = improve(ready, worker, ready.judge(), rounds=2)
    run = result.json
    assert result.code == 1
    assert [r["decision"] for r in run["rounds"]] == ["accepted", "rejected"]
    assert run["rounds"][1]["score_after"] < run["rounds"][1]["score_before"]
    assert run["best_round"] == 1
    assert note(ready) == NOTE + "And a pear.\n"
    assert run["final"]["score"] == 75.0


def test_a_worker_that_changes_nothing_costs_no_judge_call(ready: Desk) -> None:
    """Exit 0 and the word `done` are no change: one call for the baseline, NO_CHANGE, exit 1."""
    judge, worker = (
        ready.judge(),
        ready.worker("worker", "print('Done! Everything is perfect now.')"),
    )
    result = improve(ready, worker, judge)
    assert (result.code, result.json["result"]) == (1, "NO_CHANGE")
    assert {r["outcome"] for r in result.json["rounds"]} == {"unchanged"}
    assert judge.calls == 1
    assert note(ready) == NOTE


def test_the_same_proposal_twice_is_judged_once(ready: Desk) -> None:
    """Bytes that were decided already are rejected as the same without a call."""
    judge = ready.judge()
    worker = ready.worker("worker", "put(b'Nothing.\\n')")
    result = improve(ready, worker, judge)
    assert result.code == 1
    assert len(result.json["rounds"]) > 1
    assert judge.calls == 2
    assert note(ready) == NOTE


def test_five_rejected_rounds_end_in_a_typed_result(ready: Desk) -> None:
    """A worker that only does harm: every round rejected, exit 1 with a reason, the original
    intact.
    """
    worker = ready.worker("worker", "put(b'Nothing %d.\\n' % os.path.getsize(LOG))")
    result = improve(ready, worker, ready.judge(), rounds=5)
    assert result.code == 1
    assert result.json["result"] in ("PLATEAU", "ROUND_LIMIT", "METRIC_DEAD")
    assert result.json["reason"]
    assert all(r["decision"] == "rejected" for r in result.json["rounds"])
    assert note(ready) == NOTE
    assert result.json["artifact"]["digest"] == result.json["artifact"]["original"]


@pytest.mark.parametrize(
    "body",
    [
        "put(read() + b'A pear.\\n')\nopen(os.path.join(os.path.dirname(path), 'rubric.yaml'), 'w').write('easy')",
        "put(read() + b'A pear.\\n')\nopen(os.path.join(os.path.dirname(path), 'helper.txt'), 'w').write('x')",
        "os.remove(path)\nos.symlink('/etc/hostname', path)",
        "os.remove(path)\nos.mkdir(path)",
        "put(b'\\0binary')",
    ],
)
def test_a_worker_that_leaves_its_place_changes_nothing(ready: Desk, body: str) -> None:
    """A rubric, a file beside the artifact, a link, a folder or a binary in its place:
    out-of-scope, thrown away.
    """
    judge = ready.judge()
    result = improve(ready, ready.worker("worker", body), judge, rounds=1)
    assert result.code == 1
    assert [r["outcome"] for r in result.json["rounds"]] == ["out-of-scope"]
    assert judge.calls == 1
    assert note(ready) == NOTE
    assert (ready.folder / "rubric.yaml").read_text() == RUBRIC
    assert not (ready.folder / "helper.txt").exists()


def test_a_worker_that_edits_the_rubric_of_a_folder_is_out_of_scope(desk: Desk) -> None:
    """The rubric lies in the folder's copy, but a proposal in which it differs is thrown away."""
    desk.file("skill/note.md", NOTE)
    desk.rubric(RUBRIC, "skill/rubric.yaml")
    body = """
    assert os.path.exists(path + "/rubric.yaml")
    open(path + "/note.md", "a").write("A pear.")
    open(path + "/rubric.yaml", "a").write("# easier")
    """
    judge = desk.judge()
    result = improve(
        desk,
        desk.worker("worker", body),
        judge,
        artifact="skill",
        rubric="skill/rubric.yaml",
        rounds=1,
    )
    assert [r["outcome"] for r in result.json["rounds"]] == ["out-of-scope"], result.err
    assert "rubric.yaml" in result.json["rounds"][0]["outcome_detail"]
    assert (desk.folder / "skill/note.md").read_text() == NOTE
    assert (desk.folder / "skill/rubric.yaml").read_text() == RUBRIC
    assert judge.calls == 1


@pytest.mark.parametrize(
    ("body", "outcome", "extra"),
    [
        ("sys.exit('no model')", "crashed", {}),
        (
            "import time\nput(read() + b'A pear.')\ntime.sleep(30)",
            "timeout",
            {"worker_timeout": 0.3},
        ),
        ("os.remove(path)", "shrunk", {}),
        ("put(b'')", "shrunk", {}),
        ("put(read() + b'\\n[rest of the file unchanged]\\n')", "placeholder", {}),
        ("put(read() + b'line\\n' * 50)", "too-large", {"max_diff": 20}),
    ],
)
def test_a_proposal_that_is_none_is_named_and_judged_by_nobody(
    ready: Desk, body: str, outcome: str, extra: dict[str, Any]
) -> None:
    """Crashes, time-outs, deletions, placeholders and floods are told apart, cost no judge call and
    touch nothing.
    """
    judge = ready.judge()
    result = improve(ready, ready.worker("worker", body), judge, rounds=1, **extra)
    assert result.code == 1
    assert [r["outcome"] for r in result.json["rounds"]] == [outcome], result.json["rounds"]
    assert judge.calls == 1
    assert note(ready) == NOTE


def test_a_worker_that_never_delivers_anything_is_worker_failed(ready: Desk) -> None:
    """Every proposal crashed: WORKER_FAILED with the last words of the worker, exit 1."""
    result = improve(ready, ready.worker("worker", "sys.exit('quota exceeded')"), ready.judge())
    assert (result.code, result.json["result"]) == (1, "WORKER_FAILED")
    assert "quota exceeded" in result.json["rounds"][0]["outcome_detail"]


def test_a_baseline_that_nobody_can_judge_is_could_not_judge(ready: Desk) -> None:
    """All judges down at the start: no worker is asked, exit 3."""
    worker = ready.worker("worker", ADD_ALL)
    result = improve(ready, worker, ready.judge(body="sys.exit('gone')"))
    assert (result.code, result.json["result"]) == (3, "COULD_NOT_JUDGE")
    assert worker.calls == 0
    assert note(ready) == NOTE


def test_a_metric_that_cannot_move_is_metric_dead(ready: Desk) -> None:
    """Different bytes, the same score everywhere, three times: METRIC_DEAD, exit 1."""
    judge = ready.judge(body="print(json.dumps(reply()).replace('true', 'false'))")
    worker = ready.worker("worker", "put(read() + b'more %d\\n' % os.path.getsize(LOG))")
    result = improve(ready, worker, judge, rounds=5)
    assert (result.code, result.json["result"]) == (1, "METRIC_DEAD")


def test_a_call_limit_stops_the_loop_with_the_best_so_far(ready: Desk) -> None:
    """Two calls are the baseline and one round; then BUDGET, exit 1, and what was accepted is
    delivered.
    """
    judge = ready.judge()
    result = improve(ready, ready.worker("worker", ADD_ALL), judge, max_calls=2)
    assert (result.code, result.json["result"]) == (1, "BUDGET")
    assert "--max-calls 2" in result.json["reason"]
    assert judge.calls == 2
    assert note(ready) == NOTE + "This is my farewell.\n"


def test_the_limits_are_told_before_the_first_call(ready: Desk) -> None:
    """Rounds, calls and minutes stand on stderr; there is no unlimited."""
    result = improve(ready, ready.worker("worker", "pass"), ready.judge(), rounds=2)
    first = result.err.splitlines()[0]
    assert "at most 2 rounds" in first
    assert "judge calls" in first
    assert "minutes" in first


def test_a_file_that_passes_already_is_left_alone(ready: Desk) -> None:
    """Nothing is proposed for a file that passes; the witness still has its say."""
    ready.file("note.md", GOOD)
    worker, witness = ready.worker("worker", ADD_ALL), ready.judge("witness")
    result = improve(ready, worker, ready.judge(), holdout=witness)
    assert (result.code, result.json["result"], result.json["best_round"]) == (0, "PASSED", 0)
    assert (worker.calls, witness.calls) == (0, 1)
    assert note(ready) == GOOD


# ----------------------------------------------------------------------------------------------------------
# what is told


def test_the_brief_names_one_criterion_and_where_the_copy_is(ready: Desk) -> None:
    """Location, criterion, score, weight and unmet items word for word; suggestions with their
    judge.
    """
    suggestion = 'answer["criteria"]["close"]["suggestion"] = "Write goodbye."'
    judge = ready.judge(body=f"answer = reply()\n{suggestion}\nprint(json.dumps(answer))")
    worker = ready.worker("worker", "assert 'Location: ' + path in brief\n" + ADD_ALL)
    improve(ready, worker, judge)
    first = literal_eval(worker.lines[0])
    assert "Criterion: close" in first
    assert "weight 25.0% of the whole" in first
    assert "- It ends with a farewell" in first
    assert f"- {judge.spec}: Write goodbye." in first
    assert "names the pear" not in first
    assert str(ready.folder / "note.md") not in first


def test_no_judge_is_told_of_rounds_scores_or_suggestions(ready: Desk) -> None:
    """Every request of a loop has the same few keys, and the artifact's own path as it was named."""
    suggestion = 'answer["criteria"]["close"]["suggestion"] = "Write goodbye."'
    judge = ready.judge(body=f"answer = reply()\n{suggestion}\nprint(json.dumps(answer))")
    improve(ready, ready.worker("worker", ADD_ALL), judge)
    assert judge.calls == 3
    keys = {"schema", "artifact", "input", "reference", "output", "criteria", "workspace", "draw"}
    assert [set(request) for request in judge.requests] == [keys] * 3
    assert {request["artifact"]["path"] for request in judge.requests} == {"note.md"}
    assert all("goodbye" not in line for line in judge.lines)


def test_a_key_in_the_environment_does_not_reach_the_worker(ready: Desk) -> None:
    """SOME_API_KEY is neither in the worker's environment nor in any file afterwards."""
    ready.extra["SOME_API_KEY"] = "sk-secret-77431"
    worker = ready.worker(
        "worker", "put(read() + os.environ.get('SOME_API_KEY', 'a pear').encode())"
    )
    result = improve(ready, worker, ready.judge(), rounds=1)
    assert note(ready) == NOTE + "a pear"
    assert "sk-secret" not in result.out + result.err
    assert ready.holds_anywhere(b"sk-secret-77431") == []


def test_the_report_is_saved_and_named_relative_to_here(ready: Desk) -> None:
    """`report` leads to a Markdown file that holds the rounds, and stays after the command."""
    result = improve(ready, ready.worker("worker", ADD_ALL), ready.judge())
    path = Path(result.json["report"])
    assert not path.is_absolute()
    text = (ready.folder / path).read_text()
    assert "close" in text
    assert "+This is my farewell." in text


def test_plain_output_shows_the_result_in_words(ready: Desk) -> None:
    """Text for people: PASSED, each round's change, no escape codes when piped."""
    words = call_of(ready.worker("worker", ADD_ALL), ready.judge(), holdout=ready.judge("witness"))
    words.remove("--json")
    result = ready.run(*words)
    assert result.code == 0
    assert "PASSED" in result.out
    assert "\x1b" not in result.out + result.err


# ----------------------------------------------------------------------------------------------------------
# delivering


def test_output_and_dry_run_leave_the_file_alone(ready: Desk) -> None:
    """`--output` delivers elsewhere, `--dry-run` nowhere; both leave bytes and time stamp as they
    were.
    """
    before = (ready.folder / "note.md").stat()
    judge, worker = ready.judge(), ready.worker("worker", ADD_ALL)
    assert improve(ready, worker, judge, output="better/note.md").json["final"]["score"] == 100.0
    assert (ready.folder / "better/note.md").read_text() == WHOLE
    dry = improve(ready, worker, judge, dry_run=True)
    assert dry.json["final"]["score"] == 100.0
    assert ready.run("show", "--version", "best").raw.decode() == WHOLE
    after = (ready.folder / "note.md").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert note(ready) == NOTE


def test_output_onto_the_artifact_is_refused(ready: Desk) -> None:
    """`--output` may not be the artifact itself."""
    judge = ready.judge()
    result = improve(ready, ready.worker("worker", ADD_ALL), judge, output="./note.md")
    assert result.is_refusal
    assert judge.calls == 0


@pytest.mark.parametrize(
    "data",
    [
        b"An apple.\r\nOne line.\r\n",
        b"\xef\xbb\xbfAn apple.\r\nNo end",
        b"mixed\r\nends\nand apple\r",
    ],
)
def test_line_endings_and_marks_are_kept_byte_for_byte(ready: Desk, data: bytes) -> None:
    """Windows line ends, a byte-order mark and a missing last line end survive every copy."""
    ready.file("note.md", data)
    worker = ready.worker("worker", "put(read() + b'pear, farewell\\r\\n')")
    result = improve(ready, worker, ready.judge(), rounds=1)
    assert result.json["rounds"][0]["decision"] == "accepted"
    assert (ready.folder / "note.md").read_bytes() == data + b"pear, farewell\r\n"
    assert ready.run("show", "--version", "original").raw == data


def test_a_link_that_the_person_names_stays_a_link(ready: Desk) -> None:
    """The file behind the link is replaced, the link and the file's rights are kept."""
    real = ready.home / "real.md"
    real.write_text(NOTE)
    real.chmod(0o640)
    (ready.folder / "link.md").symlink_to(real)
    result = improve(ready, ready.worker("worker", ADD_ALL), ready.judge(), artifact="link.md")
    assert result.code == 3, result.err
    assert (ready.folder / "link.md").is_symlink()
    assert real.read_text() == WHOLE
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_folder_is_improved_file_by_file(desk: Desk) -> None:
    """New files appear, deleted ones go, the rest keep their time stamps; the store is beside, not
    inside.
    """
    desk.file("skill/keep.md", "An apple.\n")
    desk.file("skill/old/gone.md", "Nothing.\n")
    desk.rubric(RUBRIC)
    before = (desk.folder / "skill/keep.md").stat().st_mtime_ns
    body = """
    os.makedirs(path + "/sub", exist_ok=True)
    open(path + "/sub/new.sh", "w").write("#!/bin/sh\\n# pear, farewell\\n")
    os.chmod(path + "/sub/new.sh", 0o755)
    os.remove(path + "/old/gone.md")
    """
    result = improve(desk, desk.worker("worker", body), desk.judge(), artifact="skill", rounds=1)
    assert result.json["final"]["score"] == 100.0, result.err
    found = sorted(
        p.relative_to(desk.folder / "skill").as_posix() for p in (desk.folder / "skill").rglob("*")
    )
    assert found == ["keep.md", "sub", "sub/new.sh"]
    assert os.access(desk.folder / "skill/sub/new.sh", os.X_OK)
    assert (desk.folder / "skill/keep.md").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "name", [b"with space.md", b"-dash.md", "früh☕.md".encode(), b"caf\xe9.md", b"new\nline.md"]
)
def test_files_with_unusual_names_are_improved(ready: Desk, name: bytes) -> None:
    """A name of any bytes goes through copy, worker, judge and delivery."""
    path = os.fsencode(ready.folder) + b"/" + name
    Path(os.fsdecode(path)).write_text(NOTE)
    judge, worker = ready.judge(), ready.worker("worker", ADD_ALL)
    result = ready.run(
        "improve",
        "--rubric",
        "rubric.yaml",
        "--worker",
        worker.spec,
        "--judge",
        judge.spec,
        "--json",
        "--",
        name,
    )
    assert result.code == 3, result.err
    assert sorted(Path(os.fsdecode(path)).read_text().splitlines()) == sorted(WHOLE.splitlines())
    assert ready.run("show").code == 0


# ----------------------------------------------------------------------------------------------------------
# going on


def test_a_finished_run_is_never_resumed_and_recorded_replies_cost_nothing(ready: Desk) -> None:
    """The same command after its end starts a new run, which asks no judge about what it knows."""
    judge, worker = ready.judge(), ready.worker("worker", ADD_ALL)
    first = improve(ready, worker, judge)
    calls = judge.calls
    second = improve(ready, worker, judge)
    assert second.json["run"] != first.json["run"]
    assert second.json["resumed"] is False
    assert judge.calls == calls
    assert second.json["final"]["score"] == 100.0


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(ready: Desk) -> None:
    """After kill -9 in round 2 the same command asks nothing twice and reaches the same end."""
    judge = ready.judge()
    worker = left_unfinished(ready, judge)
    assert note(ready) == NOTE + "And a pear.\n"
    asked = judge.calls
    resumed = improve(ready, worker, judge, threshold=100, worker_timeout=900, rounds=5)
    assert resumed.json["resumed"] is True
    assert len(ready.run("runs", "--json").json) == 1
    assert judge.calls == asked
    assert [r["round"] for r in resumed.json["rounds"]][:2] == [1, 2]


@pytest.mark.slow
def test_a_run_under_another_contract_is_refused_with_what_differs(ready: Desk) -> None:
    """A rubric that changed while a run is unfinished: exit 2, the change in words, nothing spent."""
    judge = ready.judge()
    worker = left_unfinished(ready, judge)
    calls = judge.calls, worker.calls
    ready.rubric(RUBRIC.replace("weight: 1", "weight: 2"))
    refused = improve(ready, worker, judge, threshold=100)
    assert refused.is_refusal
    assert "another contract" in refused.err
    assert "weight" in refused.err
    assert "--fresh" in refused.err
    assert (judge.calls, worker.calls) == calls
    ready.rubric(RUBRIC)
    other = ready.judge("other")
    assert improve(ready, worker, other, threshold=100).is_refusal
    assert improve(ready, worker, judge, threshold=99).is_refusal
    quick = ready.worker("quick", "pass")
    ready.rubric(RUBRIC.replace("weight: 1", "weight: 2"))
    fresh = improve(ready, quick, judge, threshold=100, fresh=True)
    assert fresh.code == 1, fresh.err
    assert fresh.json["resumed"] is False


@pytest.mark.slow
def test_a_file_that_somebody_edited_meanwhile_is_not_overwritten(ready: Desk) -> None:
    """Unknown bytes on disk stop a resumed run: exit 2; `--fresh` starts from them."""
    judge = ready.judge()
    worker = left_unfinished(ready, judge)
    ready.file("note.md", "My own words.\n")
    refused = improve(ready, worker, judge, threshold=100)
    assert refused.is_refusal
    assert "edited" in refused.err
    assert note(ready) == "My own words.\n"
    quick = ready.worker("quick", "pass")
    fresh = improve(ready, quick, judge, threshold=100, fresh=True)
    assert fresh.json["baseline"]["score"] == 0.0
    assert note(ready) == "My own words.\n"


def test_a_file_that_somebody_edits_while_the_loop_runs_is_left_as_it_is(ready: Desk) -> None:
    """The loop does not deliver over bytes it does not know; its best version is kept in the store."""
    here = ready.folder / "note.md"
    worker = ready.worker(
        "worker", f"open({str(here)!r}, 'w').write('My own words.')\nput({GOOD.encode()!r})"
    )
    result = improve(ready, worker, ready.judge())
    assert result.code == 2
    assert "changed by someone else" in result.err
    assert "hint: " in result.err
    assert note(ready) == "My own words."
    assert ready.run("show", "--version", "best").raw.decode() == GOOD


@pytest.mark.slow
def test_two_loops_at_once_on_one_file(ready: Desk) -> None:
    """While one improves a file another is refused, and the first is not disturbed."""
    judge = ready.judge()
    body = "import time\nwhile not os.path.exists(LOG + '.go'): time.sleep(0.02)\n" + ADD_ALL
    worker = ready.worker("worker", body)
    words = call_of(worker, judge)
    process = ready.start(*words)
    wait_for(lambda: worker.calls == 1, process)
    second = ready.run(*words)
    assert second.is_refusal, second.err
    assert "another honestone" in second.err
    Path(f"{worker.log}.go").touch()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 3, err
    assert note(ready) == WHOLE
    assert worker.calls == 2


def test_a_worker_that_edits_the_rubric_where_it_lies_ends_the_loop(ready: Desk) -> None:
    """Promise 5, outside the private copy too: however good the proposal is, nothing is delivered,
    and the file is named.
    """
    ready.file("note.md", NOTE)
    rubric = ready.folder / "rubric.yaml"
    text = rubric.read_text()
    worker = ready.worker("w.py", f"open({str(rubric)!r}, 'a').write('# easier\\n')\n" + ADD_PEAR)
    result = improve(ready, worker, ready.judge())
    (only,) = result.json["rounds"]
    assert (only["decision"], result.json["result"]) == ("rejected", "CONTRACT_CHANGED")
    assert result.json["changed"] == ["rubric.yaml"] and "rubric.yaml" in result.json["reason"]
    assert result.code == 3 and note(ready) == NOTE and rubric.read_text() == text + "# easier\n"


def test_the_panel_judge_under_another_spelling_is_no_witness(ready: Desk) -> None:
    """A copy of the judge's program, byte for byte, has nothing of its own to say: refused before
    anything is spent.
    """
    judge = ready.judge()
    ready.file("twin.py", (ready.folder / "judge.py").read_bytes())
    holdout = judge.spec.replace("judge.py", "./twin.py")
    result = ready.run(*call_of(ready.worker("w", ADD_ALL), judge), "--holdout", holdout)
    assert result.code == 2 and "cannot both steer and certify" in result.err and judge.calls == 0


def test_a_fix_command_that_is_not_there_is_a_usage_error(desk: Desk) -> None:
    """Found before anything is tried, as any other command."""
    desk.file("note.md", NOTE)
    desk.rubric(
        "rubric: 1\ncriteria: [{id: pear, requirement: pear, check: {contains: pear}, fix: ./nosuch.sh}]\n"
    )
    result = desk.run("improve", "note.md", "--rubric", "rubric.yaml")
    assert result.code == 2 and "nosuch.sh" in result.err


def test_the_best_version_may_not_be_delivered_over_the_rubric(ready: Desk) -> None:
    """`--output` on the rubric would destroy what judges."""
    result = improve(ready, ready.worker("w", ADD_ALL), ready.judge(), output="rubric.yaml")
    assert (
        result.code == 2
        and "--output" in result.err
        and (ready.folder / "rubric.yaml").read_text() != NOTE
    )


@pytest.mark.slow
def test_a_run_goes_on_over_its_original_put_back(ready: Desk) -> None:
    """Somebody restored the original of an unfinished run: it goes on, and delivers what it had
    accepted over that.
    """
    judge = ready.judge()
    original = note(ready)
    slow = left_unfinished(ready, judge)
    (ready.folder / "note.md").write_text(original)
    finished = improve(ready, slow, judge, threshold=100)
    assert finished.code == 1, finished.err
    assert "pear" in note(ready)


def test_the_same_bytes_under_another_name_keep_their_own_name(ready: Desk, tmp_path: Path) -> None:
    """The store keeps equal bytes once; copy, brief, checks and diffs have the name of this
    artifact all the same.
    """
    seen = ready.folder / "seen"
    body = f"open({str(seen)!r}, 'a').write(f'{{path}} {{brief.count(path)}}\\n')\nput(read() + b'pear\\n')"
    worker, judge = ready.worker("adds", body), ready.judge()
    for name in ("one.md", "two.md"):
        ready.file(name, "# Fruit\n\nAn apple a day.\n")
        seen.unlink(missing_ok=True)
        improve(ready, worker, judge, artifact=name, rounds=1)
        path, told = seen.read_text().split()
        assert Path(path).name == name and int(told) >= 1
        diff = ready.run("show", "last", "--format", "diff").out
        assert f"--- a/{name}\n+++ b/{name}\n" in diff


@pytest.mark.slow
def test_an_interrupted_round_says_so(ready: Desk) -> None:
    """It was neither accepted nor rejected, and what is not judged yet is not below a floor."""
    ready.rubric(RUBRIC.replace("floor: 0", "floor: 60"))
    judge = ready.judge(
        "slow", "time.sleep(0 if 'pear' not in text else 60)\nprint(json.dumps(reply()))"
    )
    worker = ready.worker("adds", "put(read() + b'pear\\n')")
    running = ready.start(*(word for word in call_of(worker, judge) if word != "--json"))
    wait_for(lambda: judge.calls >= 2, running)
    running.send_signal(signal.SIGINT)
    out = running.communicate(timeout=60)[0]
    for text in (out, ready.run("show", "last").out):
        (row,) = (line for line in text.splitlines() if line[:2] == "  " and line.split()[1] == "1")
        assert (
            row.split()[0] == "!"
            and "interrupted" in row
            and "rejected" not in text
            and "below floor" not in text
        )
    assert running.returncode == 130
    assert "| interrupted |" in ready.run("show", "last", "--format", "markdown").out
    assert "interrupted" in ready.run("show", "last", "--format", "diff").out
    (one,) = ready.run("show", "last", "--json").json["rounds"]
    assert one["decision"] is None and one["floor_violations"] == []


CONTRACT = """\
## Evaluation Contract

**Threshold**: 80/100
**Max rounds**: 2

| # | Criterion | Weight | Sub-items |
|---|-----------|--------|-----------|
| 1 | words | 100% | □ It names the apple · □ It names the pear · □ It names the quince |
"""


@pytest.mark.parametrize("policy", ["belief", "keep-best"])
def test_the_rounds_of_a_contract_are_the_default_of_rounds(ready: Desk, policy: str) -> None:
    """`Max rounds` of rulph's contract limits the loop as `--rounds` would; the option comes before
    it.
    """
    ready.file("contract.md", CONTRACT)
    ready.file("honestone.toml", "[limits]\nrounds = 9\n")
    judge, worker = ready.judge(), ready.worker("worker", "put(read() + b'More.\\n')")
    done = improve(ready, worker, judge, rubric="contract.md", policy=policy, dry_run=True)
    assert done.json["limits"]["rounds"] == 2 and len(done.json["rounds"]) <= 2, done.err
    assert "at most 2 rounds" in done.err
    more = improve(
        ready, worker, judge, rubric="contract.md", policy=policy, dry_run=True, rounds=3
    )
    assert more.json["limits"]["rounds"] == 3


@pytest.mark.slow
def test_looks_of_one_judge_are_one_voter_in_rulphs_report(ready: Desk) -> None:
    """Three looks of one judge cross-check nothing: each scoring and the contract of `--format
    rulph` say so.
    """
    judge, other, worker = ready.judge(), ready.judge("other"), ready.worker("worker", ADD_ALL)
    improve(ready, worker, judge, rounds=1, more=["--repeat", "3"])
    shown = ready.run("show", "last", "--format", "rulph").out
    assert shown.count("· LOW CONFIDENCE") == shown.count("📊 Score") == 2, shown
    improve(ready, worker, judge, other, rounds=1, dry_run=True, holdout="none")
    assert "LOW CONFIDENCE" not in ready.run("show", "last", "--format", "rulph").out
    looks = ready.run(
        "eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge.spec, "--repeat", "3"
    )
    assert (
        looks.code in (0, 1)
        and "LOW CONFIDENCE" in ready.run("show", "last", "--format", "rulph").out
    )
