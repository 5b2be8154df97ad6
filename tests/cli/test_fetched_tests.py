"""A suite whose tests are on a server: nothing is fetched, and nothing spent, before a person
allows it.
"""

from __future__ import annotations

import pytest

from .desk import Desk

CONFIG = "prompts: ['{{q}}']\nproviders: [echo]\ntests: huggingface://datasets/a/b\n"


def test_a_look_at_it_fetches_nothing(desk: Desk) -> None:
    desk.file("c.yaml", CONFIG)
    looked = desk.run("suite", "check", "c.yaml")
    assert (
        looked.code == 0
        and "fetches tests" in looked.out
        and "eval needs --allow-code" in looked.out
    )
    assert "honestone trust" not in looked.out


@pytest.mark.parametrize("more", [[], ["--accept-loss"]])
def test_eval_needs_permission(desk: Desk, more: list[str]) -> None:
    desk.file("c.yaml", CONFIG)
    refused = desk.run("eval", "c.yaml", *more)
    assert refused.is_refusal and "fetches tests" in refused.err and "--allow-code" in refused.err


def test_what_may_be_another_text_tomorrow_cannot_be_trusted(desk: Desk) -> None:
    """Nor does trust in the code of a file reach to what it fetches."""
    desk.file("c.yaml", CONFIG)
    assert desk.run("trust", "c.yaml").is_refusal
    desk.file("ask.py", "def ask(context):\n    return 'x'\n")
    desk.file("d.yaml", CONFIG.replace("'{{q}}'", "file://ask.py:ask"))
    assert desk.run("trust", "d.yaml").code == 0
    assert desk.run("eval", "d.yaml").is_refusal
