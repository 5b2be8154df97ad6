"""What travels to a runner as plain JSON is read back as it was."""

from __future__ import annotations

import json

import msgspec

from honestone.app.remote.request import OrderedHead
from honestone.core.suite.case import TargetSpec


def test_the_head_of_a_suite_is_read_back_as_it_was() -> None:
    """Whatever JSON the parameters of its target hold."""
    parameters = {
        "temperature": 0.5,
        "stop": ["a", None],
        "response_format": {"type": "json", "strict": True},
    }
    head = OrderedHead(
        dialect="promptfoo",
        base=".",
        title="Fruit",
        files=("a.yaml", "b/c.yaml"),
        artifacts=("prompt.txt",),
        targets=(TargetSpec(use="openai:gpt-x", timeout=3.0, parameters=parameters), TargetSpec()),
        concurrency=4,
        unused=("k",),
    )
    assert OrderedHead.from_plain(json.loads(msgspec.json.encode(head))) == head
