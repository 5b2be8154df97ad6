"""The command that a report says to type next repeats the options of the one before it."""

from __future__ import annotations

import shlex
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.app.improving.loop import ImprovementRequest
from honestone.app.options import Declared, Group, build, parts
from honestone.cli.main import cli
from property_examples import examples

from .desk import Desk, Result

# What a next command names by what the run came to.
NAMED = {"judges", "holdouts", "worker", "rubric", "suite", "target", "policy", "fresh"}
# Options that are of a command, and put into the request by it.
BY_COMMAND = {"allow_code", "sure", "max_looks"}


def options_of(of: type) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for one in parts(of):
        for inner in options_of(one.of).values() if isinstance(one, Group) else [one]:
            if inner.is_typed and inner.field not in NAMED:
                found.setdefault(inner.field, inner)
    return found


REPEATED = options_of(ImprovementRequest)


def values_of(one: Declared) -> st.SearchStrategy[Any]:
    """Values that an option takes."""
    if one.field == "quorum":
        return st.sampled_from([2, "all"])
    if one.field == "sure":
        return st.sampled_from([80.0, 95.0, 99.5])
    if one.kind is bool:
        return st.just(value=True)
    if one.choices:
        return st.sampled_from(one.choices)
    if one.kind is int:
        return st.integers(int(one.option.min or 1), int(one.option.max or 90))
    if one.kind is float:
        low = one.option.min if one.option.above is None else one.option.above + 0.25
        return st.floats(low or 0, one.option.max or 90)
    words = st.sampled_from(["a", "b c", "d'e"]).map(one.kind)
    return st.lists(words, min_size=1, max_size=2).map(tuple) if one.is_many else words


ONE = st.fixed_dictionaries({}, optional={name: values_of(one) for name, one in REPEATED.items()})


def read_back(words: list[str]) -> dict[str, Any]:
    context = click.Context(cli)
    command = cli.get_command(context, "improve")
    assert command is not None
    return command.make_context("improve", ["note.md", *words]).params


@settings(max_examples=examples(200), deadline=None)
@given(ONE)
def test_the_options_of_a_command_are_typed_as_they_were_given(values: dict[str, Any]) -> None:
    """Every option of `improve`: read again, its words are the same values."""
    request = build(ImprovementRequest, artifact="note.md", **values)
    by_command = {name: values[name] for name in BY_COMMAND & values.keys()}
    request = replace(request, judging=replace(request.judging, **by_command))
    found = read_back(list(request.words_for_next))
    defaults = read_back([])
    for name, one in REPEATED.items():
        wanted = values.get(name, one.default)
        if name in values:
            assert found[name] == wanted or str(found[name]) == str(wanted), name
        else:
            assert found[name] == defaults[name], name


# ----------------------------------------------------------------------------------------------------------
# as they are printed


def next_of(result: Result) -> list[str]:
    """The command to type next, without its name, and with a worker where it leaves one open."""
    (line,) = [one for one in result.out.splitlines() if one.startswith("next ")]
    words = shlex.split(line.removeprefix("next"))
    assert words[0] == "honestone"
    return words[1:]


def value_of(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words else None


BARS = ["--threshold", "85", "--combine", "median", "--ask", "criterion", "--judge-timeout", "50"]


@pytest.mark.slow
def test_improve_after_eval_has_its_bars_and_not_its_limits(ready: Desk) -> None:
    """It is accepted, and judges under the same contract."""
    names = [
        "--judge",
        ready.judge("a").spec,
        "--judge",
        ready.judge("b", "print(json.dumps(reply()))  # b").spec,
    ]
    sure = ["--sure", "97.5", "--max-looks", "3", "--max-calls", "9"]
    before = ready.run("eval", "note.md", "-r", "rubric.yaml", *names, *BARS, *sure)
    words = next_of(before)
    assert [value_of(words, one) for one in ("--sure", "--max-looks")] == ["97.5", "3"]
    assert "--max-calls" not in words and words.count("--judge") == 2
    worker = ready.worker("worker", "put(read() + b'pear')").spec
    words = [worker if one == "WORKER" else one for one in words]
    done = ready.run(*words, "--rounds", "1", "--dry-run", "--holdout", "none", "--json")
    assert done.code != 2, done.err
    contract = ready.run("show", "last", "--json").json["contract"]
    evaluated = ready.run("eval", "note.md", "-r", "rubric.yaml", *names, *BARS, *sure, "--json")
    assert contract == done.json["contract"] and evaluated.json["contract"] == contract


def test_improve_after_a_low_bar_asks_for_what_it_can_say(ready: Desk) -> None:
    """`improve` says PASSED from 80 % on; with a file's own bar too. Code alone needs none."""
    judge = ready.judge().spec
    found = ready.run(
        "eval", "note.md", "-r", "rubric.yaml", "-j", judge, "--sure", "70", "--max-looks", "3"
    )
    assert value_of(next_of(found), "--sure") == "80"
    ready.rubric(
        "rubric: 1\ncriteria:\n  - {id: a, requirement: pear, check: {contains: pear}}\n", "b.yaml"
    )
    found = ready.run("eval", "note.md", "-r", "b.yaml", "--sure", "95", "--max-looks", "3")
    assert not {"--sure", "--max-looks"} & set(next_of(found))


def test_judges_that_were_held_out_of_eval_are_held_out_of_improve(ready: Desk) -> None:
    """Those that an optimiser asked steer."""
    steering, witness = ready.judge("a"), ready.judge("b", "print(json.dumps(reply())) # b")
    words = ["-j", steering.spec, "--holdout", witness.spec]
    found = next_of(ready.run("eval", "note.md", "-r", "rubric.yaml", *words))
    assert (value_of(found, "--judge"), value_of(found, "--holdout")) == (
        steering.spec,
        witness.spec,
    )
    assert found.count("--judge") == found.count("--holdout") == 1


@pytest.mark.slow
@pytest.mark.parametrize("holdout", ["none", "witness"])
def test_improve_again_has_all_that_was_given(ready: Desk, holdout: str) -> None:
    """More rounds, at more effort. Who was held out is, and who was not is not."""
    names = [
        "--judge",
        ready.judge("a").spec,
        "--judge",
        ready.judge("b", "print(json.dumps(reply()))  # b").spec,
    ]
    witness = ready.judge("c", "print(json.dumps(reply())) # c").spec
    held_out = holdout if holdout == "none" else witness
    worker = ready.worker("worker", "put(read() + b'x\\n')").spec
    given = [*names, *BARS, "--worker", worker, "--holdout", held_out, "--sure", "97"]
    given += ["--max-looks", "7", "--max-calls", "40", "--max-diff", "30", "--dry-run"]
    before = ["improve", "note.md", "-r", "rubric.yaml", *given]
    done = ready.run(*before, "--rounds", "1", "--effort", "quick")
    words = next_of(done)
    assert words[-2:] == ["--effort", "thorough"] and words.count("--effort") == 1
    assert value_of(words, "--rounds") == "2" and value_of(words, "--holdout") == held_out
    again = ready.run(*words, "--json").json
    assert read_back(words[2:]) == read_back([*before[2:], "--rounds", "2", *words[-2:]])
    assert again["contract"] == ready.run("show", "last", "--json").json["contract"]
    assert again["belief"]["max_looks"] == 7 and again["limits"]["rounds"] == 2
    assert again["limits"]["calls"] == 40
