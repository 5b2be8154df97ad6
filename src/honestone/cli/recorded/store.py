"""`honestone runs store`: where runs are kept, whether it answers, and its runs copied into another
store.
"""

from __future__ import annotations

from typing import Annotated

import click
from msgspec.structs import asdict

from honestone.app.options import Argument, Option
from honestone.app.runs.store import check_store, copy_store, make_roles, migrate_store, store_roles
from honestone.cli import options as shared
from honestone.cli.main import StrictGroup
from honestone.cli.terminal import Progress, dump, here, write
from honestone.ports import StoreState
from honestone.system.drawing import clean


@click.group(
    "store", cls=StrictGroup, short_help="Check the store, migrate it, copy its runs into another."
)
def store() -> None:
    """Where runs are kept: a folder, or a PostgreSQL database that several machines share
    (postgresql://HOST/DATABASE).
    """


@store.command("check", short_help="Whether the store answers, and what it holds.")
@shared.from_parameters
def check(
    *,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Open the store and say what it holds. Exits 2 when it does not answer, is missing or is
    damaged.
    """
    return _print(check_store(here()), as_json=as_json)


@store.command("migrate", short_help="Give the store the newest format.")
@shared.from_parameters
def migrate(
    *,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Make the tables of the store, or bring them to the format of this version. Upgrade honestone
    everywhere first.
    """
    return _print(migrate_store(here()), as_json=as_json)


@store.command("roles", short_help="Make the database roles of a shared store.")
@shared.from_parameters
def roles(
    *,
    as_sql: Annotated[
        bool,
        Option(
            "Print what it would do as SQL, for a user who may make roles: honestone runs store roles --sql | psql DATABASE.",
            name="--sql",
        ),
    ] = False,
    store: shared.StoreName = None,
) -> int:
    """Make the roles honestone_reader, honestone_coordinator and honestone_runner in the database
    of a shared store, and give them their rights. Run it as the owner of the tables, again after
    each `runs store migrate`; docs/cluster.md says what each may do.
    """
    if as_sql:
        write(store_roles(here()))
        return 0
    write(
        f"{clean(make_roles(here()))}: the roles honestone_reader, honestone_coordinator and honestone_runner have their rights\n"
    )
    return 0


@store.command("copy", short_help="Copy every run into another store.")
@shared.from_parameters
def copy(
    *,
    source: Annotated[str, Argument(metavar="FROM")],
    destination: Annotated[str, Argument(metavar="TO")],
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Add every run, reply and version of the store FROM to the store TO. Each is a folder or an
    address; a second copy adds what is new.
    """
    with Progress(quiet=quiet) as progress:
        done = copy_store(here(), source, destination, progress.note)
    if as_json:
        write(dump(asdict(done)) + "\n")
    else:
        added = ", ".join(f"{count} {table}" for table, count in done.added.items())
        write(f"{clean(done.source)} -> {clean(done.destination)}: {added} added\n")
    return 0


def _print(state: StoreState, *, as_json: bool) -> int:
    if as_json:
        write(dump(asdict(state)) + "\n")
    else:
        write(
            f"{clean(state.shown)}\n"
            f"{state.engine} {state.version}, format {state.format}: {state.runs} runs ({state.unfinished} unfinished), "
            f"{state.replies} replies\n"
        )
    return 0
