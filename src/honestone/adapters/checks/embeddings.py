"""`similar`: how alike a text and a reference are in meaning, by the vectors that an embeddings
model makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honestone.adapters.checks.check_input import Setting, Subject
from honestone.adapters.checks.likeness import DEFAULT_BARS, measured
from honestone.core.artifact import Version
from honestone.core.checking.likeness import cosine
from honestone.core.checking.text_form import normal
from honestone.core.errors import UsageError
from honestone.core.judging.contract import digest_json
from honestone.core.judging.rubric import Check
from honestone.ports import CallFailed, Embedder, Finding, Usage
from honestone.system.telemetry import is_traced, span_of


def identity(check: Check, setting: Setting) -> Mapping[str, Any]:
    return {} if setting.embedder is None else {"embeddings": dict(setting.embedder.identity)}


def preflight(check: Check, setting: Setting, version: Version | None) -> None:
    _embedder(check, setting)


def judging_files(check: Check, setting: Setting) -> list[Path]:
    return []


async def find(check: Check, subject: Subject) -> Finding:
    """Held against the first reference that reaches the bar, else against the most similar one."""
    embedder = _embedder(check, subject.setting)
    bar, best = check.option("min_score", DEFAULT_BARS["similar"]), 0.0
    try:
        vector = await _vector(embedder, normal(subject.text), subject)
        for reference in check.words:
            best = max(best, cosine(vector, await _vector(embedder, normal(reference), subject)))
            if best >= bar:
                break
    except CallFailed as failed:
        return Finding(met=None, note=f"no embedding: {failed.reason}")
    except ValueError as error:
        return Finding(met=None, note=f"the embeddings cannot be compared: {error}")
    return measured(check, best)


async def _vector(embedder: Embedder, text: str, subject: Subject) -> list[float]:
    """The embedding of a text. One on record for the same text and model is used again."""

    async def call() -> Mapping[str, Any]:
        vector, usage = await (_traced(embedder, text) if is_traced() else embedder.embed(text))
        return {"vector": vector, "input_tokens": usage.input_tokens}

    if subject.once is None:
        return list((await call())["vector"])
    key = digest_json({"embedding": text, "by": dict(embedder.identity)})
    stored: Mapping[str, Any] = await subject.once(key, "embeddings", call)
    return [float(number) for number in stored["vector"]]


async def _traced(embedder: Embedder, text: str) -> tuple[list[float], Usage]:
    from honestone.core.record.telemetry import CallAnswer, TracedCall

    identity = embedder.identity
    call = TracedCall(
        role="check", name="similar", identity=identity, operation="embeddings", text=lambda: text
    )
    with span_of(call) as span:
        try:
            vector, usage = await embedder.embed(text)
        except CallFailed as failed:
            span.failed(failed.kind, failed.reason)
            raise
        span.answered(CallAnswer(usage=usage))
        return vector, usage


def _embedder(check: Check, setting: Setting) -> Embedder:
    if setting.embedder is None:
        raise UsageError(
            f"the check `{check.name}` needs a model that makes embeddings, and none is named",
            hint="name one with --embeddings: a table [embeddings.NAME] of honestone.toml, or PROVIDER:MODEL "
            "(openai:text-embedding-3-small, ollama:nomic-embed-text)",
        )
    return setting.embedder
