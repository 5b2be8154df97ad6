"""Patterns that are compiled at their first use."""

from __future__ import annotations

import gc
import re
from importlib import import_module
from pkgutil import walk_packages

import pytest
from hypothesis import given
from hypothesis import strategies as st

import honestone
from honestone.core import json_value
from honestone.core.json_value import late_pattern


@given(st.text("ab1 \n", max_size=20), st.sampled_from([0, re.IGNORECASE, re.MULTILINE]))
def test_it_finds_what_a_compiled_one_finds(text: str, flags: int) -> None:
    """Also the second time, when its methods are at hand."""
    pattern = r"^(?P<word>[A-B]+)\d?$"
    now, later = re.compile(pattern, flags), late_pattern(pattern, flags)
    for _ in range(2):
        assert later.findall(text) == now.findall(text)
        assert later.sub("-", text) == now.sub("-", text)
        assert (later.groupindex, later.flags) == (now.groupindex, now.flags)


def test_it_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, whatever is asked of it."""
    compiled = []
    real = re.compile
    monkeypatch.setattr(
        json_value.re, "compile", lambda *words: compiled.append(words) or real(*words)
    )
    pattern = late_pattern(rb"\d+", re.ASCII)
    assert pattern.pattern == rb"\d+"
    assert compiled == []
    assert pattern.search(b"a1") and pattern.match(b"1") and pattern.search(b"2")
    assert compiled == [(rb"\d+", re.ASCII)]


@pytest.mark.slow
def test_all_of_ours_can_be_compiled() -> None:
    """What `re.compile` would refuse at the import of a module is refused here."""
    for one in walk_packages(honestone.__path__, "honestone."):
        if not one.name.endswith("__main__"):
            import_module(one.name)
    made = [one for one in gc.get_objects() if isinstance(one, json_value._LatePattern)]
    assert len(made) > 300
    for one in made:
        re.compile(one.pattern, one._flags)
