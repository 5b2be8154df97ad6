"""Which folder this account's records are in. A folder with records that it did not make is looked
at, never used and never written: they may be answers that somebody wrote by hand. `honestone trust
store` takes them in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from honestone.core.errors import StoreError
from honestone.system.trust.own_stores import (
    NAMES,
    TRUST_VARIABLE,
    Origin,
    claim,
    disown,
    holds_no_database,
    is_marked,
    origin_of,
    own_place_for,
)

_reported: set[str] = set()


def own_store_folder(folder: Path, *, is_named: bool, say: Callable[[str], None] | None) -> Path:
    """The folder, or the one that the account uses instead. Each sentence is said once a process.

    Raises StoreError for a folder that git tracks, or a link that the person did not name.
    """
    require_untracked(folder)
    if not is_named and os.path.islink(folder):
        raise StoreError(
            f"`{folder}` is a link, and a store is not written through links",
            hint="remove it, or name the folder itself with HONESTONE_HOME",
        )
    if origin_of(folder) is not Origin.FOREIGN or holds_no_database(folder):
        return folder
    if _was_made_here(folder) and claim(folder):
        _report(
            say,
            f"note: the store {folder} was made here by an older version; it is marked as yours from now on",
        )
        return folder
    try:
        own = own_place_for(folder)
    except RuntimeError:
        raise StoreError(
            f"the store {folder} was not made by this account, which has no home to keep another one in",
            hint=f"if it is yours, {TRUST_VARIABLE}={folder} uses it",
        ) from None
    _report(
        say,
        f"note: the store {folder} was not made by this account: none of its records is used, and runs are kept in {own} "
        "(`honestone trust store` shows what is in it and takes it in)",
    )
    return own


def require_own(folder: Path) -> None:
    """Raises StoreError where a folder holds records that this account did not make: a copy of them
    would be its own.
    """
    if origin_of(folder) is Origin.FOREIGN and not (_was_made_here(folder) and claim(folder)):
        raise StoreError(
            f"the store {folder} was not made by this account, and copied records would be taken for its own",
            hint=f"look at what is in it and take it in: honestone trust {folder}",
        )


def require_untracked(folder: Path) -> None:
    """Raises StoreError where git tracks records in the folder."""
    if not os.path.lexists(folder):
        return
    from honestone.system.trust.git_index import tracked_in

    tracked = tracked_in(folder, NAMES)
    if tracked is not None:
        raise StoreError(
            f"git tracks `{tracked}`: a store that comes with a checkout cannot answer for judges",
            hint=f"git rm -r --cached {tracked}; or name another folder with HONESTONE_HOME",
        )


def allows_settings(path: Path, say: Callable[[str], None] | None) -> bool:
    """Whether settings above the folder are used that are somebody else's; else a sentence says
    that they are not.
    """
    from honestone.system.trust.trust import Trust

    is_named = Trust(path, ()).is_on_record
    if not is_named:
        _report(
            say,
            f"note: the settings {path} belong to another user and are not used (`honestone trust {path}` uses them)",
        )
    return is_named


def _report(say: Callable[[str], None] | None, sentence: str) -> None:
    if say is not None and sentence not in _reported:
        _reported.add(sentence)
        say(sentence)


def _was_made_here(folder: Path) -> bool:
    if is_marked(folder):
        return False
    from honestone.adapters.stores.sqlite_file.older import was_made_here

    return was_made_here(folder)


class StoreContents(Struct, frozen=True, kw_only=True):
    """What is in a store that is to be taken in. `kinds` counts its runs; `odd` names triggers and
    views, which no version of ours makes.
    """

    folder: Path
    runs: int
    kinds: dict[str, int]
    replies: int
    judges: tuple[str, ...]
    newest: str | None
    odd: tuple[str, ...]
    is_trusted: bool


def trust_store(folder: Path, *, revoke: bool) -> StoreContents:
    """Looks at a store and takes it in as this account's, or no longer. Raises StoreError where
    there is none, where git tracks it, and where it holds what runs code of its own.
    """
    from honestone.adapters.stores.sqlite_file.older import contents_of

    require_untracked(folder)
    found = contents_of(folder)
    if revoke:
        disown(folder)
    elif found.odd:
        raise StoreError(
            f"the store {folder} has {', '.join(found.odd)}, which no version of honestone makes",
            hint="do not use it; copy nothing from it",
        )
    elif not claim(folder):
        raise StoreError(
            "the store cannot be marked as yours: the state folder of your account cannot be written",
            hint=f"set XDG_STATE_HOME to a folder that can, or {TRUST_VARIABLE}={folder}",
        )
    return StoreContents(
        folder=folder,
        runs=sum(found.kinds.values()),
        kinds=found.kinds,
        replies=found.replies,
        judges=found.judges,
        newest=found.newest,
        odd=found.odd,
        is_trusted=origin_of(folder) is Origin.OWN,
    )
