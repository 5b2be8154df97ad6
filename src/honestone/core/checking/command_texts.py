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


def makefiles_included(text: str, place: str = "Makefile") -> list[tuple[str, str]]:
    """The words of the `include` lines of the Makefile at `place`, with variables and functions put
    in, each with what the line says. What only make can tell is a `*` or `**/` in a word; a word
    with nothing else in its last part is left as `$`.
    """
    joined = text.replace("\\\n", " ")
    variables = {**_variables(joined), "MAKEFILE_LIST": place}
    lines = _INCLUDE.findall(joined)
    return [
        (_pattern(word) if _says_which(word) else "$", line.strip())
        for line in lines
        for word in dict.fromkeys(_expanded(line, variables).rstrip(")} \t").split())
    ]


# Also one that make puts together itself: `$(eval include x.mk)`, and in a `define`.
_INCLUDE: Final = re.compile(
    r"(?:^[ \t]*|\beval[ \t]+)(?:-include|sinclude|include)[ \t]+([^#\n]*)", re.MULTILINE
)
_SHELL_FUNCTION: Final = re.compile(r"\$[({]shell[ \t]+((?:[^(){}]|\([^()]*\)|\{[^{}]*\})*)[)}]")


def commands_of_makefile(text: str) -> list[str]:
    """What make itself runs besides recipes: the lines of `$(shell ...)`, and its shell."""
    joined = text.replace("\\\n", " ")
    lines = [*_SHELL_FUNCTION.findall(joined), _variables(joined).get("SHELL", "")]
    return [line.replace("$$", "$") for line in _with_variables(lines, joined) if line]


def asked_for_includes(text: str) -> list[str]:
    """Of these lines, those that say what is included."""
    joined = text.replace("\\\n", " ")
    lines = _with_variables(_INCLUDE.findall(joined), joined)
    return [one for line in lines for one in _SHELL_FUNCTION.findall(line)]


# What stands for a part of a word that only make can tell, until the word is whole.
_UNKNOWN: Final = "\0"
_MOST_EXPANSIONS: Final = 500
_LONGEST_LINE: Final = 20_000


def _pattern(word: str) -> str:
    return re.sub(rf"(?:^|(?<=/)){_UNKNOWN}/", "**/", word).replace(_UNKNOWN, "*")


def _says_which(word: str) -> bool:
    """Whether the last part of a word holds more than what is unknown, so that it is a pattern."""
    is_plain = _UNKNOWN not in word and "$" not in word
    last = word.rpartition("/")[2].replace(_UNKNOWN, "")
    return is_plain or ("$" not in word and bool(re.search(r"\w", last)))


def _expanded(line: str, variables: Mapping[str, str]) -> str:
    """A line of a Makefile with its references put in, the innermost first."""
    for _ in range(_MOST_EXPANSIONS):
        match = re.search(r"\$(?:\(([^(){}$]*)\)|\{([^(){}$]*)\}|([A-Za-z]))", line)
        if match is None or len(line) > _LONGEST_LINE:
            return line
        inner = "".join(one or "" for one in match.groups())
        line = line[: match.start()] + _reference(inner, variables) + line[match.end() :]
    return line


def _reference(inner: str, variables: Mapping[str, str]) -> str:
    """What `$(inner)` may stand for: a variable, one with its endings changed, or a function."""
    if changed := re.fullmatch(r"[\w.-]+:([^=]*)=(.*)", inner.strip()):
        return _with_ending(changed[2], changed[1])
    name, is_call, rest = inner.strip().partition(" ")
    if not is_call:
        return variables.get(name, _UNKNOWN)
    given = [one.strip() for one in rest.split(",")]
    match name:
        case "sort" | "strip" | "wildcard" | "abspath" | "realpath" | "firstword" | "lastword":
            return rest.strip()
        case "dir":
            return " ".join(map(_folder_in_make, rest.split()))
        case "notdir":
            return " ".join(word.rpartition("/")[2] for word in rest.split())
        case "addprefix":
            return " ".join(given[0] + word for word in given[-1].split())
        case "addsuffix":
            return " ".join(word + given[0] for word in given[-1].split())
        case "patsubst" if len(given) == 3:
            return _with_ending(given[1], given[0])
        case "subst" if len(given) == 3 and given[0]:
            return given[2].replace(given[0], given[1])
        case "filter":
            return given[0].replace("%", _UNKNOWN)
        case "foreach" | "filter-out":
            return given[-1]
        case "if":
            return " ".join(given[1:])
        case "or":
            return " ".join(given)
        case "shell" if "|" not in rest:  # `find . -name '*.mk'`
            return " ".join(re.findall(r"[\w./-]*\*[\w.*/-]*", rest)) or _UNKNOWN
    return _UNKNOWN


def _folder_in_make(word: str) -> str:
    folder = word.rpartition("/")[0] or "."
    return f"{_UNKNOWN if _UNKNOWN in word else folder}/"


def _with_ending(new: str, old: str) -> str:
    """Words of which only the ending that they are given is known: any `*.d` of `$(OBJS:.o=.d)`."""
    return new.replace("%", _UNKNOWN) if "%" in old else _UNKNOWN + new


_SET: Final = re.compile(
    r"^(?:[^\s#=:][^#=:\n]*:[ \t]*)?(?:(?:export|override|private) +)*([A-Za-z_][\w.-]*)\s*(\+|:::?|:|\?)?="
    r"[ \t]*([^#\n]*)",
    re.MULTILINE,
)
_CALL: Final = re.compile(r"\$[({]call[ \t]+([\w.-]+)([^(){}]*)[)}]")


def _variables(text: str) -> dict[str, str]:
    """The variables that a Makefile sets, those of one target too; to what `+=` gives, what was
    there is joined.
    """
    found = {"MAKE": "make", "CURDIR": "."}
    found |= _defined(text)
    for name, sign, value in _SET.findall(text):
        found[name] = f"{found.get(name, '') if sign == '+' else ''} {value}".strip()
    return found


def _defined(text: str) -> dict[str, str]:
    """The lines between each `define NAME` and `endef`."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        words = line.split(None, 2)
        if words[:1] == ["define"] and words[1:]:
            name = words[1]
            found[name] = []
        elif words[:1] == ["endef"]:
            name = ""
        elif name:
            found[name].append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


# What variables may make of the lines; where they would make more, they stay as they are.
_MOST_PUT_IN: Final = 2_000_000


def _with_variables(lines: list[str], text: str) -> list[str]:
    variables = _variables(text)
    longest = max(map(len, variables.values()))
    for _ in range(4):
        if sum(line.count("$") for line in lines) * longest > _MOST_PUT_IN:
            return lines
        lines = [
            re.sub(r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], match[0]), line)
            for line in lines
        ]
        lines = [_CALL.sub(lambda call: _called(call, variables), line) for line in lines]
    return lines


def _called(call: re.Match[str], variables: Mapping[str, str]) -> str:
    """The lines of `$(call NAME,A,B)`; of an unknown one, its arguments."""
    given = call[2].split(",")
    if call[1] not in variables:
        return " ".join(given)
    return re.sub(
        r"\$(?:\((\d)\)|\{(\d)\}|(\d))",
        lambda number: "".join(given[int(number[number.lastindex or 0]) :][:1]),
        variables[call[1]],
    )


def _rules_of(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The rules of a Makefile: for each target its recipe lines and what it needs."""
    lines: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    current: list[str] = []
    prefixes = ("\t", *re.findall(r"^\.RECIPEPREFIX\s*[:?]*=[ \t]*(\S)", text, re.MULTILINE))
    for line in text.splitlines():
        if line.startswith(prefixes):
            line = line[1:]
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
# `-p NAME` of pytest and `--require NAME` of others, as a text (`-pNAME` too) or as two of a list.
_NEXT: Final = r"""(?:[\s=]+["']?|["']\s*,\s*["'])"""
_LISTED_WORDS: Final = re.compile(
    rf"""(?:^|[\s"'\[,(=])(?:--(?:require|import|loader|config|plugin){_NEXT}([\w./@-]+))""",
    re.MULTILINE,
)
_PLUGIN_OPTION: Final = re.compile(
    rf"""(?:^|[\s"'\[,(=])-p(?:{_NEXT})?(?!no:)([A-Za-z_./][\w./-]*)""", re.MULTILINE
)
_OTHER_PROGRAMS: Final = re.compile(r"""\b(?:mkdir|cp|install|ssh|scp|docker|tsc)\b[\s"',]+-p""")
# `pytest_plugins` of a conftest, a test or a plugin, and the variable of the environment.
_PLUGINS_NAMED: Final = re.compile(
    r"""\bpytest_plugins\b["']?\s*(?::[^=\n]*)?[+:]?[=:]\s*(\[[^\]]*\]|\([^)]*\)|["'][^"'\n]*["']|[\w.,-]+)"""
    r"""|\bimport_plugin\(\s*["']([\w.]+)["']""",
    re.IGNORECASE,
)
_IMPORT_FOLDERS: Final = re.compile(
    r"""(?:^|[\s"'])(?:pythonpath|python_paths)["']?\s*[=:][ \t]*(\[[^\]]*\]|.*(?:\n[ \t]+.*)*)"""
    r"""|\bPYTHONPATH["']?[ \t]*[=:][ \t]*["']?([\w./:${}-]+)""",
    re.MULTILINE,
)
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
    found += _LISTED_WORDS.findall(text)
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


# A script behind an interpreter, in a line of shell or a list of words; a module; a script that is
# run itself.
_INTERPRETED: Final = re.compile(
    r"""\b(?:python[\d.]*|pypy3?|sh|bash|dash|zsh|node|deno|ruby|perl|php|lua|Rscript|tsx|ts-node|source)["']?"""
    r"""(?:[\s,]+["']?-[\w-]+["']?)*[\s,]+["']?([\w./-]*\w)"""
    r"""|["'\s]-m["']?[\s,]+["']?([\w.]+)"""
    r"""|(?:^|[\s"'=;&|(@])(\./[\w./-]+|[\w./-]+\.(?:sh|bash))\b""",
    re.MULTILINE,
)


def scripts_run_by(recipe: str) -> list[str]:
    """The scripts that the lines of a recipe run, in whatever form it is written."""
    found = _INTERPRETED.findall(recipe[:_MOST_OF_A_SETTING])
    return [word for pair in found for word in pair if word]


def plugins_loaded_by(settings: str) -> list[str]:
    """The words by which settings, a conftest or a command load plugins of pytest (`-p NAME`)."""
    text = _OTHER_PROGRAMS.sub("", settings[:_MOST_OF_A_SETTING])
    return [*_PLUGIN_OPTION.findall(text), *plugins_named_in(settings)]


def plugins_named_in(code: str) -> list[str]:
    """The modules that `pytest_plugins` names, in code or as a variable of the environment."""
    found = _PLUGINS_NAMED.findall(code[:_MOST_OF_A_SETTING])
    values = [value for pair in found for value in pair if value]
    return [word for value in values for word in re.findall(r"[\w./-]+", value)]


def import_folders(settings: str) -> list[str]:
    """The folders from which settings or a command let Python import (`pythonpath` of pytest)."""
    found = _IMPORT_FOLDERS.findall(settings[:_MOST_OF_A_SETTING])
    values = [value for pair in found for value in pair if value]
    return [word for value in values for word in re.findall(r"\w[\w./-]*|\.[\w./-]*", value)]
