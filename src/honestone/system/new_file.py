"""Writing a file that a command makes: never over one that is there, unless asked to."""

from __future__ import annotations

from pathlib import Path

from honestone.core.errors import FileError


def refuse_overwriting(output: Path | None, force: bool, *, example: str) -> None:
    """Raises FileError for a folder, and for a file that is there unless `force`. `example` is a
    name to propose.
    """
    if output is None:
        return
    if output.is_dir():
        raise FileError(f"{str(output)!r} is a folder", hint=f"name a file: --output {example}")
    if not force and (output.exists() or output.is_symlink()):
        raise FileError(
            f"{str(output)!r} is there already",
            hint="--force writes over it, --output FILE writes another one",
        )


def write_new(output: Path, text: str, force: bool, *, example: str) -> None:
    """A file that was not there, or with `force` the old bytes or the new ones at every moment."""
    from honestone.system.files import write_atomically

    data = text.encode("utf-8", "replace")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if force:
            write_atomically(output, data, through_links=True)
            return
        with output.open("xb") as stream:
            stream.write(data)
    except FileExistsError:
        refuse_overwriting(output, force=False, example=example)
    except OSError as error:
        raise FileError(
            f"cannot write {str(output)!r}: {error.strerror or error}",
            hint="name a place that can be written: --output FILE",
        ) from None
