"""Names and files that are nearly right are answered with what was meant; nothing is asked."""

from __future__ import annotations

import pytest

from honestone.adapters.near_names import meant_name, service_hint

from .desk import Desk

KNOWN = ("human", "mock", "codex", "gemini", "claude", "openai:MODEL", "ollama:MODEL", "mine")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("GPT-4.1-mini", "openai:GPT-4.1-mini"),
        ("o3", "openai:o3"),
        ("o4-mini", "openai:o4-mini"),
        ("chatgpt-4o-latest", "openai:chatgpt-4o-latest"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("sonnet", "anthropic:sonnet"),
        ("gemini-2.5-pro", "google:gemini-2.5-pro"),
        ("gemini:gemini-2.5-pro", "google:gemini-2.5-pro"),
        ("llama3.2:3b", "ollama:llama3.2:3b"),
        ("mistral:7b", "ollama:mistral:7b"),
        ("mixtral", "ollama:mixtral"),
        ("qwen3", "ollama:qwen3"),
        ("gpt-oss:20b", "ollama:gpt-oss:20b"),
        ("deepseek-r1:8b", "ollama:deepseek-r1:8b"),
        ("opnai:gpt-5", "openai:gpt-5"),
        ("OpenAI:gpt-5", "openai:gpt-5"),
        ("openai/gpt-5", "openai:gpt-5"),
        ("antropic:claude-opus-4", "anthropic:claude-opus-4"),
        ("olama:qwen3", "ollama:qwen3"),
        ("Claude", "claude"),
        ("claud", "claude"),
        ("openai", "openai:MODEL"),
        ("min", "mine"),
        ("./x.py", "cmd:python3 ./x.py"),
        ("./w.sh", "cmd:sh ./w.sh"),
        ("../bin/judge", "cmd:../bin/judge"),
        ("python judge.py --fast", "cmd:python judge.py --fast"),
        ("zzzzz", None),
    ],
)
def test_a_name_that_is_nearly_right_is_answered(typed: str, meant: str | None) -> None:
    assert meant_name(typed, KNOWN) == meant


@pytest.mark.parametrize(
    ("typed", "model"),
    [("openrouter", "MODEL"), ("openrouter:meta/llama-3", "meta/llama-3"), ("groq/x", "x")],
)
def test_a_service_is_told_to_be_named_in_the_settings(typed: str, model: str) -> None:
    hint = service_hint(typed)
    assert hint is not None and "compatible" in hint and f'model = "{model}"' in hint
    assert service_hint("mistral:7b") is None


@pytest.fixture
def ready(desk: Desk) -> Desk:
    desk.file("a.md", "hi\n")
    desk.file("rubric.yaml", "criteria: [{id: kind, requirement: Is kind}]\n")
    desk.file(
        "suite.yaml",
        "suite: 1\nartifact: a.md\ntarget: identity\ncases: [{id: one, input: hi, checks: [{contains: h}]}]\n",
    )
    desk.file("w.sh", "true\n")
    return desk


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("eval", "a.md", "-r", "rubric.yaml", "-j", "gpt-5"), "did you mean `openai:gpt-5`?"),
        (("eval", "suite.yaml", "-t", "gpt-5"), "did you mean `openai:gpt-5`?"),
        (("improve", "a.md", "-r", "rubric.yaml", "--worker", "./w.sh"), "`cmd:sh ./w.sh`"),
        (("eval", "a.md", "-r", "rubric.yaml", "-j", "openrouter:x"), 'provider = "compatible"'),
        (("eval", "suite.yaml", "a.md"), "honestone eval suite.yaml --artifact a.md"),
        (("eval", "a.md", "suite.yaml"), "honestone eval suite.yaml --artifact a.md"),
        (("eval", "a.md", "w.sh", "rubric.yaml"), "eval a.md w.sh --rubric rubric.yaml"),
        (("eval", "a.md", "rubric.yaml"), "honestone eval a.md --rubric rubric.yaml"),
        (("eval", "suite.yaml", "-r", "rubric.yaml"), "honestone eval suite.yaml"),
        (("eval", "suite.yaml", "a.md", "-r", "rubric.yaml"), "has its own rubric"),
    ],
)
def test_a_call_that_is_nearly_right_is_answered(
    ready: Desk, words: tuple[str, ...], meant: str
) -> None:
    """Exit 2 before anything is made, with the command that was meant."""
    shown = ready.run(*words)
    assert shown.is_refusal and meant in shown.err, shown.err
    assert not (ready.folder / ".honestone").exists()


def test_a_provider_of_the_settings_that_is_unknown(ready: Desk) -> None:
    """All providers are listed, the agent CLIs too."""
    ready.file("honestone.toml", '[judges.x]\nprovider = "openrouter"\nmodel = "m"\n')
    shown = ready.run("eval", "a.md", "-r", "rubric.yaml", "-j", "x")
    assert shown.is_refusal
    assert all(name in shown.err for name in ("openai", "vllm", "compatible", "codex", "claude"))
