"""Prompts and tests that code of a promptfoo config makes. It is run with a person's permission
only, by what `Document` brings along; until then what it makes is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

from honestone.core.checking.script import Script
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json, late_pattern
from honestone.formats.syntax.document import Fetch, RunCode
from honestone.formats.syntax.marked import Marked, parse_marked
from honestone.formats.syntax.reader import FileReading, Steps, shown
from honestone.interop.promptfoo.code import script_of
from honestone.interop.sibling_files import SiblingFiles

NOT_RUN: Final = "made by code of this config, which runs with --allow-code only"
# What code hears of each provider: `id` and `label`.
Providers: TypeAlias = Sequence[Mapping[str, Json]]


def code_of_prompt(
    name: str, reading: FileReading, path: Steps, siblings: SiblingFiles
) -> Script | None:
    """The function that makes a prompt, or a Python file that prints it; None, with a loss or a
    problem, where it cannot run.
    """
    what = f"the prompt `{name[:60]}`"
    return script_of(f"file://{name}", reading, path, siblings, what, function="", makes_cases=True)


def prompts_made(
    script: Script, contexts: Sequence[Json], providers: Providers, config: Json, run_code: RunCode
) -> list[str]:
    """The text of a prompt for the variables of each case. Raises UsageError where the code fails,
    gives something else, or gives different texts to the providers: a case here has one input.
    """
    asked = providers or [{"id": "unknown"}]
    calls: list[list[Json]] = [
        [{"vars": known, "provider": dict(provider), "config": config}]
        for provider in asked
        for known in contexts
    ]
    made = [_text_of(value) for value in run_code(script, calls)]
    first = made[: len(contexts)]
    if any(
        made[start : start + len(contexts)] != first
        for start in range(0, len(made), len(contexts) or 1)
    ):
        raise UsageError(
            f"`{script.file}` makes different prompts for different providers",
            hint="leave one provider in the config, or make a prompt of its own for each",
        )
    return first


def _text_of(value: Json) -> str:
    """The text of a prompt in any form that promptfoo accepts: a text, messages, or either as
    `prompt` of a mapping.
    """
    if isinstance(value, Mapping) and "prompt" in value:
        value = value["prompt"]
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping | list):
        raise UsageError(f"the code of a prompt must return a text or messages, not {shown(value)}")
    return json.dumps(value, ensure_ascii=False)


def rows_of_dataset(address: str, fetch: Fetch) -> list[Json]:
    """One test for each row of `huggingface://datasets/OWNER/NAME?split=...&config=...&limit=...`,
    as promptfoo asks for them: by pages, from Hugging Face's server of rows. Raises UsageError.
    """
    name, _, query = address.removeprefix(_DATASETS).partition("?")
    asked = {"split": "test", "config": "default", **dict(parse_qsl(query))}
    limit = int(asked["limit"]) if asked.get("limit", "").isdigit() else MOST_ROWS
    rows: list[Json] = []
    total = limit
    while len(rows) < min(limit, total):
        page = {**asked, "offset": str(len(rows)), "length": str(min(100, limit - len(rows)))}
        text = fetch(f"{_ROWS}?{urlencode({'dataset': '/'.join(name.split('/')[:2]), **page})}")
        try:
            found = json.loads(text)
            total, got = int(found["num_rows_total"]), [one["row"] for one in found["rows"]]
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UsageError(
                f"the server of `{address[:60]}` answers something else than rows"
            ) from None
        if not got:
            break
        rows += [{"vars": row, "options": {"disableVarExpansion": True}} for row in got]
    return rows


# More rows than a suite may have cases.
MOST_ROWS: Final = 10_001
_DATASETS: Final = "huggingface://datasets/"
_ROWS: Final = "https://datasets-server.huggingface.co/rows"
_SHEET: Final = late_pattern(r"https://docs\.google\.com/spreadsheets/d/[\w-]+(?=[/?#]|$)")


def may_be_fetched(address: str) -> bool:
    return address.startswith(_DATASETS) or _SHEET.match(address) is not None


def sheet_of(address: str, fetch: Fetch) -> str:
    """A public Google sheet as CSV. Raises UsageError."""
    page = re.search(r"[?&#]gid=(\d+)", address)
    match = _SHEET.match(address)
    assert match is not None
    text = fetch(f"{match[0]}/export?format=csv{f'&gid={page[1]}' if page else ''}")
    if text.lstrip().startswith("<"):
        raise UsageError(
            f"the sheet `{address[:60]}` is not public", hint="save it as CSV next to the file"
        )
    return text


def tests_made(
    name: str,
    config: Json,
    reading: FileReading,
    path: Steps,
    siblings: SiblingFiles,
    run_code: RunCode | None,
) -> Marked | None:
    """The list of tests that a function of a file returns, with the file's name for their places.
    None where it is not run, or gives none: then a note, a loss or a problem says so.
    """
    what = f"the tests of `{name[:60]}`"
    script = script_of(
        f"file://{name}", reading, path, siblings, what, function="generate_tests", makes_cases=True
    )
    if script is None:
        return None
    if run_code is None:
        reading.note(f"promptfoo: {what} are {NOT_RUN}: they are not known before")
        return None
    try:
        (value,) = run_code(script, [[] if config is None else [config]])
        if not isinstance(value, list):
            raise UsageError(f"`{name[:60]}` must return a list of tests, not {shown(value)}")
        return parse_marked(json.dumps(value, ensure_ascii=False), name)
    except FileError as error:
        reading.elsewhere(error, path)
    except UsageError as error:
        reading.problem(error.message, path, error.hint)
    return None
