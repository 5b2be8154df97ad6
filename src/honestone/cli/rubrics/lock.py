"""`honestone rubric lock`: write the contract beside the rubric; `--check` and `eval --locked` hold against it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.contract import Contract
from honestone.core.errors import UsageError

if TYPE_CHECKING:
    from honestone.app.setup import JudgingOptions


@click.command("lock", short_help="Lock rubric, prompt, judges and bars.")
@click.argument("path", type=shared.PATH, metavar="RUBRIC")
@click.argument("artifacts", nargs=-1, type=shared.PATH, metavar="[ARTIFACT]...")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 2 when something changed.")
@click.option(
    "--accept-loss", is_flag=True, help="Read another tool's file although something in it has no meaning here."
)
@shared.judging_options
@shared.json_option
@shared.quiet_option
def lock(
    path: Path,
    artifacts: tuple[Path, ...],
    only_check: bool,
    accept_loss: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Write RUBRIC.lock: the contract that `eval` with the same options has, and its id.

    Name the ARTIFACT too where a check runs a program that is part of it.
    """
    from honestone.app.setup import JudgingOptions
    from honestone.cli.progress import Progress

    judging = JudgingOptions.take(options)
    with Progress(quiet=quiet) as progress:
        contract = _contract(
            path, artifacts, judging, accept_loss=accept_loss, note=progress.note, may_be_absent=only_check
        )
    if only_check:
        tell_lock(check_lock(path, contract), contract, "holds", as_json=as_json)
        return 0
    place, said = write_lock(path, contract)
    tell_lock(place, contract, said, as_json=as_json)
    return 0


def write_lock(path: Path, contract: Contract) -> tuple[Path, str]:
    """Writes the lock beside a rubric or suite. Returns its place, and whether it was `written` or `unchanged`."""
    from honestone.formats.lock_file import dump_lock, lock_path
    from honestone.system.files import write_atomically

    place, text = lock_path(path), dump_lock(contract).encode()
    if place.exists() and place.read_bytes() == text:
        return place, "unchanged"
    write_atomically(place, text)
    return place, "written"


def check_lock(rubric_path: Path, contract: Contract) -> Path:
    """The lock's place, where the contract is what it holds. Raises ContractMismatch (exit 2) with the difference in words
    when it is not, and FileError when there is no lock."""
    from honestone.formats.lock_file import lock_path, read_lock, require_locked

    place = lock_path(rubric_path)
    require_locked(read_lock(place), contract, place)
    return place


def _contract(
    path: Path,
    artifacts: tuple[Path, ...],
    judging: JudgingOptions,
    *,
    accept_loss: bool,
    note: Any,
    may_be_absent: bool,
) -> Contract:
    """The contract as `eval` makes it: same rubric, seats, checks and options."""
    from honestone.app.setup import (
        choose_judges,
        contract_for,
        load_rubric,
        make_checker,
        make_context,
        make_seats,
        preflight_checks,
        settings_here,
    )

    settings = settings_here()
    rubric = load_rubric(path, threshold=judging.threshold, floor=judging.floor, accept_loss=accept_loss, note=note)
    checker = make_checker(rubric, path, judging, artifacts)
    preflight_checks(rubric, checker)
    seats = make_seats(choose_judges(judging, rubric, settings), make_context(judging, settings), looks=judging.looks)
    for seat in seats:
        if seat.judge.identity.get("kind") == "absent" and not may_be_absent:
            raise UsageError(
                f"the judge `{seat.id}` is not here, so what it would be cannot be locked",
                hint="`honestone doctor` says how to get it; or lock where it is installed",
            )
    return contract_for(rubric, seats, checker, judging)


def tell_lock(place: Path, contract: Contract, said: str, *, as_json: bool) -> None:
    from honestone.report.draw import clean

    if as_json:
        write(dump({"schema": "honestone.lock/1", "path": str(place), "contract": contract.id, "state": said}) + "\n")
        return
    write(f"{clean(str(place))}: {said}\n  contract  {contract.id}\n")
