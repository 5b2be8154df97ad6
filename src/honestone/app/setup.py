"""Old names, for the modules that do not take a Workspace yet. To be deleted with the last of them."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.app import seats as _seats
from honestone.app.checking import checks_of, contract_for, make_checker, never_judged, preflight_checks
from honestone.app.judging_options import EFFORTS, JudgingOptions, limit, max_bytes
from honestone.app.rubrics.loading import load_rubric, with_bars
from honestone.app.seats import make_pair_seats, make_panel, make_seats, refuse_if_all_refuse, refuse_too_big
from honestone.app.terminal import terminal_person
from honestone.app.workspace import Workspace

if TYPE_CHECKING:
    from honestone.adapters.registry import AdapterContext
    from honestone.core.rubric import Rubric
    from honestone.formats.settings import Settings
    from honestone.ports import Store

__all__ = [
    "EFFORTS",
    "JudgingOptions",
    "checks_of",
    "choose_judges",
    "contract_for",
    "judging_defaults",
    "limit",
    "load_rubric",
    "make_checker",
    "make_context",
    "make_pair_seats",
    "make_panel",
    "make_seats",
    "max_bytes",
    "never_judged",
    "open_store_for",
    "preflight_checks",
    "refuse_if_all_refuse",
    "refuse_too_big",
    "settings_here",
    "shown_path",
    "store_folder",
    "with_bars",
]


def judging_defaults(*, judges: tuple[str, ...] = ()) -> JudgingOptions:
    return JudgingOptions(judges=judges)


def _here() -> Workspace:
    return Workspace.at(Path(), person=terminal_person)


def settings_here() -> Settings:
    return _here().settings


def store_folder(settings: Settings) -> Path:
    return _here().store


def open_store_for(settings: Settings, *, readonly: bool = False) -> AbstractContextManager[Store]:
    return _here().open_store(readonly=readonly)


def make_context(options: JudgingOptions, settings: Settings, **extra: Any) -> AdapterContext:
    return _seats.make_context(options, _here(), **extra)


def choose_judges(options: JudgingOptions, rubric: Rubric, settings: Settings) -> tuple[str, ...]:
    return tuple(str(judge) for judge in _seats.choose_judges(options, rubric, _here()))


def shown_path(path: Path) -> str:
    """Relative to the working directory where that is shorter to read."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)
