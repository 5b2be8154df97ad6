"""`honestone suite new --from-traces`: cases and recorded outputs from what other tools recorded."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from .desk import Desk


def otlp(
    trace: str, asked: str, answered: str | None, *, model: str = "small", at: int = 1
) -> dict[str, Any]:
    """A trace with a span of a model and one of a tool, as a collector writes it."""

    def attribute(key: str, value: str) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value}}

    said = [
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.request.model", model),
        attribute(
            "gen_ai.input.messages",
            json.dumps([{"role": "user", "parts": [{"type": "text", "content": asked}]}]),
        ),
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
    ]
    if answered is not None:
        parts = [{"type": "text", "content": answered}]
        said.append(
            attribute("gen_ai.output.messages", json.dumps([{"role": "assistant", "parts": parts}]))
        )
    tool = [
        attribute("gen_ai.operation.name", "execute_tool"),
        attribute("gen_ai.tool.name", "look_up"),
        attribute("gen_ai.tool.call.arguments", '{"word": "hours"}'),
        attribute("gen_ai.tool.call.result", "9 to 19"),
    ]
    times = {"startTimeUnixNano": str(at * 10**9), "endTimeUnixNano": str(at * 10**9 + 5_000_000)}
    spans = [
        {"traceId": trace, "spanId": f"{trace}a", "name": "chat", "attributes": said, **times},
        {
            "traceId": trace,
            "spanId": f"{trace}b",
            "parentSpanId": f"{trace}a",
            "name": "tool",
            "attributes": tool,
            **times,
        },
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": spans}]}]}


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def made(desk: Desk, name: str, text: str, *more: str) -> dict[str, Any]:
    """What `--json` says, after the suite was checked and run with its recorded outputs."""
    desk.file(name, text)
    done = desk.run(
        "suite", "new", "--from-traces", name, "--output", "suite.yaml", "--json", *more
    )
    assert done.code == 0, done.err
    checked = desk.run("suite", "check", "suite.yaml")
    assert checked.code == 0, checked.err
    assert desk.run("eval", "suite.yaml", "--judge", "mock", "--json").code in (0, 1)
    found: dict[str, Any] = json.loads(done.out)
    return found


def recorded(desk: Desk) -> dict[str, dict[str, Any]]:
    text = (desk.folder / "suite.outputs.jsonl").read_text()
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


def test_spans_become_cases_with_outputs_and_tool_calls(ready: Desk) -> None:
    """The same input twice is one case; a trace without an output and a line that is not JSON are
    named with the reason.
    """
    text = lines(
        otlp("t1", "When are you open?", "9 to 19."), otlp("t2", "when are  you open?", "Late.")
    )
    text += lines(otlp("t3", "Nothing?", None)) + "not json\n" + lines({"name": "Bob"})
    found = made(ready, "traces.jsonl", text)
    assert [task["prompt"] for task in found["tasks"]] == ["When are you open?"]
    assert [(one["trace"], one["place"].rpartition(":")[2]) for one in found["dropped"]] == [
        ("", "4"),
        ("", "5"),
        ("t2", "2"),
        ("t3", "3"),
    ]
    assert (
        "same input as trace t1" in found["dropped"][2]["why"]
        and "no output" in found["dropped"][3]["why"]
    )
    (row,) = recorded(ready).values()
    assert (row["output"], row["input_tokens"], row["duration_ms"]) == ("9 to 19.", 12, 5)
    assert row["tool_calls"] == [
        {"name": "look_up", "arguments": {"word": "hours"}, "result": "9 to 19"}
    ]


def test_langfuse_traces_and_observations(ready: Desk) -> None:
    """A trace's own input comes first, else that of its observations; calls of tools are
    observations of the type TOOL.
    """
    tool = {
        "id": "o1",
        "type": "TOOL",
        "name": "look_up",
        "input": {"word": "fees"},
        "output": "20",
        "startTime": "1",
    }
    model = {
        "id": "o2",
        "type": "GENERATION",
        "input": [{"role": "user", "content": "What is late?"}],
        "startTime": "0",
    }
    model |= {
        "output": {"role": "assistant", "content": "20 cents."},
        "model": "big",
        "usageDetails": {"input": 7},
    }
    first = {
        "id": "l1",
        "timestamp": "2026-01-01",
        "input": {"question": "Hello?"},
        "output": "Hi.",
        "latency": 0.5,
    }
    second = {
        "id": "l2",
        "timestamp": "2026-01-02",
        "observations": [tool, model],
        "totalCost": 0.01,
    }
    made(ready, "export.json", json.dumps({"data": [first, second], "meta": {}}))
    rows = recorded(ready)
    assert {row["output"] for row in rows.values()} == {"Hi.", "20 cents."}
    late = next(row for row in rows.values() if row["output"] == "20 cents.")
    assert (late["usd"], late["input_tokens"], late["tool_calls"][0]["arguments"]) == (
        0.01,
        7,
        {"word": "fees"},
    )


def test_samples_of_an_inspect_archive(ready: Desk) -> None:
    """The target is the reference, epochs of one sample are one case, a sample that failed is
    dropped.
    """
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "2 + 2",
        "target": "4",
        "output": {"completion": "four"},
        "messages": [],
    }
    rows = [
        sample,
        sample | {"epoch": 2},
        sample | {"id": 2, "input": "3", "error": {"message": "out of time"}},
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, row in enumerate(rows):
            archive.writestr(f"samples/{number}.json", json.dumps(row))
    (ready.folder / "log.eval").write_bytes(packed.getvalue())
    done = ready.run("suite", "new", "--from-traces", "log.eval", "--output", "suite.yaml")
    assert done.code == 0, done.err
    assert (
        done.out.count("dropped: ") == 2
        and "reference: " in (ready.folder / "suite.yaml").read_text()
    )
    assert [row["output"] for row in recorded(ready).values()] == ["four"]


def zstd_archive(members: dict[str, bytes], *, flags: int = 0) -> bytes:
    """An archive as Inspect writes it, packed with zstd, which `zipfile` cannot write before Python
    3.14.
    """
    zstandard = pytest.importorskip("zstandard")
    out, directory = b"", b""
    for name, content in members.items():
        packed = zstandard.ZstdCompressor().compress(content)
        facts = struct.pack(
            "<HHHHHIIIHH",
            63,
            flags,
            93,
            0,
            0,
            zlib.crc32(content),
            len(packed),
            len(content),
            len(name),
            0,
        )
        at = len(out)
        out += b"PK\x03\x04" + facts + name.encode() + packed
        directory += (
            b"PK\x01\x02"
            + struct.pack("<H", 63)
            + facts
            + struct.pack("<HHHII", 0, 0, 0, 0, at)
            + name.encode()
        )
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(out), 0)
    return out + directory + b"PK\x05\x06" + end


SAMPLE = {
    "id": 1,
    "epoch": 1,
    "input": "2 + 2",
    "target": "4",
    "output": {"completion": "four"},
    "messages": [],
}


def test_samples_packed_with_zstd(ready: Desk) -> None:
    """What Inspect writes now; what is not a sample is not looked at."""
    other = {"_journal/start.json": b"{}", "header.json": b"[", "samples/../../x.json": b"{}"}
    members = {**other, "samples/1_epoch_1.json": json.dumps(SAMPLE).encode()}
    (ready.folder / "log.eval").write_bytes(zstd_archive(members))
    done = ready.run("suite", "new", "--from-traces", "log.eval", "--output", "suite.yaml")
    assert done.code == 0, done.err
    assert [row["output"] for row in recorded(ready).values()] == ["four"]
    assert (
        sorted(path.name for path in ready.folder.parent.iterdir() if path.name == "x.json") == []
    )


def cut(data: bytes) -> bytes:
    """The first member's content is another one."""
    at = data.index(b"samples/1.json") + len(b"samples/1.json")
    return data[: at + 12] + bytes([data[at + 12] ^ 0xFF]) + data[at + 13 :]


def moved(data: bytes) -> bytes:
    """The directory says that the member begins behind the end of the archive."""
    at = data.index(b"PK\x01\x02") + 42
    return data[:at] + struct.pack("<I", 2**31) + data[at + 4 :]


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        (
            lambda: zstd_archive({"samples/1.json": bytes(150_000_000)}),
            "larger than 100 MB when it is unpacked",
        ),
        (
            lambda: zstd_archive({f"samples/{n}.json": bytes(30_000_000) for n in range(5)}),
            "larger than 100 MB when it is unpacked",
        ),
        (
            lambda: cut(zstd_archive({"samples/1.json": json.dumps(SAMPLE).encode()})),
            "cannot be unpacked",
        ),
        (
            lambda: moved(zstd_archive({"samples/1.json": json.dumps(SAMPLE).encode()})),
            "cannot be unpacked",
        ),
        (
            lambda: zstd_archive({"samples/1.json": b"{}"}, flags=1),
            "cannot be unpacked: it is encrypted",
        ),
        (lambda: zstd_archive({"samples/1.json": b"{}"})[:40], "cannot be unpacked"),
    ],
    ids=["bomb", "many-bombs", "damaged", "outside", "encrypted", "cut-off"],
)
def test_a_hostile_archive_is_refused(ready: Desk, archive: Callable[[], bytes], said: str) -> None:
    """Exit 2 with the reason; nothing is written."""
    (ready.folder / "log.eval").write_bytes(archive())
    refused = ready.run("suite", "new", "--from-traces", "log.eval", "--output", "suite.yaml")
    assert refused.is_refusal and said in refused.err
    assert not (ready.folder / "suite.yaml").exists()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python unpacks zstd itself")
def test_without_the_package_the_way_out_is_named(ready: Desk) -> None:
    """The extra, or Inspect's own converter."""
    (ready.folder / "log.eval").write_bytes(
        zstd_archive({"samples/1.json": json.dumps(SAMPLE).encode()})
    )
    ready.file("absent/zstandard.py", "raise ImportError('not installed')\n")
    env = {"PYTHONPATH": str(ready.folder / "absent")}
    refused = ready.run(
        "suite", "new", "--from-traces", "log.eval", "--output", "suite.yaml", env=env
    )
    assert refused.is_refusal and "pip install 'honestone[inspect]'" in refused.err


def test_a_sample_keeps_the_shares_of_its_strata(ready: Desk) -> None:
    """The same seed takes the same cases, and what is not taken is listed."""
    traces = [
        otlp(f"t{n}", f"question {n}", "yes", model="small" if n % 4 else "big") for n in range(20)
    ]
    more = ("--sample", "8", "--by", "model")
    found = made(ready, "traces.jsonl", lines(*traces), *more)
    assert any("small 6 of 15; big 2 of 5" in note for note in found["notes"])
    assert len(found["dropped"]) == 12 and all(
        "not in the sample" in one["why"] for one in found["dropped"]
    )
    again = made(ready, "traces.jsonl", lines(*traces), *more, "--force")
    assert again["tasks"] == found["tasks"]
    other = made(ready, "traces.jsonl", lines(*traces), *more, "--force", "--seed", "5")
    assert other["tasks"] != found["tasks"]


def test_secrets_are_taken_out(ready: Desk) -> None:
    key = "sk-" + "a" * 24
    found = made(ready, "traces.jsonl", lines(otlp("t1", f"use {key} please", f"I used {key}")))
    written = (ready.folder / "suite.yaml").read_text() + (
        ready.folder / "suite.outputs.jsonl"
    ).read_text()
    assert key not in written and any("secret" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 5000, "holds no trace"),
        ("", "holds no trace"),
        ('{"resourceSpans": [{"scopeSpans": 7}, 3]}', "holds no trace"),
        ("PK\x03\x04rubbish", "cannot be unpacked"),
        (lines(otlp("t", "hello", None)), "can be a case"),
    ],
)
def test_files_that_hold_no_usable_trace_are_refused(ready: Desk, text: str, said: str) -> None:
    ready.file("x.json", text)
    done = ready.run("suite", "new", "--from-traces", "x.json", "--output", "suite.yaml")
    assert done.is_refusal and said in done.err and not (ready.folder / "suite.yaml").exists()


def test_what_cannot_be_asked_is_refused(ready: Desk) -> None:
    ready.file("x.jsonl", lines(otlp("t", "hello", "hi")))
    words = ("suite", "new", "--from-traces", "x.jsonl")
    assert ready.run(*words).is_refusal
    assert "model" in ready.run(*words, "--output", "s.yaml", "--sample", "1", "--by", "colour").err
