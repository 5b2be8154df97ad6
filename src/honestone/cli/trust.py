"""`honestone trust`: settings that may run programs, contact hosts and use standard keys; suites
that run code; stores.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.terminal import here, write
from honestone.system.drawing import clean, count

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace


STORE = Path("store")


@click.command(
    "trust", short_help="Trust the settings of a checkout, the code of a suite, or a store."
)
@shared.from_parameters
def trust(
    *,
    file: Annotated[Path | None, Argument()] = None,
    revoke: Annotated[bool, Option("Trust them no longer.")] = False,
) -> int:
    """Trust a settings file (the nearest honestone.toml), with the files of the checkout that it
    names; or a suite of another tool that runs code of its own, with all files that it names.

    Until then, programs and hosts of settings are used only by judges named on the command line,
    and never get a standard key such as OPENAI_API_KEY, and the code of a suite runs only with
    --allow-code. When one of the files changes, it is no longer trusted. Read them first.

    `honestone trust store` takes in the store that was found here, and `honestone trust FOLDER`
    another one: records that another account or machine made, or that came in an archive. What is
    in it is shown.
    """
    from honestone.app.judging import trusting

    workspace = here()
    if file is not None and (file == STORE or file.is_dir()):
        return _trust_store(workspace, None if file == STORE else file, revoke=revoke)
    if file is None or file.suffix == ".toml":
        trusted = trusting.trust(workspace, file, revoke=revoke)
    else:
        trusted = trusting.trust_suite(workspace, file, revoke=revoke)
    write(
        f"{'trusted' if trusted.is_trusted else 'not trusted'}: {clean(workspace.shown(trusted.file))}\n"
    )
    for path in trusted.files:
        write(f"  with {clean(workspace.shown(path))}\n")
    return 0


def _trust_store(workspace: Workspace, named: Path | None, *, revoke: bool) -> int:
    from honestone.app.store_origin import trust_store

    found = trust_store(
        workspace.store_folder if named is None else workspace.path(named).resolve(), revoke=revoke
    )
    write(
        f"{'trusted' if found.is_trusted else 'not trusted'}: {clean(workspace.shown(found.folder))}\n"
    )
    kinds = ", ".join(f"{number} {clean(kind)}" for kind, number in sorted(found.kinds.items()))
    newest = "" if found.newest is None else f", the newest of {clean(str(found.newest))}"
    write(f"  {count(found.runs, 'run')}{f' ({kinds})' if kinds else ''}{newest}\n")
    write(
        f"  {count(found.replies, 'reply', 'replies')}{''.join(f', {clean(one)}' for one in found.judges[:5])}\n"
    )
    return 0
