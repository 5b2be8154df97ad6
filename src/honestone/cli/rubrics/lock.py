"""`honestone rubric lock`: write the contract next to the rubric, or check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.judging.judging_options import AcceptLoss, JudgingOptions
from honestone.app.options import Argument
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, dump, here, write
from honestone.system.drawing import clean

if TYPE_CHECKING:
    from honestone.app.judging.lock import LockState


@click.command("lock", cls=Grouped, short_help="Lock rubric, prompt, judges and bars.")
@shared.from_parameters
def lock(
    *,
    path: Annotated[Path, Argument(metavar="RUBRIC")],
    artifacts: Annotated[tuple[Path, ...], Argument(metavar="[ARTIFACT]...")] = (),
    only_check: shared.OnlyCheck = False,
    accept_loss: AcceptLoss = False,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Write RUBRIC.lock: the contract that `eval` with the same options has, and its id.

    Name the ARTIFACT too where a check runs a program that is part of it.
    """
    from honestone.app.judging.lock import lock_rubric

    judging = judging
    with Progress(quiet=quiet) as progress:
        locked = lock_rubric(
            here(),
            path,
            artifacts,
            judging,
            note=progress.note,
            only_check=only_check,
            accept_loss=accept_loss,
        )
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
