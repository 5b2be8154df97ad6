"""The options in the schemas of MCP's tools are those that the requests declare."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Declared
from honestone.core.errors import UsageError
from honestone.mcp.arguments import OfferedOption
from honestone.mcp.tools import TOOLS, Call

OFFERED = [
    pytest.param(name, option, id=f"{name}-{option.field}")
    for name, tool in TOOLS.items()
    for offered in tool.offers
    for option in offered.options
]


def shown(tool: str, option: Declared) -> dict[str, Any]:
    properties = cast("dict[str, Any]", TOOLS[tool].schema["properties"])
    found: dict[str, Any] = properties["self" if option.field == "self_judge" else option.field]
    return found


@pytest.mark.parametrize(("tool", "option"), OFFERED)
def test_an_option_is_shown_with_its_words_bounds_and_default(tool: str, option: Declared) -> None:
    """As the command line has it; what may be left out has no default."""
    found = shown(tool, option)
    words = found.get("enum") or [
        word for one in found.get("anyOf", ()) for word in one.get("enum", ())
    ]
    assert set(words) == set(option.choices)
    bounds = (option.option.min, option.option.max, option.option.above)
    assert tuple(map(found.get, ("minimum", "maximum", "exclusiveMinimum"))) == bounds
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    assert found.get("default") == default


@pytest.mark.parametrize(("tool", "option"), OFFERED)
def test_a_value_out_of_its_bounds_is_refused_before_anything_is_done(
    tool: str, option: Declared
) -> None:
    """Nothing is called: the tool has no workspace."""
    wrong: object = "no such word" if option.choices else None
    if option.option.min is not None:
        wrong = option.option.min - 1
    elif option.option.above is not None:
        wrong = option.option.above
    elif wrong is None:
        wrong = {"not": "a value"}
    required = {"artifact": "a.md", "rubric": "r.yaml"}
    name = "self" if option.field == "self_judge" else option.field
    with pytest.raises(UsageError, match=f"wrong arguments.*{name}"):
        TOOLS[tool].call(cast("Call", None), {**required, name: wrong})


@pytest.mark.parametrize(
    "field", ["allow_outside", "allow_host", "pass_env", "sandbox", "allow_code", "embeddings"]
)
def test_what_may_be_read_contacted_and_run_is_not_for_an_agent_to_say(field: str) -> None:
    """These are options of the command alone."""
    for tool in TOOLS.values():
        properties = cast("dict[str, Any]", tool.schema["properties"])
        assert field not in properties


@pytest.mark.parametrize(("tool", "option"), OFFERED)
def test_an_option_says_more_than_when_it_holds(tool: str, option: Declared) -> None:
    """Of `With --sure: the most looks` an agent would read `With --sure.` alone."""
    assert not re.fullmatch(r"(With|Without) \S+", shown(tool, option)["description"].rstrip("."))


@pytest.mark.parametrize("tool", ["eval", "improve"])
def test_how_sure_it_has_to_be_is_a_percentage(tool: str) -> None:
    """For every tool whose command takes it."""
    properties = cast("dict[str, Any]", TOOLS[tool].schema["properties"])
    assert "from 50 to below 100" in properties["sure"]["description"]
    assert "looks" in properties["max_looks"]["description"]


def test_an_option_that_no_request_declares_cannot_be_offered() -> None:
    """A misspelt name fails when the tools are made."""
    with pytest.raises(LookupError):
        list(OfferedOption(JudgingOptions, ("treshold",)).options)
