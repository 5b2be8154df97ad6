"""Read by every Python that a command check starts: `python -m NAME` and `python -c` take the
standard library from its own place, whatever files of the same names the artifact brings. Every
version of Python from 3.8 has to understand it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def protect() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != here]
    this = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")  # the system's own
    except ImportError:
        sys.modules["sitecustomize"] = this
    name = module_asked_for(words_of_this_process())
    if name is None:
        return
    installed = [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]
    library = LibraryFirst([place for place in sys.path if place not in installed])
    top = name.partition(".")[0]
    if not top or top in sys.builtin_module_names or library.find_spec(top) is not None:
        sys.meta_path.insert(0, library)  # type: ignore[arg-type]
    elif holds(os.getcwd(), top) and any(holds(place, name) for place in installed):
        sys.stderr.write(
            f"`{name}` is in the artifact and installed as well: it is not clear which is meant\n"
        )
        sys.stderr.flush()
        os._exit(97)


class LibraryFirst:
    """Finds modules in these folders only; first among the finders, it gives them precedence."""

    def __init__(self, places: list[str]) -> None:
        self._places = places
        self._finder = next(
            one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder"
        )

    def find_spec(self, name: str, path: object = None, target: None = None) -> ModuleSpec | None:
        return self._finder.find_spec(name, self._places, target) if path is None else None


def holds(place: str, name: str) -> bool:
    path = os.path.join(place, *name.split("."))
    return os.path.isfile(path + ".py") or os.path.isdir(path)


def words_of_this_process() -> list[str]:
    if hasattr(sys, "orig_argv"):  # from 3.10 on
        return list(sys.orig_argv[1:])
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    except OSError:
        return []


def module_asked_for(words: list[str]) -> str | None:
    """The name after `-m`, nothing after `-c`, None where a file is run."""
    while words and words[0].startswith("-"):
        word, words = words[0], words[1:]
        if word == "--check-hash-based-pycs":
            words = words[1:]
        for at, letter in enumerate(word[1:], 2) if not word.startswith("--") else ():
            if letter == "c":
                return ""
            if letter in "mWX":  # what follows, in this word or the next, belongs to it
                if letter == "m":
                    return word[at:] or (words[0] if words else None)
                words = words if word[at:] else words[1:]
                break
    return None


protect()
