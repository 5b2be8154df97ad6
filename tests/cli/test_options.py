"""Options are declared once: what a door shows or refuses is what the declaration says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import pytest

from honestone.app import keywords
from honestone.app.agents.hosts import HOSTS
from honestone.app.convert import RUBRIC_FORMATS
from honestone.app.convert import SUITE_FORMATS as WRITTEN_FORMATS
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Argument, Option, build, declared, require_valid
from honestone.app.stages.evaluate import DEFAULT_TARGET, DEFAULT_THRESHOLD
from honestone.app.trust.noise import LOOKS
from honestone.cli.demo import EXAMPLES, FOLDER
from honestone.cli.main import cli
from honestone.cli.options import from_parameters
from honestone.cli.terminal import FORMATS
from honestone.core.audit.verdict import Tier
from honestone.core.errors import UsageError
from honestone.core.statistics.agreement import Level
from honestone.report.documents import KINDS
from honestone.report.formats import RENDERERS


def option(path: str, name: str) -> click.Parameter:
    command: click.Command | None = cli
    context = click.Context(cli)
    for word in path.split():
        assert isinstance(command, click.Group)
        command = command.get_command(context, word)
    assert command is not None
    return next(one for one in command.params if name in one.opts)


def help_of(path: str, name: str) -> str:
    found = option(path, name)
    assert isinstance(found, click.Option)
    return found.help or ""


@pytest.mark.parametrize(
    ("path", "name", "known"),
    [
        ("agreement", "--level", Level),
        ("audit", "--require-tier", reversed(Tier)),
        ("agent install", "--agent", HOSTS),
        ("rescore", "--format", FORMATS),
        ("show", "--schema", KINDS),
        ("suite convert", "--to", WRITTEN_FORMATS),
        ("rubric convert", "--to", RUBRIC_FORMATS),
        ("demo", "name", EXAMPLES),
    ],
)
def test_the_choices_are_those_of_the_code(path: str, name: str, known: object) -> None:
    kind = option(path, name).type
    assert isinstance(kind, click.Choice)
    assert list(kind.choices) == [str(one) for one in known]  # type: ignore[attr-defined]


def test_the_figures_are_those_of_the_code() -> None:
    assert f"[{FOLDER};" in help_of("demo", "--dir")
    assert option("noise", "-n").default == LOOKS
    assert option("stage evaluate", "--eval-threshold").default == DEFAULT_THRESHOLD
    assert f"[{DEFAULT_TARGET}]" in help_of("stage run", "--target")


def test_a_flag_can_be_left_open() -> None:
    """Given, denied, or left out."""

    @click.command()
    @from_parameters
    def command(
        project: Annotated[bool | None, Option(name="--project/--user")] = None,
    ) -> bool | None:
        return project

    results = [
        command.main(words, standalone_mode=False) for words in ([], ["--user"], ["--project"])
    ]
    assert results == [None, False, True]


def test_a_parameter_becomes_an_option_of_its_type() -> None:
    @click.command()
    @from_parameters
    def command(
        *,
        files: Annotated[tuple[Path, ...], Argument()],
        limit: Annotated[int | None, Option(min=1, max=3)] = None,
        above: Annotated[float, Option(above=0)] = 1.0,
        judging: JudgingOptions,
    ) -> tuple[object, ...]:
        return files, limit, above, judging.ask

    words = ["a", "b", "--limit", "2", "--ask", "item"]
    found = command.main(words, standalone_mode=False)
    assert found == ((Path("a"), Path("b")), 2, 1.0, "item")
    for wrong in (["--limit", "4"], ["--above", "0"], ["--above", "inf"], ["--ask", "all"]):
        with pytest.raises(click.UsageError):
            command.main(["a", *wrong], standalone_mode=False)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("repeat", 21, "`repeat` is 21, but must be from 1 to 20"),
        ("judge_timeout", 0, "`judge_timeout` is 0, but must be above 0"),
        ("max_age", float("nan"), "`max_age` is nan, but must be at least 0"),
        ("evidence", "maybe", "`evidence` is 'maybe', but must be one of warn, require, off"),
        ("pack", None, "`pack` is None, but must be one of none, head, outline"),
    ],
)
def test_a_request_refuses_what_the_command_refuses(field: str, value: object, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        build(JudgingOptions, **{field: value})
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("--share", "80%"),
            "--share is '80%', but must be a number from 0 to 1: did you mean 0.8?",
        ),
        (("--share", "80"), "--share is 80.0, but must be from 0 to 1: did you mean 0.8?"),
        (("--share", "0,8"), "did you mean 0.8?"),
        (("--share", "most"), "--share is 'most', but must be a number from 0 to 1, such as 0.8"),
        (("--share", "nan"), "--share is nan, but must be from 0 to 1, such as 0.8"),
        (("--bar", "70%"), "--bar is '70%', but must be a number from 0 to 100: did you mean 70?"),
        (("--bar", "170"), "--bar is 170.0, but must be from 0 to 100, such as 70"),
        (("--sure", "95%"), "must be a number from 50 to 99.9: did you mean 95?"),
        (("--looks", "1.5"), "--looks is '1.5', but must be a whole number from 1 to 20"),
        (("--looks", "3.0"), "did you mean 3?"),
        (("--looks", "0"), "--looks is 0, but must be from 1 to 20"),
    ],
)
def test_a_wrong_number_gets_its_range_and_what_is_probably_meant(
    words: tuple[str, str], why: str
) -> None:
    """In our words, and never in those of click ("is not a valid float range")."""

    @click.command("try")
    @from_parameters
    def command(
        share: Annotated[float | None, Option(min=0, max=1)] = None,
        bar: Annotated[float | None, Option(min=0, max=100, show_range=False)] = None,
        sure: Annotated[float | None, Option(metavar="50-99.9")] = None,
        looks: Annotated[int | None, Option(min=1, max=20)] = None,
    ) -> tuple[object, ...]:
        return share, bar, sure, looks

    with pytest.raises(click.UsageError) as refused:
        command.main(list(words), standalone_mode=False)
    assert why in refused.value.message
    fine = ["--share", "1", "--bar", "0", "--sure", "95", "--looks", "20"]
    assert command.main(fine, standalone_mode=False) == (1.0, 0.0, 95.0, 20)


def test_what_a_command_alone_decides_is_not_built_from_what_was_typed() -> None:
    """`--require-calibration` of a loop is about its held-out judges, not about those that decide."""
    assert build(JudgingOptions, require_calibration=True).require_calibration is False
    shared = {one.field for one in declared(JudgingOptions) if one.is_shared}
    assert {"allow_code", "require_calibration", "require_tier"}.isdisjoint(shared)
    require_valid(JudgingOptions(repeat=20), JudgingOptions)


def test_the_keywords_of_python_are_the_options() -> None:
    fields = {one.field for one in declared(JudgingOptions)} - {"judges"}
    assert set(keywords.JudgingKeywords.__annotations__) == fields


def test_show_takes_every_format_of_the_table() -> None:
    """A report format is entered in one table, and `show --format` takes it from there."""
    choice = option("show", "--format").type
    assert isinstance(choice, click.Choice)
    assert {form for _, form in RENDERERS} <= set(choice.choices)
