"""Suites through the command: statuses, attempts, workspaces, choosing, budgets, and being killed."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from .desk import PYTHON, Desk, Program, Result, stops_at

_TARGET = """\
import os, subprocess, sys, time
text = sys.stdin.read()
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(text.split()[0] + "\\n")
{body}
"""


def target(
    desk: Desk, name: str = "target", body: str = "print(text, end='')", words: str = ""
) -> Program:
    """A command target that keeps the first word of each input it was given."""
    log = desk.logs / f"{name}.log"
    path = desk.file(f"{name}.py", _TARGET.format(log=str(log), body=body))
    return Program(f"cmd:{PYTHON} {path}{' ' + words if words else ''}", path, log)


def suite(desk: Desk, *cases: str, head: str = "", name: str = "suite.yaml") -> Path:
    return desk.file(name, f"suite: 1\n{head}cases:\n" + "".join(f"  - {case}\n" for case in cases))


def case(id: str, more: str = "", wanted: str = "apple") -> str:
    return f"{{id: {id}, input: {id} apple, checks: [{{contains: {wanted}}}]{more}}}"


def run(desk: Desk, *args: str | Path, **more: Any) -> tuple[Result, dict[str, Any]]:
    result = desk.run("eval", "suite.yaml", "--json", *args, **more)
    return result, (json.loads(result.out) if result.out else {})


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {case["id"]: case["status"] for case in report.get("cases", [])}


# ------------------------------------------------------------------------------------------------------------
# verdicts


def test_a_failing_case_fails_the_run_without_a_flag(desk: Desk) -> None:
    """Exit 1, and the report says which and why."""
    suite(desk, case("good"), case("bad", wanted="pear"))
    result, report = run(desk, "--target", target(desk).spec)
    assert (result.code, statuses(report), report["pass_rate"]) == (
        1,
        {"good": "passed", "bad": "failed"},
        0.5,
    )
    assert report["verdict"] == "fail"
    assert any("contains" in reason for reason in report["cases"][1]["reasons"])
    shown = desk.run("show", "--json")
    assert shown.json == report


def test_metadata_is_kept_and_asked_of_no_one(desk: Desk) -> None:
    """It is in the report of the run and of the record, a conversion keeps it, and another one is
    the same contract.
    """
    suite(desk, case("a", ", metadata: {ticket: 12, by: [x]}"), case("b"))
    _, report = run(desk, "--target", target(desk).spec)
    assert [one.get("metadata") for one in report["cases"]] == [{"ticket": 12, "by": ["x"]}, None]
    assert desk.run("show", "--json").json == report
    assert "metadata: {ticket: 12, by: [x]}" in desk.run("suite", "convert", "suite.yaml").out
    suite(desk, case("a", ", metadata: {ticket: 13}"), case("b"))
    _, again = run(desk, "--target", target(desk).spec)
    assert [one["contract"] for one in again["cases"]] == [
        one["contract"] for one in report["cases"]
    ]
    assert again["cases"][0]["metadata"] == {"ticket": 13}
    suite(desk, case("a", ", metadata: twelve"), case("b"))
    assert "must be a mapping" in desk.run("suite", "check", "suite.yaml").err


BROKEN = {
    "exits": ("sys.stderr.write('no licence'); sys.exit(7)", "7"),
    "dies": ("os.kill(os.getpid(), 9)", "signal 9"),
    "babbles": ("sys.stdout.buffer.write(b'\\xff\\xfe')", "UTF-8"),
    "hangs": ("time.sleep(60)", "2"),
    "floods": ("subprocess.run(['head', '-c', '300000000', '/dev/zero'])", "16"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_target_that_fails_is_no_low_score(desk: Desk, how: str) -> None:
    """It is a target-error with the reason, nobody is asked about it, and the rest goes on."""
    body, said = BROKEN[how]
    suite(
        desk,
        f"{{id: broken, input: broken, timeout: {2 if how == 'hangs' else 120}, rubric: [says apple]}}",
        "{id: fine, input: fine apple, rubric: [says apple]}",
    )
    judge = desk.judge()
    made = target(desk, body=f"if text == 'broken':\n    {body}\nprint(text)")
    result, report = run(desk, "--target", made.spec, "--judge", judge.spec)
    assert (result.code, statuses(report)) == (3, {"broken": "target-error", "fine": "passed"})
    broken = report["cases"][0]
    assert (broken["score"], broken["interval"], broken["verdict"]) == (
        None,
        [0, 100],
        "inconclusive",
    )
    assert said in " ".join(broken["reasons"])
    assert (judge.calls, report["pass_rate"], report["pass_rate_interval"]) == (1, None, [0.5, 1.0])


def test_a_model_without_its_key_is_refused_before_the_run(desk: Desk) -> None:
    """As a program that is missing is: no run, and no call that was not made."""
    suite(desk, case("a"), case("b"))
    refused = desk.run("eval", "suite.yaml", "--target", "openai:gpt-5", env={"OPENAI_API_KEY": ""})
    assert (
        refused.is_refusal
        and "OPENAI_API_KEY is not set" in refused.err
        and "export OPENAI_API_KEY" in refused.err
    )
    assert not (desk.folder / ".honestone").exists()  # no run was begun


def test_what_a_target_leaves_running_is_ended(desk: Desk) -> None:
    """A child that holds the pipe open is not waited for, and does not outlive the case."""
    suite(desk, case("one"))
    mark = f"6{os.getpid()}"
    made = target(desk, body=f"subprocess.Popen(['sleep', '{mark}'])\nprint(text)")
    began = time.monotonic()
    result, _ = run(desk, "--target", made.spec)
    assert result.code == 0
    assert time.monotonic() - began < 3000  # the child sleeps twice as long at least
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _is_about(p, f"sleep\0{mark}")]
    assert left == []


def _is_about(path: Path, words: str) -> bool:
    try:
        return words.encode() in path.read_bytes()
    except OSError:
        return False


def test_equal_outputs_cost_no_second_judging(desk: Desk) -> None:
    """The target runs anew, for the code behind it may have changed; its judge is not asked again."""
    suite(desk, "{id: one, input: one apple, rubric: [says apple]}")
    made, judge = target(desk), desk.judge()
    for _ in range(2):
        result, report = run(desk, "--target", made.spec, "--judge", judge.spec)
    assert (result.code, made.calls, judge.calls) == (0, 2, 1)
    assert (
        report["usage"]["judge_calls"],
        report["usage"]["cached_calls"],
        report["usage"]["target_calls"],
    ) == (
        0,
        1,
        1,
    )


def test_the_judge_never_sees_what_made_the_output(desk: Desk) -> None:
    """Neither the artifact nor its path: a comparison of two artifacts would judge their names."""
    desk.file("prompt.md", "SECRETPROMPT\n")
    suite(desk, "{id: one, input: one apple, rubric: [says apple]}", head="artifact: prompt.md\n")
    judge = desk.judge()
    run(desk, "--target", target(desk).spec, "--judge", judge.spec)
    assert "SECRETPROMPT" not in judge.lines[0]
    assert "prompt.md" not in judge.lines[0]


def test_nothing_to_answer_the_cases_is_told(desk: Desk) -> None:
    """Exit 2 before anything is spent, with what can be named."""
    suite(desk, case("one"))
    result, _ = run(desk)
    assert result.is_refusal
    assert "--target" in result.err


# -------------------------------------------------------------------------------------------------------
# killed, resumed


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 2, 4])
def test_killed_at_any_case_and_gone_on_with(desk: Desk, after: int) -> None:
    """What is judged is not run again, what was in flight once more, and the end is an undisturbed
    run's.
    """
    cases = [
        f"{{id: c{n}, input: c{n} {'apple' if n != 3 else 'pear'}, rubric: [says apple]}}"
        for n in range(5)
    ]
    suite(desk, *cases)
    halt = stops_at(desk.logs / "target.log", after + 1)
    made, judge = target(desk, body=halt + "print(text)"), desk.judge()
    words = ("--target", made.spec, "--judge", judge.spec, "--concurrency", "1")
    process = desk.start("eval", "suite.yaml", "--json", *words)
    until = time.monotonic() + 300
    while made.calls <= after and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    begun = made.calls
    result, report = run(desk, *words)
    assert result.code == 1
    assert statuses(report) == {
        "c0": "passed",
        "c1": "passed",
        "c2": "passed",
        "c3": "failed",
        "c4": "passed",
    }
    assert made.calls <= 5 + 1
    assert made.calls >= 5
    assert max(made.lines.count(line) for line in made.lines) <= 2
    assert made.lines.count("c0") == (2 if begun == 1 and made.calls == 6 else 1)
    assert judge.calls <= 6
    assert f"resuming run {report['run']}" in result.err or begun == 0


@pytest.mark.slow
def test_an_output_on_record_is_judged_without_running_its_target_again(desk: Desk) -> None:
    """A target's run may have cost an hour: killed while the judge thinks, only the judge is asked
    again.
    """
    suite(desk, "{id: one, input: one apple, rubric: [says apple]}")
    made = target(desk)
    slow = desk.judge(
        body=f"if not os.path.exists({str(desk.logs / 'go')!r}): time.sleep(60)\nprint(json.dumps(reply()))"
    )
    words = ("--target", made.spec, "--judge", slow.spec)
    process = desk.start("eval", "suite.yaml", "--json", *words)
    until = time.monotonic() + 300
    while slow.calls < 1 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (desk.logs / "go").write_text("")
    result, report = run(desk, *words)
    assert (result.code, statuses(report), made.calls) == (0, {"one": "passed"}, 1)


@pytest.mark.slow
def test_interrupting_says_how_to_go_on(desk: Desk) -> None:
    """Ctrl-C ends with 130 and the same command."""
    suite(desk, case("one"))
    made = target(desk, body="time.sleep(60)")
    process = desk.start("eval", "suite.yaml", "--target", made.spec)
    until = time.monotonic() + 300
    while made.calls < 1 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "honestone eval suite.yaml" in err


@pytest.mark.slow
def test_two_at_once_do_not_share_a_run(desk: Desk) -> None:
    """The second is refused while the first works."""
    suite(desk, case("one"))
    go = desk.logs / "go"
    made = target(
        desk, body=f"while not os.path.exists({str(go)!r}): time.sleep(0.02)\nprint(text)"
    )
    first = desk.start("eval", "suite.yaml", "--json", "--target", made.spec)
    until = time.monotonic() + 300
    while made.calls < 1 and time.monotonic() < until:
        time.sleep(0.02)
    second, _ = run(desk, "--target", made.spec)
    go.touch()
    out, _ = first.communicate(timeout=300)
    assert second.is_refusal
    assert statuses(json.loads(out)) == {"one": "passed"}


# --------------------------------------------------------------------------------------------------------
# case by case


def test_attempts_are_told_and_a_flipping_case_is_named(desk: Desk) -> None:
    """Each attempt with its own output and status; the case is unstable."""
    suite(desk, case("flips", ", attempts: 3, attempt_rule: pass@k"))
    made = target(desk, body="print('apple' if sys.argv[1] == '2' else 'plum')", words="{ATTEMPT}")
    result, report = run(desk, "--target", made.spec)
    (found,) = report["cases"]
    assert result.code == 0
    assert [(a["attempt"], a["status"], a["output"].strip()) for a in found["attempts"]] == [
        (1, "failed", "plum"),
        (2, "passed", "apple"),
        (3, "failed", "plum"),
    ]
    assert (found["unstable"], report["unstable"], found["shown_attempt"]) == (True, ["flips"], 2)


def test_a_workspace_is_private_set_up_and_diffed(desk: Desk) -> None:
    """The fixture stays as it is; checks see what the target changed, not what setup did; teardown
    always runs.
    """
    desk.file("fixture/notes.txt", "old\n")
    suite(
        desk,
        "{id: w, input: w, checks: [{contains: +new, in: diff}, {not-contains: made, in: diff}, {command: grep -q new notes.txt}]}",
        head="workspace: {copy: fixture}\nsetup: sh -c 'echo made > made.txt'\nteardown: sh -c 'echo gone >> \"$HONESTONE_LOG\"'\n".replace(
            '"$HONESTONE_LOG"', str(desk.logs / "torn")
        ),
    )
    made = target(desk, body="open('notes.txt', 'a').write('new\\n'); print('done')")
    result, report = run(desk, "--target", made.spec)
    assert result.code == 0, (report, result.err)
    assert "+new" in report["cases"][0]["diff"]
    assert (desk.folder / "fixture/notes.txt").read_text() == "old\n"
    assert (desk.logs / "torn").read_text() == "gone\n"


def test_a_failed_setup_is_no_score(desk: Desk) -> None:
    """The target is not run."""
    suite(desk, case("one", ", setup: 'false'"))
    made = target(desk)
    result, report = run(desk, "--target", made.spec)
    assert (result.code, statuses(report), made.calls) == (3, {"one": "target-error"}, 0)
    assert "setup" in report["cases"][0]["reasons"][0]


def test_a_budget_skips_the_rest_and_cannot_pass(desk: Desk) -> None:
    """Cases not reached are skipped with the reason and their target is not run."""
    suite(desk, *(f"{{id: c{n}, input: c{n} apple, rubric: [says apple]}}" for n in range(4)))
    made, judge = target(desk), desk.judge()
    result, report = run(
        desk, "--target", made.spec, "--judge", judge.spec, "--max-calls", "2", "--concurrency", "1"
    )
    assert (result.code, report["verdict"]) == (3, "inconclusive")
    assert list(statuses(report).values()) == ["passed", "passed", "skipped", "skipped"]
    assert (made.calls, judge.calls) == (2, 2)
    assert "4 judge calls" in result.err and "of which the limit allows 2" in result.err
    assert "budget" in report["cases"][2]["reasons"][0]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (("--case", "c1"), ["c1"]),
        (("--tag", "odd"), ["c1", "c3"]),
        (("--shard", "2/2"), ["c1", "c3"]),
        (("--split", "val"), ["c0"]),
        (("--tag", "odd", "--case", "c3"), ["c3"]),
    ],
)
def test_choosing_cases(desk: Desk, words: tuple[str, ...], chosen: list[str]) -> None:
    """By id, tag, split and shard, together too; only those are run and reported."""
    kinds = [
        f", tags: [{'odd' if n % 2 else 'even'}], split: {'val' if n == 0 else 'test'}"
        for n in range(4)
    ]
    suite(desk, *(case(f"c{n}", kind) for n, kind in enumerate(kinds)))
    made = target(desk)
    _, report = run(desk, "--target", made.spec, *words)
    assert list(statuses(report)) == chosen
    assert sorted(made.lines) == chosen


@pytest.mark.parametrize(
    "words",
    [("--case", "cc"), ("--shard", "3/2"), ("--tag", "x"), ("--split", "dev"), ("--failed",)],
)
def test_an_empty_choice_is_refused(desk: Desk, words: tuple[str, ...]) -> None:
    """Nothing would be run, and nothing is no pass."""
    suite(desk, case("c0"))
    made = target(desk)
    result, _ = run(desk, "--target", made.spec, *words)
    assert result.is_refusal
    assert made.calls == 0


def test_only_what_failed_is_run_again(desk: Desk) -> None:
    """--failed takes the failed cases of the last run, --errored those without a verdict."""
    suite(desk, case("good"), case("bad"), case("dead"))
    body = f"ok = os.path.exists({str(desk.logs / 'ok')!r})\nif not ok and 'dead' in text: sys.exit(1)\nprint(text if ok or 'bad' not in text else 'x')"
    made = target(desk, body=body)
    run(desk, "--target", made.spec)
    (desk.logs / "ok").write_text("")
    _, errored = run(desk, "--target", made.spec, "--errored")
    assert statuses(errored) == {"dead": "passed"}
    (desk.logs / "ok").unlink()
    run(desk, "--target", made.spec)
    _, failed = run(desk, "--target", made.spec, "--failed")
    assert statuses(failed) == {"bad": "failed"}


def test_options_of_suites_are_refused_for_artifacts(ready: Desk) -> None:
    """An option without effect would be believed."""
    result = ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--baseline", "HEAD")
    assert result.is_refusal
    assert "--baseline" in result.err


def test_a_suite_takes_no_input_of_its_own(desk: Desk) -> None:
    """Its cases say it."""
    suite(desk, case("one"))
    result, _ = run(desk, "--input", "x", "--target", target(desk).spec)
    assert result.is_refusal


# ----------------------------------------------------------------------------------------------------------
# baselines


def test_a_saved_report_is_a_baseline_and_can_be_brought_up_to_date(desk: Desk) -> None:
    """As in CI: no store, a report in the repository; --update-baseline writes it."""
    suite(desk, case("one"), case("two"))
    good, bad = (
        target(desk, "good"),
        target(desk, "bad", body="print('one apple' if text.startswith('one') else 'x')"),
    )
    first = desk.run(
        "eval", "suite.yaml", "--target", good.spec, "--baseline", "base.json", "--update-baseline"
    )
    assert first.code == 0, first.err
    saved = json.loads((desk.folder / "base.json").read_text())
    assert saved["schema"] == "honestone.report/1"
    result, report = run(desk, "--target", bad.spec, "--baseline", "base.json")
    assert (result.code, report["delta"], report["regressions"], report["verdict"]) == (
        1,
        -0.5,
        ["two"],
        "fail",
    )
    assert json.loads((desk.folder / "base.json").read_text()) == saved
    refused, _ = run(desk, "--target", good.spec, "--update-baseline")
    assert refused.is_refusal


def test_a_baseline_that_is_the_artifact_is_refused(desk: Desk) -> None:
    """Two times the same bytes would measure noise."""
    desk.file("a.md", "apple\n")
    desk.file("b.md", "apple\n")
    suite(desk, case("one"), head="artifact: a.md\n")
    made = target(desk)
    result, _ = run(desk, "--target", made.spec, "--baseline", "b.md")
    assert result.is_refusal
    assert made.calls == 0


def test_comparing_and_a_trend_over_recorded_runs(desk: Desk) -> None:
    """A regression is named in text, JSON and Markdown; a trend shows every run."""
    suite(desk, case("one"), case("two"))
    good, bad = (
        target(desk, "good"),
        target(desk, "bad", body="print('one apple' if text.startswith('one') else 'x')"),
    )
    before, after = (run(desk, "--target", made.spec)[1]["run"] for made in (good, bad))
    result = desk.run("compare", before, after, "--json")
    assert (result.code, result.json["regressions"], result.json["delta"]) == (1, ["two"], -0.5)
    for form in ("text", "markdown"):
        shown = desk.run("compare", before, after, "--format", form)
        assert shown.code == 1
        assert "two" in shown.out
    trend = desk.run("trend", before, after, "--json").json
    assert [(entry["pass_rate"], entry["regressions"]) for entry in trend["runs"]] == [
        (1, []),
        (0.5, ["two"]),
    ]
    shown = desk.run("trend", before, after)
    assert shown.code == 0
    assert "regressions two" in shown.out


@pytest.mark.slow
def test_a_comparison_names_what_turned(desk: Desk) -> None:
    """The items of the case that are met on one side only, in every form; no other item."""
    both = "[{contains: alpha}, {contains: beta}, {contains: gamma}]"
    desk.file("suite.yaml", f"suite: 1\ncases:\n  - {{id: one, input: one, checks: {both}}}\n")
    first = target(desk, "first", body="print('alpha beta')")
    second = target(desk, "second", body="print('alpha gamma')")
    before, after = (run(desk, "--target", made.spec)[1]["run"] for made in (first, second))
    document = desk.run("compare", before, after, "--json").json["cases"][0]
    assert len(document["broken"]) == 1
    assert "beta" in document["broken"][0]
    assert len(document["fixed"]) == 1
    assert "gamma" in document["fixed"][0]
    for form in ("text", "markdown", "html"):
        shown = desk.run("compare", before, after, "--format", form).out
        assert re.search(r"broken\W[^\n]*beta", shown)
        assert re.search(r"fixed\W[^\n]*gamma", shown)
    saved = [desk.folder / f"{name}.json" for name in ("before", "after")]
    for id, place in zip((before, after), saved, strict=True):
        place.write_text(desk.run("show", id, "--json").out)
    of_files = desk.run("compare", *map(str, saved), "--json").json["cases"][0]
    assert of_files["broken"] == document["broken"]


def test_runs_under_two_contracts_are_not_compared(desk: Desk) -> None:
    """The difference is told in words, and told to go on all the same they are."""
    suite(desk, case("one"))
    made = target(desk)
    before = run(desk, "--target", made.spec)[1]["run"]
    after = run(desk, "--target", made.spec, "--threshold", "90")[1]["run"]
    refused = desk.run("compare", before, after)
    assert refused.is_refusal
    assert "threshold" in refused.err
    assert desk.run("compare", before, after, "--across-contracts").code == 0


def test_a_named_target_bears_no_more_at_a_time_than_its_settings_say(desk: Desk) -> None:
    """`concurrency` under [targets.NAME] holds whatever --concurrency asks for. The server answers
    two calls together.
    """
    import http.server
    import threading

    busy, most = 0, 0
    lock, two = threading.Lock(), threading.Barrier(2)

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal busy, most
            self.rfile.read(int(self.headers["content-length"]))
            with lock:
                busy, most = busy + 1, max(most, busy + 1)
            two.wait(120)
            with lock:
                busy -= 1
            body = b'{"output": "apple"}'
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        desk.file(
            "honestone.toml",
            f'[targets.app]\nprovider = "http"\nbase_url = "{url}"\nconcurrency = 2\n',
        )
        suite(desk, *(case(f"c{n}") for n in range(6)))
        result, report = run(desk, "--target", "app", "--concurrency", "6")
    finally:
        server.shutdown()
    assert (result.code, report["counts"]["passed"], most) == (0, 6, 2), result.err


def test_a_store_that_is_named(desk: Desk, tmp_path: Path) -> None:
    """A suite's run is kept there; the command that judges its outputs again names it too."""
    suite(desk, case("one"), case("two", wanted="pear"))
    spec, named = target(desk).spec, tmp_path / "elsewhere"
    result, _ = run(desk, "--target", spec, "--store", named)
    assert result.code == 1, result.err
    assert json.loads(desk.run("runs", "--store", named, "--json").out)[0]["kind"] == "suite"
    suite(desk, case("one"), case("two", wanted="two"))
    result, _ = run(desk, "--target", spec, "--store", named)
    assert f"--outputs last --store {named}" in result.err
