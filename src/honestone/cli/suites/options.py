"""The options of `eval SUITE`, taken out of a command's keyword arguments and checked, and the formats of what it prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.app.suites.plan import CaseChoice, parse_shard
from honestone.cli.terminal import render, write, write_page
from honestone.core.numbers import exact

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.app.judging_options import JudgingOptions
    from honestone.app.suites.plan import SuiteRequest


_AS_GIVEN = (
    "pick attempts attempt_rule concurrency target_timeout baseline across_contracts update_baseline "
    "require_improvement"
).split()


def take_suite_request(
    suite: Path,
    judging: JudgingOptions,
    options: dict[str, Any],
    *,
    targets: tuple[str, ...],
    accept_loss: bool,
    locked: bool,
) -> SuiteRequest:
    """Raises UsageError for a shard or a gate that cannot be."""
    from honestone.app.suites.compare import require_gates
    from honestone.app.suites.plan import SuiteRequest

    least, shard = options["min_pass_rate"], options["shard"]
    return SuiteRequest(
        suite=suite,
        judging=judging,
        targets=targets,
        artifacts=options["subjects"],
        choice=CaseChoice(
            ids=options["cases"],
            tags=options["tags"],
            splits=options["splits"],
            failed=options["failed"],
            errored=options["errored"],
            shard=None if shard is None else parse_shard(shard),
        ),
        min_pass_rate=None if least is None else exact(least),
        fail_on=require_gates(options["fail_on"]),
        accept_loss=accept_loss,
        locked=locked,
        **{name: options[name] for name in _AS_GIVEN},
    )


SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
COMPARISON_FORMATS = ("text", "markdown", "json", "html")


def print_suite(document: Mapping[str, object] | Struct, form: str) -> None:
    (write_page if form == "html" else write)(render(document, form))
