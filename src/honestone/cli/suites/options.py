"""The options of `eval SUITE`, taken out of a command's keyword arguments and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from honestone.app.suites.choice import Choice, parse_shard
from honestone.core.numbers import exact

if TYPE_CHECKING:
    from honestone.app.suites.session import SuiteOptions


def take_suite_options(options: dict[str, Any], *, target: str | None, accept_loss: bool, locked: bool) -> SuiteOptions:
    """Raises UsageError for a shard or a gate that cannot be."""
    from honestone.app.suites.comparing import require_gates
    from honestone.app.suites.session import SuiteOptions

    least = options["min_pass_rate"]
    return SuiteOptions(
        artifact=options["artifact"],
        target=target,
        choice=Choice(
            ids=options["cases"],
            tags=options["tags"],
            splits=options["splits"],
            failed=options["failed"],
            errored=options["errored"],
            shard=None if options["shard"] is None else parse_shard(options["shard"]),
        ),
        attempts=options["attempts"],
        attempt_rule=options["attempt_rule"],
        concurrency=options["concurrency"],
        target_timeout=options["target_timeout"],
        min_pass_rate=None if least is None else exact(least),
        baseline=options["baseline"],
        fail_on=require_gates(options["fail_on"]),
        across_contracts=options["across_contracts"],
        update_baseline=options["update_baseline"],
        require_improvement=options["require_improvement"],
        accept_loss=accept_loss,
        locked=locked,
        output=options["output"],
    )
