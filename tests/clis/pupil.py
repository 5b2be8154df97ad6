"""Stand-in models that can read: what they say depends on the text they were sent, and on nothing
else.

The pupil knows no plant. It answers a question by the rules `- about TOPIC: WORDS` that stand in
its conversation; when a skill about plants is on offer it opens that first, by the client's own
means, and a rule that says `see FILE` makes it read that file of the skill. So an answer proves
that the words of the skill have reached the model.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

IGNORANT = "I have no idea."
_MOST_STEPS = 4
_QUESTION = re.compile(r"What about (\w+)\?")
_RULE = re.compile(r"- about (\w+): ([^\n]+)")


def texts(value: Any) -> Iterator[str]:
    """All texts of a request in their order, but not the declarations of its tools."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "tools":
                yield from texts(inner)


def rules_in(text: str) -> dict[str, str]:
    """By topic; one that only says where to look gives way to any other, for a client may show a
    file before the skill.
    """
    found = [(topic, words.strip()) for topic, words in _RULE.findall(text)]
    return dict(sorted(found, key=lambda rule: not rule[1].startswith("see ")))


@dataclass(frozen=True)
class Offer:
    """A skill that a client offers, in a folder that it names."""

    name: str
    about: str
    folder: str


def offers(text: str) -> list[Offer]:
    """The skills of the lists that codex, gemini and claude show. claude names the folder only once
    it is opened.
    """
    roots = dict(re.findall(r"`(r\d+)` = `([^`]+)`", text))
    codex = [
        Offer(name, about, f"{roots[root]}/{folder}" if root in roots else f"{root}/{folder}")
        for name, about, root, folder in re.findall(
            r"^- ([^:\n]+): (.*) \(file: ([^\s/]*)/(.*)/SKILL\.md\)$", text, re.M
        )
    ]
    gemini = [
        Offer(*found)
        for found in re.findall(
            r"<name>(.*?)</name>\s*<description>(.*?)</description>\s*<location>(.*?)/SKILL\.md</location>",
            text,
        )
    ]
    listed = re.search(
        r"available for use with the Skill tool:\n\n(.*?)</system-reminder>", text, re.S
    )
    opened = re.search(r"Base directory for this skill: (\S+)", text)
    claude = [
        Offer(name, about, opened[1] if opened else "")
        for name, about in re.findall(r"^- ([\w.-]+): (.*)$", listed[1] if listed else "", re.M)
    ]
    return [*codex, *gemini, *claude]


def pupil(play: ModuleType) -> Callable[[Any], Any]:
    """A play for the stand-in service."""

    def answer(seen: Any) -> Any:
        text = "\n".join(texts(seen.body))
        asked = _QUESTION.search(text)
        offered = [offer for offer in offers(text) if "plants" in offer.about]
        if asked is None:
            return play.Say(IGNORANT)
        if seen.results == 0 and offered:
            return play.Learn(offered[0].name, f"{offered[0].folder}/SKILL.md")
        words = rules_in(text).get(asked[1], IGNORANT)
        if words.startswith("see ") and offered and seen.results < _MOST_STEPS:
            return play.Look(f"{offered[0].folder}/{words.removeprefix('see ')}")
        return play.Say(words)

    return answer


def gardener(play: ModuleType, old: str, new: str) -> Callable[[Any], Any]:
    """A worker's model: it opens the SKILL.md of the brief's `Location`, replaces one text by
    another, and says so.
    """

    def edit(seen: Any) -> Any:
        place = re.search(r"^Location: (\S+)", "\n".join(texts(seen.body)), re.M)
        if place is None:
            return play.Say("There is no location in this brief.")
        path = place[1] if place[1].endswith(".md") else f"{place[1].rstrip('/')}/SKILL.md"
        steps = (play.Look(path), play.Change(path, old, new))
        return (
            steps[seen.results]
            if seen.results < len(steps)
            else play.Say("I have made the change.")
        )

    return edit


# ----------------------------------------------------------------------------------------------- a
# model behind an API


@dataclass
class Reader:
    """An OpenAI-compatible server whose model believes rules between fences only, and questions
    outside of them only.
    """

    base_url: str
    prompts: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def parted(text: str) -> tuple[str, str]:
    """What stands between fences and what stands outside, as Markdown has it: a fence ends at one
    of its own length or more.
    """
    inside: list[str] = []
    outside: list[str] = []
    fence = 0
    for line in text.splitlines():
        run = len(line) - len(line.lstrip("`"))
        if fence == 0 and run >= 3:
            fence = run
        elif fence and run >= fence and not line.strip("` "):
            fence = 0
        else:
            (inside if fence else outside).append(line)
    return "\n".join(inside), "\n".join(outside)


def reply_to(prompt: str) -> str:
    inside, outside = parted(prompt)
    rules = rules_in(inside)
    return (
        "\n".join(rules.get(topic, IGNORANT) for topic in _QUESTION.findall(outside))
        or "You asked nothing."
    )


@contextmanager
def reader() -> Iterator[Reader]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            found.prompts.append(prompt)
            found.headers.append(dict(self.headers.items()))
            message = {"role": "assistant", "content": reply_to(prompt)}
            self._send(
                {
                    "id": "c1",
                    "object": "chat.completion",
                    "model": body["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
                }
            )

        def _send(self, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Reader(f"http://127.0.0.1:{server.server_address[1]}/v1")
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    ).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
