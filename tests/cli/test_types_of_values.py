"""Every type that a key of settings, rubric and suite may have, in each syntax, to the end of a
run: contract, store, requests to a stand-in for a server, report.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from honestone.core.errors import HonestoneError
from honestone.formats import settings as settings_module
from honestone.formats.settings import read_settings
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import parse_marked

from .batches import answer_to
from .desk import Desk

# As TOML writes them. Each is one kind of value that a reader of TOML has, or a form of it.
VALUES: Final = (
    "0",
    "1",
    "-1",
    "1_000",
    "0x1f",
    "0o17",
    "0b11",
    "9223372036854775807",
    "9223372036854775808",
    "1" + "0" * 30,
    "1" + "0" * 320,
    "1" + "0" * 5000,
    "0.5",
    "1.0",
    "1e3",
    "1_0.2_5",
    "1e-400",
    "1e400",
    "inf",
    "-inf",
    "nan",
    "true",
    "''",
    "'text'",
    "'2.0'",
    '"""\nseveral\nlines\n"""',
    '"\\u0000"',
    '"\\u001b[2J"',
    "2026-11-28",
    "07:32:00",
    "1979-05-27T07:32:00Z",
    "1979-05-27T00:32:00.999999-07:00",
    "[]",
    "['a', 'b']",
    "[0.5, [1, 2026-11-28]]",
    "{}",
    "{a = 0.5}",
    "{a = {b = [0.05, 1979-05-27T07:32:00Z, 10]}}",
)
KEYS: Final[Mapping[str, Mapping[str, str]]] = settings_module._KEYS
# What these hold decides who is asked at all: another value ends in another run than the one looked
# at here.
FIXED: Final = {"provider", "base_url", "command", "auth", "api_key_env", "output", "url"}


@dataclass
class Server:
    """Answers chat completions: a judge's form with yes, all else with a word. `bodies` are what it
    was asked.
    """

    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(asked)
            if "messages" in asked:
                made = self._completion(asked["messages"])
            else:
                made = {
                    "data": [
                        {"index": i, "embedding": [1.0, 0.5]} for i, _ in enumerate(asked["input"])
                    ]
                }
            data = json.dumps(
                {**made, "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _completion(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
            prompt = "\n".join(str(one["content"]) for one in messages)
            text = answer_to(prompt) if '{"token"' in prompt else "an apple"
            return {
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": "stop",
                    }
                ]
            }

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def accepted(folder: Path, table: str, key: str) -> list[str]:
    """The values that the reader of settings takes for a key; every other one is refused with its
    place.
    """
    taken = []
    for value in VALUES:
        needed = (
            "provider = 'compatible'\nmodel = 'm'\n" if key not in ("provider", "model") else ""
        )
        needed = needed if table in ("judges.s", "targets.s", "embeddings.s") else ""
        file = folder / "honestone.toml"
        file.write_text(f"[{table}]\n{needed}{key} = {value}\n", encoding="utf-8")
        try:
            read_settings(file)
        except HonestoneError as error:
            place = error.place or ""
        else:
            taken.append(value)
            continue
        assert place.startswith(f"{file}:"), (table, key, value)
    return taken


def of_exact_types(value: object) -> bool:
    """Whether a value is made of the plain types alone, without their subclasses."""
    if type(value) is dict:
        return all(
            type(key) in (str, int, float) and of_exact_types(below) for key, below in value.items()
        )
    if type(value) is list:
        return all(map(of_exact_types, value))
    return value is None or type(value) in (str, int, float, bool)


RUBRIC = "rubric: 1\ncriteria: [{id: apple, requirement: It names the apple}]\n"
SUITE = "suite: 1\ncases: [{id: a, input: An apple, rubric: [It names the apple]}]\n"


def test_no_key_of_settings_leaks_a_type_of_its_reader(tmp_path: Path) -> None:
    """Whatever TOML makes of a value, what passes the reader is a plain text, number, flag, list or
    table; all else is refused with its line.
    """
    for table, kind in (
        ("judges.s", "agent"),
        ("limits", "limits"),
        ("store", "store"),
        ("embeddings.s", "embeddings"),
    ):
        for key in KEYS[kind]:
            for value in accepted(tmp_path, table, key):
                file = tmp_path / "honestone.toml"
                read = read_settings(file) if value == VALUES[-1] else None
                assert read is None or of_exact_types({**read.judges, **read.limits}), (
                    table,
                    key,
                    value,
                )


# What is run to the end: one value of each type, and of numbers those that a writer of JSON may
# refuse.
RUN: Final = frozenset(
    (
        "1_000",
        "9223372036854775808",
        "1" + "0" * 30,
        "0.5",
        "true",
        "'text'",
        '"""\nseveral\nlines\n"""',
        "['a', 'b']",
        VALUES[-1],
    )
)
# A rate is waited for: these run with one value that is a decimal and lets every call through.
RATES: Final = ("requests_per_minute", "tokens_per_minute")
OUR_BUGS: Final = ("TypeError", "ValueError", "OverflowError", "Traceback", "unsupported")


def settings_with(server: Server, key: str, value: str, more: str = "") -> str:
    """A judge and a target of one server, each with this key."""
    about = {
        "provider": "'compatible'",
        "base_url": f"'http://127.0.0.1:{server.port}/v1'",
        "model": "'m'",
        key: value,
    }
    lines = "".join(f"{name} = {written}\n" for name, written in about.items())
    return f"[judges.s]\n{lines}\n[targets.s]\n{lines}\n{more}"


def runs_to_its_end(desk: Desk, settings: str, suite: str = "suite.yaml") -> str:
    """The command with these settings: what is wrong with how it ended, nothing where all is well.
    A value out of its range may be refused.
    """
    desk.file("honestone.toml", settings)
    done = desk.run("eval", suite, "--target", "s", "-j", "s", "--json", "--fresh", timeout=60)
    bugs = [word for word in OUR_BUGS if word in done.out + done.err]
    if done.code in (0, 1, 2, 3) and (done.code != 2 or done.is_refusal) and not bugs:
        return ""
    return f"exit {done.code} {bugs}: {done.err[-300:]}"


@pytest.mark.slow
@pytest.mark.parametrize("table", ["agent", "limits"])
def test_every_type_that_a_setting_takes_runs_to_the_end(
    desk: Desk, server: Server, tmp_path: Path, table: str
) -> None:
    """A key of settings with a value of each type that it takes: the run ends with an answer, or
    with the reason why a server gave none. Tests of the reader alone do not see what a store, a
    request or a report makes of a value.
    """
    desk.file("suite.yaml", SUITE)
    wrong = {}
    for key in KEYS[table]:
        taken = [
            value
            for value in accepted(tmp_path, "judges.s" if table == "agent" else table, key)
            if value in RUN
        ]
        for value in ["1000000.5"] if key in RATES else taken:
            if key in FIXED:
                continue
            settings = settings_with(server, key, value)
            if table == "limits":
                settings = settings_with(server, "model", "'m'", f"[limits]\n{key} = {value}\n")
            if problem := runs_to_its_end(desk, settings):
                wrong[key, value] = problem
    assert not wrong


def test_parameters_of_every_type_reach_the_server(desk: Desk, server: Server) -> None:
    """Parameters hold any value that JSON has: judge and target send each as it was written, a date
    as its text.
    """
    desk.file("suite.yaml", SUITE)
    extra = "{min_p = 0.05, num = 1_000, big = 1_000_000_000_000_000_000_000_000_000_000, f = true, s = 'x', l = [0.5, 1, [2]], e = {p = 0.05}, d = 2026-11-28, z = 1e3}"
    values = f"{{temperature = 0.7, seed = 1_000, extra = {extra}}}"
    server.bodies.clear()
    assert runs_to_its_end(desk, settings_with(server, "parameters", values)) == ""
    assert len(server.bodies) == 2
    wanted = {
        "temperature": 0.7,
        "seed": 1000,
        "min_p": 0.05,
        "num": 1000,
        "big": 10**30,
        "f": True,
        "s": "x",
        "l": [0.5, 1, [2]],
        "e": {"p": 0.05},
        "d": "2026-11-28",
        "z": 1000.0,
    }
    for body in server.bodies:
        assert {key: body.get(key) for key in wanted} == wanted


def test_prices_and_embeddings_take_decimals(desk: Desk, server: Server) -> None:
    """Prices in decimals are counted to the end of a run, and so are whole and very large ones."""
    desk.file("suite.yaml", SUITE)
    for value in ("0.05", "1_0.5", "3", "1e30", "1" + "0" * 30):
        prices = f"[prices.m]\ninput = {value}\noutput = {value}\n"
        assert runs_to_its_end(desk, settings_with(server, "model", "'m'", prices)) == "", value


def test_tables_of_other_tools_may_hold_what_ours_may_not(tmp_path: Path) -> None:
    """In a `pyproject.toml` only our own tables are looked at."""
    file = tmp_path / "pyproject.toml"
    file.write_text(
        "[tool.other]\nx = nan\ny = inf\n[tool.honestone.limits]\nmax_usd = 0.5\n", encoding="utf-8"
    )
    assert read_settings(file).limits == {"max_usd": 0.5}


@pytest.mark.parametrize(
    "text", ["[[tool.honestone]]\nx = 1\n", "[tool]\nhonestone = 3\n[tool.honestone.limits]\n"]
)
def test_settings_that_are_no_table_are_refused(tmp_path: Path, text: str) -> None:
    """A list of tables in the place of ours is refused with its line."""
    file = tmp_path / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(HonestoneError) as refused:
        read_settings(file)
    assert refused.value.place is not None and refused.value.place.startswith(f"{file}:")


# Values of YAML and JSON. YAML 1.1 and 1.2 differ in some of them, and JSON has only the last ones.
YAML_VALUES: Final = (
    "0o17",
    "0x1f",
    "1_000",
    "010",
    "2026-11-28",
    "2026-11-28T07:32:00Z",
    "12:30:00",
    "yes",
    "~",
    "!!str 12",
    "!!float 1",
    "{1: a, 2.5: b, true: c, null: d}",
    "&a [1, *b]",
    "|\n        several\n        lines",
    "1e3",
    "-0.0",
    "9223372036854775808",
    "1000000000000000000000000000000",
    "0.1",
    '"0.5"',
    "true",
    "[1, [2.5]]",
    '{"a": {"b": null}}',
)
# A case with a value somewhere.
CASES: Final = (
    "input: An apple, rubric: [apple], metadata: {{m: {v}}}",
    "input: {v}, rubric: [apple]",
    "input: An apple, rubric: [apple], reference: {v}",
    "input: 'An apple {{{{ x }}}}', rubric: [apple], vars: {{x: {v}}}",
    "input: An apple, rubric: [apple], timeout: {v}",
    "input: An apple, rubric: [apple], tags: {v}",
    "input: An apple, rubric: [{{requirement: apple, weight: {v}}}]",
    "input: An apple, rubric: [{{requirement: apple, anchors: {{0: no, 10: {v}}}}}]",
    "input: An apple, checks: [{{json-schema: {v}}}]",
    "input: An apple, checks: [{{max-words: {v}}}]",
    "input: An apple, checks: [{{equals: {v}}}]",
    "input: An apple, checks: [{{field-accuracy: {{fields: [{{path: a, expected: {v}}}]}}}}]",
    "input: An apple, checks: [{{tool-calls: [{{tool: t, arguments: {{a: {v}}}}}]}}]",
    "input: An apple, rubric: [apple], expect: {{score: [0, {v}]}}",
)


@pytest.mark.parametrize("syntax", ["yaml", "json"])
@pytest.mark.parametrize("case", CASES)
def test_every_type_in_a_suite_runs_to_the_end_or_is_refused_with_its_line(
    desk: Desk, server: Server, case: str, syntax: str
) -> None:
    """Each value at a key of a case is refused with its line by the reader, or all that are taken
    run to their report.
    """
    taken = []
    for number, value in enumerate(YAML_VALUES):
        written = f"{{id: c{number}, {case.format(v=value)}}}"
        file = desk.file(f"one.{syntax}", in_syntax(f"suite: 1\ncases: [{written}]\n", syntax))
        try:
            read_suite(Document.of(file))
        except HonestoneError as error:
            refused = error.errors or (error,)
        else:
            refused = ()
            taken.append(written)
        assert all((one.place or "").startswith(f"{file}:") for one in refused), (written, refused)
    if not taken:
        return
    desk.file("honestone.toml", settings_with(server, "model", "'m'"))
    desk.file(f"all.{syntax}", in_syntax(f"suite: 1\ncases: [{', '.join(taken)}]\n", syntax))
    done = desk.run("eval", f"all.{syntax}", "-j", "s", "--target", "cmd:cat", "--json")
    is_schema = (
        "json-schema" in case and "the schema" in done.err
    )  # a text names a file, and there is none
    assert done.code in (0, 1, 3) or is_schema, done.err
    assert not [word for word in OUR_BUGS if word in done.out + done.err], done.out
    assert is_schema or desk.run("show", "last", "--format", "html").code == 0


def in_syntax(text: str, syntax: str) -> str:
    """A YAML text in a syntax; what is not YAML stays as it is."""
    if syntax == "yaml":
        return text
    try:
        return json.dumps(parse_marked(text, "text").value)
    except HonestoneError:
        return text
