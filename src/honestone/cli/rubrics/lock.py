"""`honestone rubric lock`: write the contract next to the rubric, or check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.terminal import Progress, dump, here, write
from honestone.system.drawing import clean

if TYPE_CHECKING:
    from honestone.app.rubrics.lock import LockState


@click.command("lock", short_help="Lock rubric, prompt, judges and bars.")
@shared.options("rubric lock")
def lock(
    path: Path, artifacts: tuple[Path, ...], as_json: bool, quiet: bool, **options: Any
) -> int:
    """Write RUBRIC.lock: the contract that `eval` with the same options has, and its id.

    Name the ARTIFACT too where a check runs a program that is part of it.
    """
    from honestone.app.rubrics.lock import lock_rubric

    judging = shared.take_judging(options)
    with Progress(quiet=quiet) as progress:
        locked = lock_rubric(here(), path, artifacts, judging, note=progress.note, **options)
    print_lock(locked, as_json=as_json)
    return 0


def print_lock(locked: LockState, *, as_json: bool) -> None:
    place, contract = str(locked.place), locked.contract.id
    if as_json:
        write(
            dump(
                {
                    "schema": "honestone.lock/1",
                    "path": place,
                    "contract": contract,
                    "state": locked.state,
                }
            )
            + "\n"
        )
        return
    write(f"{clean(place)}: {locked.state}\n  contract  {contract}\n")
