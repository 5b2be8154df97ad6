"""Files that ship with the program: rubrics, one YAML file each, and what `init` writes."""

from __future__ import annotations

import difflib
from pathlib import Path

from honestone.core.errors import UsageError

_HERE = Path(__file__).parent


def template_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _HERE.glob("*.yaml")))


def template_text(name: str) -> str:
    """The file as it is shipped. Raises UsageError with the near match for a name that is none."""
    names = template_names()
    if name not in names:
        near = difflib.get_close_matches(
            name.lower().replace("_", "-").replace(" ", "-"), names, n=1
        )
        meant = f"did you mean `{near[0]}`? " if near else ""
        raise UsageError(
            f"there is no template `{name}`", hint=f"{meant}there are: {', '.join(names)}"
        )
    return (_HERE / f"{name}.yaml").read_text("utf-8")


def starter_text(name: str) -> str:
    """A part of what `honestone init` writes, as it is shipped in `starter/`."""
    return (_HERE / "starter" / name).read_text("utf-8")


def agent_text(name: str) -> str:
    """What `honestone agent install` writes for coding agents, as it is shipped in `agent/`."""
    return (_HERE / "agent" / name).read_text("utf-8")
