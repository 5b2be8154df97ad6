"""Which judges are one voter, whatever they are called and however their script is started."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from honestone import ports
from honestone.core.json_value import late_pattern


def voter(judge: ports.Judge, folder: Path = Path()) -> object:
    """Equal for judges that are one, whatever they are called; functions are compared as objects."""
    return essence(unwrapped(judge.identity, folder)), judge.function if isinstance(
        judge, ports.FunctionalJudge
    ) else None


_INTERPRETERS: Final = late_pattern(r"(python|pypy|bash|sh|zsh|dash|node|deno|perl|ruby|php)[\d.]*")
_LAUNCHERS: Final = frozenset(
    {"env", "nice", "nohup", "timeout", "stdbuf", "setsid", "ionice", "time", "command", "exec"}
)
# What a launcher takes before the program: options, variables, numbers and durations.
_OF_LAUNCHERS: Final = late_pattern(r"-.*|\w+=.*|[\d.]+[smhd]?")


def unwrapped(identity: object, folder: Path) -> object:
    """A judge's identity with the script that a command runs among its words: a module named by
    `-m`, and what `sh -c` is given, are `python j.py`, where that file is in `folder`.
    """
    if not isinstance(identity, Mapping):
        return identity
    command = identity.get("command")
    if not isinstance(command, Sequence) or isinstance(command, str):
        return {key: unwrapped(value, folder) for key, value in identity.items()}
    words = _script_named(command, folder)
    if words == command:
        return identity
    from honestone.system.processes.commands import describe_command

    return {**identity, **describe_command(words, folder)}


def _script_named(words: Sequence[str], folder: Path) -> Sequence[str]:
    place = _after_launchers(words)
    rest = words[place:]
    if len(rest) < 3 or not _INTERPRETERS.fullmatch(_program_name(rest[0])):
        return words
    options = (n for n, word in enumerate(rest[1:], 1) if _TAKES_CODE_LAST.fullmatch(word))
    option = next(options, None)
    if option is None or option + 1 == len(rest):
        return words
    if any(not word.startswith("-") for word in rest[1:option]):
        return words
    named, more = rest[option + 1], rest[option + 2 :]
    if rest[option].endswith("c"):
        is_shell = _program_name(rest[0]).endswith("sh")
        if not is_shell or more or _OF_SHELLS.search(named):
            return words
        try:
            inner = shlex.split(named)
        except ValueError:
            return words
        return _script_named(inner, folder) if inner else words
    path = named.replace(".", "/")
    for script in (f"{path}.py", f"{path}/__main__.py"):
        if (folder / script).is_file():
            return [rest[0], script, *more]
    return words


_TAKES_CODE_LAST: Final = late_pattern(r"-[a-zA-Z]*[cm]")
# What makes a line of a shell more than one plain command.
_OF_SHELLS: Final = late_pattern(r"[;&|<>$`(){}*?~\n\\]|^\s*\w+=")


def _after_launchers(words: Sequence[str]) -> int:
    place = 0
    while place < len(words) and _program_name(words[place]) in _LAUNCHERS:
        place += 1
        while place < len(words) and _OF_LAUNCHERS.fullmatch(words[place]):
            place += 1
    return place


def essence(identity: object) -> object:
    """A judge's identity with every word of a command that names a file replaced by what is in the
    file. How a script is started is not part of it: `python j.py`, `env python3 -u j.py` and
    `./j.py` are one judge.
    """
    if not isinstance(identity, Mapping):
        return identity
    files = identity.get("files", {})
    if "command" in identity and isinstance(files, Mapping):
        words = [files.get(word, word) for word in _without_start(identity["command"], files)]
        return {**{k: v for k, v in identity.items() if k != "files"}, "command": words}
    return {key: essence(value) for key, value in identity.items()}


def _without_start(words: Sequence[str], files: Mapping[str, object]) -> Sequence[str]:
    """A command from its script on, where all before it are launchers and one interpreter with
    options.
    """
    rest = words[_after_launchers(words) :]
    if not rest or not _INTERPRETERS.fullmatch(_program_name(rest[0])):
        return rest or words
    takes_value = False
    for number, word in enumerate(rest[1:], 1):
        if word in files and not takes_value:
            return rest[number:]
        if word in _TAKE_CODE or not (takes_value or word.startswith("-")):
            return words
        takes_value = word in _TAKE_A_VALUE and not takes_value
    return words


_TAKE_CODE: Final = ("-c", "-m", "-e", "-")
_TAKE_A_VALUE: Final = ("-W", "-X", "--require", "--import")


def _program_name(word: str) -> str:
    return word.rpartition("/")[2]
