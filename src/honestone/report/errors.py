"""What went wrong, in lines for stderr: `error:` what, the place, `hint:` what to do."""

from __future__ import annotations

from honestone.core.errors import HonestoneError, Interrupted, RubricError, SettingsError, StoreAway
from honestone.system.drawing import clean


def error_text(error: HonestoneError, *, command: str = "") -> str:
    """An error of ours. A file with several errors names them all. `command` resumes what was
    interrupted.
    """
    if isinstance(error, Interrupted):
        return f"{clean(error.message)}\n  {clean(error.hint or command)}".rstrip()
    if isinstance(error, StoreAway) and command:
        return f"error: {clean(error.message)}\nhint: when it answers again, resume with:\n  {clean(command)}"
    errors = error.errors or (error,)
    lines = []
    for one in errors:
        lines += [f"error: {clean(one.message)}"]
        lines += [f"  {clean(one.place)}"] if one.place else []
        lines += [f"hint: {clean(one.hint)}"] if one.hint else []
    if not any(one.hint for one in errors):
        lines.append(f"hint: {_general_hint(error)}")
    return "\n".join(lines)


def _general_hint(error: HonestoneError) -> str:
    """What to do where the error itself does not say."""
    if isinstance(error, RubricError):
        return "`honestone rubric check FILE` checks it again; `honestone rubric show --schema` lists every key"
    if isinstance(error, SettingsError):
        return "`honestone doctor` says what can be named; settings are in honestone.toml"
    return "`honestone --help`, and `--help` after any command, say what can be asked"


def system_error_text(error: OSError) -> str:
    """The disk or the system refused something that no part of ours foresaw."""
    where = f" ({error.filename})" if error.filename else ""
    hint = "make room or give the rights, then run the same command: what is on record is kept"
    return f"error: {clean(f'{error.strerror or error}{where}')}\nhint: {hint}"


def usage_text(message: str, command: str | None) -> str:
    """A command line that cannot be read."""
    line = f"error: {clean(message[:1].lower() + message[1:].rstrip('.'))}"
    return line if command is None else f"{line}\nhint: {command} --help"
