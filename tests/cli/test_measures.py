"""Checks that measure likeness, by arithmetic and by an embeddings server, as a person runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from .desk import Desk

VECTORS = {"sea": [1.0, 0.0, 0.0], "lake": [0.8, 0.6, 0.0]}


@dataclass
class Embedding:
    """A server on this machine: `url`, and the texts that it was asked about. `answer` replaces
    what it says.
    """

    url: str = ""
    asked: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answer: Any = None
    status: int = 200


@contextmanager
def embedding() -> Iterator[Embedding]:
    state = Embedding()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = asked["input"] if "input" in asked else [asked["content"]["parts"][0]["text"]]
            state.asked += texts
            state.paths.append(self.path)
            vectors = [
                next((v for word, v in VECTORS.items() if word in t), [0.0, 1.0, 0.0])
                for t in texts
            ]
            said: Any = {"data": [{"embedding": v} for v in vectors], "usage": {"prompt_tokens": 3}}
            if "embedContent" in self.path:
                said = {"embedding": {"values": vectors[0]}}
            body = json.dumps(said if state.answer is None else state.answer).encode()
            self.send_response(state.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def config(*tests: tuple[str, str, str]) -> str:
    """A promptfoo config whose provider repeats its prompt: (description, output, assertion)."""
    rows = [
        {"description": name, "vars": {"q": output}, "assert": [json.loads(assertion)]}
        for name, output, assertion in tests
    ]
    return json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": rows})


def verdicts(document: Any) -> dict[str, str]:
    return {case["id"]: case["verdict"] for case in document["cases"]}


SIMILAR = config(
    ("near", "a lake", '{"type": "similar", "value": "the sea", "threshold": 0.75}'),
    ("far", "a lake", '{"type": "similar", "value": "the sea", "threshold": 0.85}'),
    ("usual", "a lake", '{"type": "similar:cosine", "value": "the sea"}'),
    ("not", "a stone", '{"type": "not-similar", "value": "the sea", "threshold": 0.5}'),
    ("any", "a lake", '{"type": "similar", "value": ["a stone", "the sea"], "threshold": 0.75}'),
)


@pytest.mark.parametrize("provider", ["compatible", "openai", "ollama", "google"])
def test_similar_asks_for_each_vector_once(desk: Desk, provider: str) -> None:
    """The cosine against the pass mark; what is on record is not asked for again, `--fresh` asks
    again.
    """
    with embedding() as server:
        desk.file("c.yaml", SIMILAR)
        desk.file(
            "honestone.toml",
            f'[embeddings.local]\nprovider = "{provider}"\nbase_url = "{server.url}"\nmodel = "stand-in"\n',
        )
        assert desk.run("suite", "check", "c.yaml").code == 0
        found = desk.run("eval", "c.yaml", "--embeddings", "local", "--json")
        assert verdicts(found.json) == {
            "near": "pass",
            "far": "fail",
            "usual": "pass",
            "not": "pass",
            "any": "pass",
        }
        scores = {case["id"]: case["criteria"][0]["score"] for case in found.json["cases"]}
        assert scores == pytest.approx(
            {"near": 80, "far": 80, "usual": 80, "not": 100, "any": 80}, abs=1e-9
        )
        assert sorted(server.asked) == ["a lake", "a stone", "the sea"]
        wanted = "/v1/models/stand-in:embedContent" if provider == "google" else "/v1/embeddings"
        assert set(server.paths) == {wanted}
        assert desk.run("eval", "c.yaml", "--embeddings", "local", "--json").code == 1
        assert len(server.asked) == 3
        desk.run("eval", "c.yaml", "--embeddings", "local", "--json", "--fresh")
        assert len(server.asked) == 6


def test_similar_without_a_model_is_refused_before_anything_runs(desk: Desk) -> None:
    """The hint names the option; a name that is not known is refused with those that are."""
    desk.file("c.yaml", SIMILAR)
    found = desk.run("eval", "c.yaml")
    assert found.is_refusal and "--embeddings" in found.err
    desk.file("honestone.toml", '[embeddings.mine]\nprovider = "openai"\nmodel = "m"\n')
    found = desk.run("eval", "c.yaml", "--embeddings", "nosuch")
    assert found.is_refusal and "mine" in found.err and "openai:MODEL" in found.err
    found = desk.run("eval", "c.yaml", "--embeddings", "anthropic:claude")
    assert found.is_refusal and "anthropic has no embeddings" in found.err


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"data": []}, "no embedding"),
        ({"data": [{"embedding": ["x"]}]}, "not a list of numbers"),
        ({"data": [{"embedding": [0.0, 0.0]}]}, "zeros"),
        ({"error": {"message": "no such model", "code": 404}}, "no such model"),
    ],
)
def test_a_server_that_fails_leaves_the_case_open(desk: Desk, answer: Any, why: str) -> None:
    """Never a verdict from a made-up vector; exit 3 with the reason."""
    with embedding() as server:
        server.answer = answer
        desk.file("c.yaml", config(("near", "a lake", '{"type": "similar", "value": "the sea"}')))
        desk.file(
            "honestone.toml",
            f'[embeddings.e]\nprovider = "compatible"\nbase_url = "{server.url}"\nmodel = "m"\n',
        )
        found = desk.run("eval", "c.yaml", "--embeddings", "e")
        assert found.code == 3 and why in found.out and "Traceback" not in found.err


def test_measures_by_code(desk: Desk) -> None:
    """promptfoo's rouge-n, bleu, gleu, levenshtein, contains-json, is-refusal, and HTML and XML,
    each met and unmet.
    """
    desk.file(
        "c.yaml",
        config(
            ("lev", "kitten", '{"type": "levenshtein", "value": "sitting", "threshold": 3}'),
            ("far", "kitten", '{"type": "levenshtein", "value": "sitting", "threshold": 2}'),
            ("lev-usual", "kitten", '{"type": "levenshtein", "value": "sitting"}'),
            (
                "rouge",
                "the cat",
                '{"type": "rouge-n", "value": "the cat sat on", "threshold": 0.6}',
            ),
            ("rouge-far", "the cat", '{"type": "rouge-n", "value": "the cat sat on"}'),
            ("not-rouge", "the cat", '{"type": "not-rouge-n", "value": "the cat sat on"}'),
            ("bleu", "a b c d", '{"type": "bleu", "value": ["x y", "a b c d"]}'),
            ("gleu", "a b c d", '{"type": "gleu", "value": "a b c d", "threshold": 1}'),
            ("json", 'so: {"a": 1} end', '{"type": "contains-json", "value": {"required": ["a"]}}'),
            (
                "json-text",
                'so: [{"a": 1}] end',
                '{"type": "contains-json", "value": "type: array"}',
            ),
            (
                "json-far",
                'so: {"a": 1} end',
                '{"type": "contains-json", "value": {"required": ["b"]}}',
            ),
            ("json-any", "none {here", '{"type": "not-contains-json"}'),
            ("refusal", "I am sorry, I cannot help.", '{"type": "is-refusal"}'),
            ("answer", "Here is your cake.", '{"type": "not-is-refusal"}'),
            ("html", "<p>Hi</p>", '{"type": "is-html"}'),
            ("html-far", "See <p>Hi</p>", '{"type": "is-html"}'),
            ("html-in", "See <p>Hi</p>", '{"type": "contains-html"}'),
            ("xml", "<a><b>1</b><c/></a>", '{"type": "is-xml", "value": "a.b, a.c"}'),
            (
                "xml-far",
                "<a><b>1</b></a>",
                '{"type": "is-xml", "value": {"requiredElements": ["a.c"]}}',
            ),
            ("xml-in", "So: <a><b>1</b></a>", '{"type": "contains-xml", "value": ["a.b"]}'),
            ("xml-out", "No: <a>", '{"type": "not-contains-xml"}'),
        ),
    )
    found = verdicts(desk.run("eval", "c.yaml", "--json").json)
    assert {name for name, verdict in found.items() if verdict == "fail"} == {
        "far",
        "rouge-far",
        "json-far",
        # A list is no object, and an object that is written as YAML is one.
        "json-text",
        "json-any",
        "html-far",
        "xml-far",
    }
    assert list(found.values()).count("pass") == 14


def test_elements_of_xml_that_a_file_names(desk: Desk) -> None:
    """A mapping or a list in a file is read as one here; a file that is missing leaves no weaker
    assertion behind.
    """
    desk.file("needed.json", '{"requiredElements": ["a.c"]}')
    desk.file(
        "c.yaml",
        config(("far", "<a><b>1</b></a>", '{"type": "is-xml", "value": "file://needed.json"}')),
    )
    assert verdicts(desk.run("eval", "c.yaml", "--json").json) == {"far": "fail"}
    desk.file("c.yaml", config(("gone", "<a/>", '{"type": "is-xml", "value": "file://no.json"}')))
    assert desk.run("eval", "c.yaml").is_refusal
    assert verdicts(desk.run("eval", "c.yaml", "--accept-loss", "--json").json) == {
        "gone": "skipped"
    }


def test_measures_in_a_rubric_of_our_own(desk: Desk) -> None:
    """The same checks by our names, with their options; a wrong option is refused with its place."""
    desk.file("note.md", "The cat sat on the mat")
    desk.file(
        "r.yaml",
        "rubric: 1\nthreshold: 75\ncriteria:\n"
        "  - {id: near, check: {levenshtein: The cat sat on a mat, max: 3}}\n"
        "  - {id: words, check: {rouge-n: the mat, n: 2, min_score: 0.3}}\n"
        "  - {id: answers, check: {not-is-refusal: true}}\n",
    )
    card = desk.run("eval", "note.md", "--rubric", "r.yaml", "--json").json
    assert card["verdict"] == "pass"
    assert [round(one["score"], 6) for one in card["criteria"]] == [100, round(100 * 2 / 6, 6), 100]
    rubric = desk.folder / "r.yaml" if hasattr(desk, "folder") else Path("r.yaml")
    rubric.write_text(rubric.read_text().replace("min_score: 0.3", "min_score: 2"))
    found = desk.run("eval", "note.md", "--rubric", "r.yaml")
    assert found.is_refusal and "min_score" in found.err and "r.yaml:5" in found.err


def test_questions_about_a_context_are_asked_of_judges(desk: Desk) -> None:
    """promptfoo's questions about a retrieved context become one question each; without the context
    a loss.
    """
    tests = [
        {
            "vars": {"q": "hi", "query": "When?", "context": "Open at nine."},
            "assert": [
                {"type": "answer-relevance"},
                {"type": "context-faithfulness", "threshold": 0.9},
                {"type": "context-recall", "value": "nine", "threshold": 0.5},
                {"type": "context-relevance", "threshold": 0.5},
            ],
        }
    ]
    desk.file("c.yaml", json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests}))
    shown = desk.run("suite", "show", "c.yaml")
    # The variable, and the three questions about it.
    assert shown.code == 0 and shown.out.count("Open at nine.") == 4 and "When?" in shown.out
    del tests[0]["vars"]["context"]  # type: ignore[attr-defined]
    desk.file("c.yaml", json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests}))
    found = desk.run("suite", "check", "c.yaml")
    assert found.code == 2 and "needs the context as the variable `context`" in found.err
