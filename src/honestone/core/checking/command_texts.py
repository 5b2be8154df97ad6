"""Commands in texts: imports of Python code, lines that a shell would run, recipes of a Makefile,
and what settings load.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return (
        [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if node.module
        else []
    )


def commands_of(line: str) -> Iterator[list[str]]:
    """The commands of one line of shell, as words; of a line that cannot be split, what is between
    spaces.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&{}")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.split(r"[\s'\"]+", line)
    words: list[str] = []
    for token in [*_without_redirections(tokens), ";"]:
        if token and set(token) <= set("();|&{}"):
            if words:
                yield words
            words = []
        elif token:
            words.append(token)


def _without_redirections(tokens: Iterable[str]) -> Iterator[str]:
    """What is written to is neither run nor judged by."""
    is_target = False
    for token in tokens:
        if re.fullmatch(r"\d*>>?[|&]?", token):
            is_target = True
        elif is_target or re.match(r"\d*>", token) or token == "<":
            is_target = False
        else:
            yield token


def recipe_lines(text: str, targets: Sequence[str]) -> list[str]:
    """The recipe lines that make would run for these targets (the first where none is named), with
    plain variables put in.
    """
    lines, needs = _rules_of(text.replace("\\\n", " "))
    pattern = [name for name in lines if "%" in name or "$" in name]
    waiting = list(targets) or [name for name in lines if not name.startswith(".")][:1]
    seen: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = None
            waiting += needs.get(name, ())
            waiting += [] if name in lines else pattern
    found = [line for name in seen for line in lines.get(name, ())]
    return [line.replace("$$", "$") for line in _with_variables(found, text)]


def makefiles_included(text: str) -> list[str]:
    """The words of the `include` lines of a Makefile, with plain variables put in."""
    lines = re.findall(r"^ *(?:-include|sinclude|include)[ \t]+([^#\n]*)", text, re.MULTILINE)
    plain = [re.sub(r"\$[({]wildcard ([^)}]*)[)}]", r"\1", line) for line in lines]
    return [word for line in _with_variables(plain, text) for word in line.split()]


def _with_variables(lines: list[str], text: str) -> list[str]:
    variables = {
        "MAKE": "make",
        "CURDIR": ".",
        **dict(
            re.findall(r"^([A-Za-z_][\w.-]*)\s*(?:::|:|\?|\+)?=[ \t]*(.*)$", text, re.MULTILINE)
        ),
    }
    for _ in range(4):
        lines = [
            re.sub(r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], match[0]), line)
            for line in lines
        ]
    return lines


def _rules_of(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The rules of a Makefile: for each target its recipe lines and what it needs."""
    lines: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("\t"):
            for name in current:
                lines[name].append(line.strip().lstrip("@-+"))
        elif rule := re.match(r"([^\s#=:][^#=:]*?)\s*::?(?!=)\s*([^;=]*)(?:;(.*))?$", line):
            current = rule[1].split()
            for name in current:
                lines.setdefault(name, []).extend([rule[3].strip()] if rule[3] else [])
                needs.setdefault(name, []).extend(rule[2].split())
    return lines, needs


def scripts_in(data: bytes | None) -> Mapping[str, str]:
    try:
        scripts = json.loads(data or b"{}").get("scripts", {})
        return {name: value for name, value in scripts.items() if isinstance(value, str)}
    except (ValueError, AttributeError, RecursionError):
        return {}


# Keys of settings whose values name files that are read as further settings or run as code.
_LOADING_KEY: Final = re.compile(
    r"extends?|inherit[-_]from|base[-_]?config|includes|imports?|plugins?|load[-_]plugins|requires?"
    r"|presets?|setup_?\w*|\w*_?(?:setup|teardown)(?:_?files?)?|bootstrap|support_?file|resolver"
    r"|\w*_?environment|transforms?|\w*reporters?|runner|loaders?|dotenv(?:-\w+)?|env[-_]?files?"
    r"|rules?_?dir\w*|rulesets?|styles_?path|custom_?rules|rule_?paths?|formatters?|parsers?",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"""(?m)(?:^|[\s{,;<])["']?([\w.-]{2,40})["']?[ \t]*(?::?=|:)""")
# Words of commands, imports and includes in settings of any form.
_LOADING_WORDS: Final = re.compile(
    r"""(?:^|\s)(?:-p|-r|-c|--require|--import|--loader|--config|--plugin)[ =]+["']?([\w./@-]+)"""
    r"""|(?:\bfrom|\bimport\??|\brequire|\binclude|^mod\??(?:[ ]\w+)?)(?:[ ]+|[ ]*\([ ]*)["']([^"'\n]+)["']""",
    re.MULTILINE,
)
_MOST_OF_A_SETTING: Final = 200_000


def words_loaded_by(settings: str) -> list[str]:
    """Words of a file of settings that may name further settings or code, by the customs of many
    programs: what is a file is for the caller to see. Lists of what is looked at (`include`,
    `files`, `paths`) are not among them.
    """
    text = settings[:_MOST_OF_A_SETTING]
    found = [word for pair in _LOADING_WORDS.findall(text) for word in pair if word]
    keys = list(_KEY.finditer(text))
    ends = [key.start() for key in keys[1:]] + ([len(text)] if keys else [])
    below: int | None = None  # the column of a loading key whose table this is
    for key, end in zip(keys, ends, strict=True):
        before = text[text.rfind("\n", 0, key.start(1)) + 1 : key.start(1)]
        is_first, column = not before.strip(" \t\"'"), len(before)
        if is_first and below is not None and column <= below:
            below = None
        loads = bool(_LOADING_KEY.fullmatch(key[1].rpartition(".")[2]))
        if loads and is_first:
            below = column
        if loads or (is_first and below is not None):
            found += re.findall(r"[\w./@$<>{}+-]+", text[key.end() : end])
    return list(dict.fromkeys(found))
