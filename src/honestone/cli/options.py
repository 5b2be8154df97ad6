"""Options that several commands share, declared once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from honestone.core.errors import UsageError
from honestone.core.loop.named import POLICIES
from honestone.core.loop.proposal import MAX_DIFF, MAX_GROWTH

if TYPE_CHECKING:
    from honestone.app.judging_options import JudgingOptions


class Amount(click.FloatRange):
    """A number within a range. Neither NaN nor infinity is one: as a limit they would be none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number with an end.", param, ctx)
        return number


class Quorum(click.ParamType[int | str]):
    name = "quorum"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return int(value) if str(value).isdecimal() else value  # JudgingOptions refuses what is not a quorum


# Where the context of a command keeps what --store names.
STORE_NAMED: Final = "honestone.store"

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
ABOVE_ZERO = Amount(min=0, min_open=True)


def take_judging(options: dict[str, Any]) -> JudgingOptions:
    """The judging options, taken out of a command's keyword arguments."""
    from honestone.app.judging_options import JudgingOptions

    names = [field.name for field in fields(JudgingOptions) if field.name in options and field.name != "batch"]
    return JudgingOptions(**{name: options.pop(name) for name in names})


def combined(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _keep_store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[STORE_NAMED] = value


# For every command that opens a store; `terminal.here` takes it from the context.
store_option = click.option(
    "--store",
    metavar="URL|DIR",
    expose_value=False,
    callback=_keep_store,
    help="Where runs are kept: postgresql://HOST/DATABASE, or a folder. [HONESTONE_STORE, else .honestone]",
)


def named_store() -> str | None:
    """What --store names, of the command that runs."""
    ctx = click.get_current_context(silent=True)
    found = None if ctx is None else ctx.meta.get(STORE_NAMED)
    return found if isinstance(found, str) else None


def shown_store() -> str:
    """The same for people: an address without its password."""
    from honestone.core.store_address import store_address

    named = named_store() or ""
    address = store_address(named)
    return named if address is None else address.shown


def choice(name: str, words: str, default: str | None = None, *, help: str) -> Callable[[F], F]:
    """One of several words, written `a|b|c`. Without a default the help says what holds."""
    return click.option(
        name, type=click.Choice(words.split("|")), default=default, show_default=default is not None, help=help
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
allow_outside_option = click.option(
    "--allow-outside",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="A folder out of the project that a suite's files may be read from.",
)
accept_loss_option = click.option(
    "--accept-loss", is_flag=True, help="Read another tool's file although something in it has no meaning here."
)
allow_code_option = click.option(
    "--allow-code", is_flag=True, help="Run code of another tool's file, such as promptfoo's javascript assertions."
)
read_as_option = click.option(
    "--as", "read_as", metavar="FORMAT", help="The format of the rubric or suite, instead of what its content says."
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress and no notes.")

browser_options = combined(
    click.option("--browser", is_flag=True, help="Ask a person in the browser instead of the terminal."),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="N",
        help="The port of the page, exactly that one; 0 is any that is free. [7410, or the next that is free]",
    ),
    click.option("--no-open", is_flag=True, help="Print the address of the page and open no browser."),
)


def refuse_without_browser(port: int | None, no_open: bool) -> None:
    """Raises UsageError for options of a page that is not asked for."""
    if port is not None or no_open:
        raise UsageError(f"{'--no-open' if no_open else '--port'} is about the page of --browser", hint="add --browser")


gate_options = combined(
    click.option("--threshold", type=float, metavar="0-100", help="Overall bar instead of the rubric's."),
    click.option(
        "--floor", type=float, metavar="0-100", help="Bar for every criterion instead of the rubric's; 0 is off."
    ),
)

combine_option = choice("--combine", "mean|median|majority|min", help="How votes become one. [mean]")

limit_options = combined(
    click.option("--max-calls", type=click.IntRange(min=0), help="Judge calls, retries included."),
    click.option("--max-usd", type=Amount(min=0), help="Money, where the price is known."),
    click.option("--max-minutes", type=Amount(min=0), help="Time worked on the run."),
)

judging_options = combined(
    click.option("-j", "--judge", "judges", multiple=True, metavar="JUDGE", help="Judge to use; repeat for a panel."),
    gate_options,
    combine_option,
    click.option(
        "--quorum",
        type=Quorum(),
        metavar="N|all",
        help="Judges that must answer, and suffice; `all` counts those not installed too. [the rubric's, else a missing vote leaves the gate open]",
    ),
    choice("--effort", "quick|standard|thorough", "standard", help="Judges, repeats and rounds in one dial."),
    click.option(
        "--repeat",
        type=click.IntRange(1, 20),
        help="Looks per judge; of a suite, runs of each case: one that flips is unstable. [1; thorough: 2 looks]",
    ),
    choice("--evidence", "warn|require|off", "warn", help="What to do when a judge's quote is not found in the text."),
    choice("--ask", "rubric|criterion|item", "rubric", help="What one call to a judge covers."),
    choice("--pack", "none|head|outline", "none", help="What a judge is shown of an artifact that is too big for it."),
    click.option(
        "--max-age", type=Amount(min=0), metavar="DAYS", help="Recorded replies older than this are asked again."
    ),
    click.option("--judge-timeout", type=ABOVE_ZERO, metavar="SECONDS"),
    choice(
        "--sandbox",
        "auto|require|bwrap|landlock|none",
        "auto",
        help="Where checks run code. `require` refuses to run it without a sandbox.",
    ),
    click.option(
        "--embeddings",
        metavar="NAME",
        help="Model that makes the vectors of `similar`: a name of the settings, or PROVIDER:MODEL.",
    ),
    click.option("--pass-env", multiple=True, metavar="NAME", help="A variable that judges and workers may see."),
    allow_outside_option,
    read_as_option,
    click.option(
        "--allow-host",
        multiple=True,
        metavar="HOST[:PORT]",
        help="A host of the settings that may be given a standard key, such as OPENAI_API_KEY.",
    ),
    limit_options,
    click.option("--max-size", type=ABOVE_ZERO, metavar="MB", help="Largest artifact. [10]"),
    click.option("--fresh", is_flag=True, help="Start over: ignore recorded replies."),
    store_option,
)

suite_options = combined(
    click.option(
        "--artifact",
        "subjects",
        multiple=True,
        type=PATH,
        help="What a suite is run on, instead of the one it names; repeat it: a column each.",
    ),
    click.option("--pick", is_flag=True, help="Name the cheapest column that passes; pass if there is one."),
    click.option(
        "--outputs", metavar="RUN|FILE", help="Judge the outputs of a run, of `last`, or of a file, and run no target."
    ),
    click.option(
        "-k",
        "--case",
        "cases",
        multiple=True,
        metavar="ID",
        help="Run this case only, or those that a pattern matches (`refund-*`); repeat it.",
    ),
    click.option("--tag", "tags", multiple=True, help="Run cases with this tag only."),
    click.option("--split", "splits", multiple=True, help="Run this split only: train, val or test."),
    click.option("--shard", metavar="I/N", help="Run every N-th case, from the I-th."),
    click.option("--failed", is_flag=True, help="Run the cases that failed in the suite's last run."),
    click.option("--errored", is_flag=True, help="Run the cases that the last run gave no verdict."),
    click.option("--attempts", type=click.IntRange(1, 100), help="Runs of each case, instead of the suite's."),
    choice("--attempt-rule", "pass@k|pass^k|mean|best", help="What several attempts at a case come to."),
    click.option(
        "--watch", is_flag=True, help="Run again whenever a file changes, until Ctrl-C; ask only what changed."
    ),
    click.option("--concurrency", type=click.IntRange(1, 1000), help="Cases at a time. [8]"),
    click.option("--remote", is_flag=True, help="Have the cases run by runners on other machines (honestone runner)."),
    click.option(
        "--priority", type=int, default=0, help="With --remote: runs of a higher one are worked on first. [0]"
    ),
    click.option("--target-timeout", type=ABOVE_ZERO, metavar="SECONDS"),
    click.option(
        "--min-pass-rate", type=Amount(min=0, max=1), metavar="0-1", help="Share of cases that has to pass. [1]"
    ),
    click.option(
        "--with-skill",
        "with_skills",
        type=PATH,
        multiple=True,
        help="Another skill to install next to the one that is tried; repeat for several.",
    ),
    click.option(
        "--baseline",
        metavar="RUN|PATH|GIT-REF",
        help="Compare with a run, a saved report, another artifact, the artifact at a git ref, or a skill with `without`.",
    ),
    click.option(
        "--fail-on", multiple=True, metavar="GATE", help="regression, missing or delta<0. [delta<0 and missing]"
    ),
    click.option(
        "--require-improvement", is_flag=True, help="Pass only if the lower bound of the interval is above 0."
    ),
    click.option("--across-contracts", is_flag=True, help="Compare runs even if they were judged differently."),
    click.option("--update-baseline", is_flag=True, help="Save this run's report as the baseline's file."),
    click.option("--output", type=PATH, help="Save the JSON report there too."),
)


loop_options = combined(
    click.option(
        "--holdout",
        "holdouts",
        multiple=True,
        metavar="JUDGE",
        help="A judge that certifies and never steers; repeat for more. [the last of two or more judges; none: none]",
    ),
    click.option(
        "--require-calibration",
        is_flag=True,
        help="Refuse a held-out judge that `calibrate` has not measured as it is now, or found lenient.",
    ),
    choice("--require-tier", "high|medium|low", help="Refuse a judge that `audit` has not found to be of that tier."),
    click.option(
        "--policy",
        type=click.Choice(list(POLICIES)),
        help="What is kept, and when it is PASSED. [belief; keep-best where code or a person judges]",
    ),
    click.option(
        "--rounds",
        type=click.IntRange(min=1, max=100),
        help="Rounds after the baseline. [by effort: 8, 16, 24; under keep-best 3, 5, 8]",
    ),
    click.option(
        "--max-diff", type=click.IntRange(min=1), metavar="LINES", help=f"Changed lines in one round. [{MAX_DIFF}]"
    ),
    click.option(
        "--max-growth",
        type=click.FloatRange(min=1),
        metavar="TIMES",
        help=f"How many times its first size the artifact may reach, from 40 KB on. [{MAX_GROWTH:g}]",
    ),
    click.option("--dry-run", is_flag=True, help="Leave the file alone; the best version is kept in the store."),
    click.option("--output", type=PATH, help="Deliver the best version there and leave the file alone."),
    click.option(
        "--deliver",
        type=click.Choice(["best", "passed"]),
        default="best",
        show_default=True,
        help="What is delivered: the best version, or only one that PASSED.",
    ),
)
