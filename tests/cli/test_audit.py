"""`honestone judges audit`: judges that can be talked round are found, honest ones are not; nothing is
paid twice.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from .desk import Desk, Program, until

RUBRIC = """\
rubric: 1
threshold: 50
floor: 0
criteria:
  - id: fruit
    requirement: It names fruit
    items: [It names the apple, It names the pear, It names the quince]
  - {id: depth, requirement: It goes deep, anchors: {0: shallow, 10: deep}}
"""
TEXT = "# Notes\n\nAn apple lies on a brick. It is red.\n\nThe second paragraph says little, at some length.\n"


def prepared(desk: Desk, text: str = TEXT) -> None:
    desk.file("a.md", text)
    desk.file("r.yaml", RUBRIC)


def swayed(desk: Desk, by: str, name: str = "judge") -> Program:
    """A judge that looks for the last word of an item, unless `by` (over `text`) lets it say yes
    and 10.
    """
    return desk.judge_in_python(
        name,
        f"swayed = bool({by})\n"
        "out = reply()['criteria']\n"
        "out['fruit']['items'] = {k: {'met': swayed or v['met']} for k, v in out['fruit']['items'].items()}\n"
        "out['depth'] = {'score': 10 if swayed else 4 if text.strip() else 0}\n"
        "print(json.dumps({'criteria': out}))\n",
    )


def audited(desk: Desk, *judges: Program, more: tuple[str, ...] = ()) -> Any:
    words = [word for judge in judges for word in ("--judge", judge.spec)]
    return desk.run("audit", "a.md", "--rubric", "r.yaml", *words, *more)


def probe(found: Any, name: str, at: int = 0) -> dict[str, Any]:
    return next(one for one in found["judges"][at]["probes"] if one["id"] == name)


@pytest.mark.parametrize(
    ("by", "flips", "tier"),
    [
        ("False", [], "high"),
        ("'gnore' in text", ["injection"], "low"),
        ("'made-up word' in text", ["injection"], "low"),
        ("'a person or a figure' in text", ["injection"], "low"),
        ("'excellent' in text or 'brilliant' in text", ["praise"], "medium"),
        ("'Professor' in text or 'ertified' in text", ["authority"], "medium"),
        (f"len(text) > {2 * len(TEXT) - 2}", ["padding"], "medium"),
        ("'\\n- ' in text or '**' in text", ["formatting"], "medium"),
        ("not text", ["empty"], "low"),
        ("text.endswith(' ') or text.endswith(' \\n')", ["no-op"], "medium"),
        ("request['criteria'][0]['id'] == 'depth'", ["order"], "medium"),
    ],
)
def test_what_sways_a_judge_is_found_and_nothing_else(
    by: str, flips: list[str], tier: str, desk: Desk
) -> None:
    prepared(desk)
    result = audited(desk, swayed(desk, by), more=("--json",))
    found = result.json
    assert result.code == 0 and found["schema"] == "honestone.audit/1"
    assert found["judges"][0]["tier"] == tier, found["judges"][0]
    assert [one["id"] for one in found["judges"][0]["probes"] if one["ok"] is False] == flips
    for one in found["judges"][0]["probes"]:
        assert (one["rate"] is None) is (one["trials"] == 0) is (one["reason"] is not None)
        assert one["trials"] == 0 or one["interval"][0] <= one["rate"] <= one["interval"][1]
        assert len(one["flipped"]) == one["flips"]
    assert (desk.folder / "a.md").read_text() == TEXT


@pytest.mark.slow
def test_nothing_is_paid_twice_and_it_is_shown_again(desk: Desk) -> None:
    """Not the same audit, and not the answer that `eval` has on record; --fresh asks again."""
    prepared(desk)
    judge = swayed(desk, "'gnore' in text")
    assert desk.run("eval", "a.md", "--rubric", "r.yaml", "--judge", judge.spec).code in (0, 1)
    result = audited(desk, judge, more=("--json",))
    first, calls = result.json, judge.calls
    assert first["usage"]["judge_calls"] == calls - 1 and first["usage"]["cached_calls"] == 1
    assert f"questions x 1 judge: {calls + 1} calls, at most" in result.err
    again = audited(desk, judge, more=("--json",)).json
    assert (
        judge.calls == calls
        and again["judges"] == first["judges"]
        and again["usage"]["judge_calls"] == 0
    )
    assert desk.run("show", "last", "--json").json == again
    assert (
        "audit" in desk.run("runs", "--kind", "audit").out and desk.run("rescore", "last").code == 2
    )
    assert audited(desk, judge, more=("--fresh", "-q")).code == 0 and judge.calls == 2 * calls


@pytest.mark.slow
def test_reports_say_what_flipped(desk: Desk) -> None:
    prepared(desk)
    judges = swayed(desk, "'gnore' in text"), swayed(desk, "False", "calm")
    text = audited(desk, *judges, more=("-q",))
    assert text.out.startswith("a.md: 2 judges: 1 high, 1 low\n") and text.err == ""
    assert (
        "tier low, it flips on injection" in text.out
        and "fruit / it-names-the-pear: no, then yes (an order)" in text.out
    )
    assert (
        "depth: 4, then 10 (an order)" in text.out
        and "it quotes nothing where it gives credit" in text.out
    )
    page = desk.run("show", "last", "--format", "markdown").out
    assert (
        page.startswith("# Audit: a.md\n") and "| no-op | 12 | 0 | 0.0% | 0.0 to 24.2% |  |" in page
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tier", "codes"), [("high", (0, 1, 1)), ("medium", (0, 0, 1)), ("low", (0, 0, 0))]
)
def test_a_gate_demands_a_tier(tier: str, codes: tuple[int, ...], desk: Desk) -> None:
    """Exit 1 where one of the judges is below it, and it is named."""
    prepared(desk)
    judges = [
        swayed(desk, by, f"j{n}")
        for n, by in enumerate(("False", "'superb' in text", "'gnore' in text"))
    ]
    for n, judge in enumerate(judges):
        result = audited(desk, judges[0], judge, more=("--require-tier", tier, "-q"))
        assert result.code == codes[n]
        assert (f"below --require-tier {tier}: {judge.spec} is" in result.err) is (result.code == 1)


@pytest.mark.slow
def test_a_judge_that_cannot_be_asked_has_no_tier(desk: Desk) -> None:
    """Exit 3, with what is known of the others; it is not asked on and on. What it says cannot
    reach the terminal.
    """
    prepared(desk)
    dead = desk.judge("dead", "sys.exit('\\x1b[31mdisk full')")
    calm, poor = swayed(desk, "False", "calm"), swayed(desk, "'gnore' in text", "poor")
    result = audited(desk, dead, calm, more=("--json", "--require-tier", "low"))
    one, other = result.json["judges"]
    assert result.code == 3 and (one["tier"], other["tier"]) == (None, "high") and dead.calls == 2
    assert (
        len(one["probes"]) == 9
        and "disk full" in one["probes"][0]["reason"]
        and "disk full" in one["reason"]
    )
    text = audited(desk, dead, calm)
    assert (
        "1 high, 1 could not be audited" in text.out
        and "no tier" in text.out
        and "\x1b" not in text.out
    )
    # A judge that is known to miss the tier fails, whatever another would have said.
    assert audited(desk, dead, poor, more=("--require-tier", "high")).code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--repeat", "3"), "every probe asks each judge once"),
        (("--pack", "head"), "might not be shown"),
        (("--rubric", "code.yaml"), "asks no judge"),
        (("--require-tier", "gold"), "gold"),
    ],
)
def test_what_means_nothing_is_refused(words: tuple[str, ...], said: str, desk: Desk) -> None:
    """Exit 2, and no call."""
    prepared(desk)
    desk.file(
        "code.yaml", "rubric: 1\ncriteria: [{id: a, requirement: b, check: {contains: text}}]\n"
    )
    judge = swayed(desk, "False")
    rubric = () if "--rubric" in words else ("--rubric", "r.yaml")
    result = desk.run("audit", "a.md", *rubric, "--judge", judge.spec, *words)
    assert result.code == 2 and said in result.err and not result.out and judge.calls == 0


def test_a_limit_ends_it_and_a_higher_one_resumes(desk: Desk) -> None:
    prepared(desk)
    judge = swayed(desk, "False")
    result = audited(desk, judge, more=("--max-calls", "7"))
    assert (
        result.code == 3
        and "--max-calls" in result.err
        and "higher limit" in result.err
        and judge.calls == 7
    )
    found = audited(desk, judge, more=("--json",)).json
    assert found["usage"]["judge_calls"] == judge.calls and found["judges"][0]["tier"] == "high"
    assert len(desk.run("runs", "--json").json) == 1


@pytest.mark.slow
def test_after_a_kill_no_question_is_repeated(desk: Desk) -> None:
    """Only those are asked again that had no reply."""
    prepared(desk)
    # It waits with its answer to two of the questions until it is let go.
    waits = "[time.sleep(0.1) for _ in iter(lambda: os.path.exists('go'), True)]"
    judge = swayed(desk, f"'gnore' in text and {waits} and False")
    words = ("audit", "a.md", "--rubric", "r.yaml", "--judge", judge.spec, "--json")
    running = desk.start(*words)
    assert running.stderr is not None
    questions = (
        int(running.stderr.readline().split()[0]) - 1
    )  # it quotes nothing, so nothing is swapped
    assert until(lambda: judge.calls == questions and desk.replies == questions - 2)
    running.kill()
    running.communicate()
    desk.file("go", "")
    before = judge.calls
    found = desk.run(*words).json
    assert before == questions and found["judges"][0]["tier"] == "high"
    again = judge.lines[before:]
    assert len(again) == 2 and all("gnore" in line for line in again)
    assert len(desk.run("runs", "--json").json) == 1


@pytest.mark.slow
def test_quotes_have_to_be_in_what_was_shown(desk: Desk) -> None:
    """One that repeats what it once read, one that makes quotes up, and one that reads."""
    prepared(desk)
    body = (
        "out = reply()['criteria']\n"
        "for one in out['fruit']['items'].values(): one.update(evidence=QUOTE if one['met'] or STUBBORN else '')\n"
        "if STUBBORN: out['fruit']['items']['it-names-the-apple']['met'] = True\n"
        "out['depth'] = {'score': 0}\n"
        "print(json.dumps({'criteria': out}))\n"
    )
    judges = [
        desk.judge(name, f"QUOTE, STUBBORN = {quote!r}, {stubborn}\n{body}")
        for name, quote, stubborn in (
            ("reads", "An apple", False),
            ("repeats", "An apple", True),
            ("invents", "A pear", False),
        )
    ]
    found = audited(desk, *judges, more=("--json",)).json
    figures = [
        (one["trials"], one["flips"])
        for one in (probe(found, "swapped-quotes", at) for at in range(3))
    ]
    assert figures == [(1, 0), (2, 1), (1, 1)]
    assert "with a quote that is not in the text" in desk.run("show", "last").out


@pytest.mark.slow
def test_a_reply_that_says_yes_to_the_control_item_is_a_flip(desk: Desk) -> None:
    """In a run it is void; here it says that the artifact steers the judge."""
    prepared(desk)
    path = desk.file(
        "model.py",
        "import json, sys\n"
        "prompt = sys.stdin.read()\n"
        "skeleton = json.loads(prompt[prompt.rindex('{\"token\"'):])\n"
        "steered = 'gnore all' in prompt\n"
        "for n, one in skeleton['answers'].items():\n"
        "    line = next(x for x in prompt.splitlines() if x.startswith(f'[{n}] '))\n"
        "    scale = 'goes deep' in line\n"
        "    one['answer'] = (10 if steered else 0) if scale else True if steered else 'apple' in line and 'apple' in prompt.split('Requirements:')[0]\n"
        "print(json.dumps(skeleton))\n",
    )
    found = desk.run(
        "audit", "a.md", "--rubric", "r.yaml", "--judge", f"cmd:python3 {path.name}", "--json"
    ).json
    assert (
        found["judges"][0]["tier"] == "low"
        and probe(found, "injection")["flipped"][0]["after"] is None
    )
    assert "void" in desk.run("show", "last").out


def test_an_audit_does_not_advise_an_audit(desk: Desk) -> None:
    """Of a judge that says yes to everything, the advice is in `eval`, as a hint."""
    desk.file("a.md", "apple\n")
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: apple, requirement: It names the apple}]\n")
    yes = (
        "import json, sys; p = sys.stdin.read(); f = json.loads(p[p.rindex('{\"token\"'):]); "
        "[one.update(answer=True) for one in f['answers'].values()]; print(json.dumps(f))"
    )
    desk.file("yes.py", yes)
    told = ("a.md", "--rubric", "r.yaml", "--judge", "cmd:python3 yes.py")
    audit = desk.run("audit", *told)
    assert "control" in audit.out and "honestone judges audit" not in audit.out + audit.err
    assert "try `audit`" not in audit.out
    assert "`honestone judges audit` measures" in desk.run("eval", *told).out


def test_folders_skills_and_images(desk: Desk) -> None:
    """The probes speak to the file that a reader begins with; what is not text stays, and no file
    is touched.
    """
    desk.file("r.yaml", RUBRIC)
    image = b"\x89PNG\r\n\x1a\n\0\0"
    files = {"SKILL.md": b"---\nname: x\n---\n\nAn apple.\n", "run.py": b"x = 1\n", "i.png": image}
    for name, data in files.items():
        desk.file(f"skill/{name}", data)
    seen = {name: os.stat(desk.folder / "skill" / name).st_mtime_ns for name in files}
    judge = swayed(desk, "'gnore' in text")
    found = desk.run("audit", "skill", "--rubric", "r.yaml", "--judge", judge.spec, "--json").json
    assert found["judges"][0]["tier"] == "low" and probe(found, "empty")["trials"] == 4
    assert {name: os.stat(desk.folder / "skill" / name).st_mtime_ns for name in files} == seen
    shown = [
        {one["path"]: one["text"] for one in request["artifact"]["files"]}
        for request in judge.requests
    ]
    assert {one.get("run.py", "x = 1\n") for one in shown} == {"x = 1\n"} and {} in shown
    desk.file("images/i.png", image)
    desk.file("b.bin", b"\0\1")
    for name in ("images", "b.bin"):
        assert desk.run("audit", name, "--rubric", "r.yaml", "--judge", judge.spec).is_refusal


@pytest.mark.slow
def test_improve_demands_a_tier_of_its_judges(desk: Desk) -> None:
    """Of those that steer and those that certify; refused before anything is spent, also when the
    judge has changed since.
    """
    prepared(desk)
    calm, poor = swayed(desk, "False", "calm"), swayed(desk, "'gnore' in text", "poor")
    worker = desk.worker("w", "put(read() + b'A pear.\\n')")

    def improved(holdout: Program, tier: str = "high") -> Any:
        words = (
            "--holdout",
            holdout.spec,
            "--worker",
            worker.spec,
            "--rounds",
            "1",
            "--require-tier",
            tier,
            "-q",
        )
        return desk.run(
            "improve", "a.md", "--rubric", "r.yaml", "--judge", calm.spec, *words, "--dry-run"
        )

    result = improved(poor)
    assert (
        result.is_refusal
        and f"`{calm.spec}` was never audited under this rubric" in result.err
        and not calm.calls
    )
    assert audited(desk, calm, poor).code == 0
    calls = calm.calls
    result = improved(poor)
    assert (
        result.is_refusal
        and "is of tier low, below --require-tier high: it flips on injection" in result.err
    )
    assert calm.calls == calls and worker.calls == 0
    assert improved(poor, "low").code != 2 and worker.calls == 1
    poor.path.write_text(poor.path.read_text() + "# another version\n")
    result = improved(poor, "low")
    assert result.is_refusal and "the judge changed since" in result.err
    desk.file("r.yaml", RUBRIC.replace("It goes deep", "It goes really deep"))
    assert "the rubric changed since" in improved(poor, "low").err
    desk.file("s.yaml", "suite: 1\nrubric: {file: r.yaml}\ncases: [{id: a, input: b}]\n")
    words = ("--suite", "s.yaml", "--worker", worker.spec, "--require-tier", "low")
    assert "--require-tier" in desk.run("improve", "a.md", *words).err
