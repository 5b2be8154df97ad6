"""Every name that telemetry uses, with its meaning: the adapter takes its names from here, and `docs/telemetry.md` lists them."""

from __future__ import annotations

from typing import Final

ATTRIBUTES: Final[dict[str, str]] = {
    "honestone.run.id": "id of the run, as `honestone runs` lists it",
    "honestone.run.kind": "what the run does: eval, suite, table, improve, audit, noise",
    "honestone.part.name": "path of the artifact, id of the case, or step of the round",
    "honestone.part.number": "number of the attempt or round, from 1",
    "honestone.call.role": "who is called: judge, worker, target, check",
    "honestone.call.name": "the judge or worker; of a command only the program; of a check its kind",
    "honestone.usage.cost": "price of the call in US dollars, where it is known",
    "honestone.evaluation.scope": "`overall` or `criterion`",
    "honestone.error.message": "the reason of a failure (only where texts are captured)",
    "error.type": "what kind of failure: missing, retryable, call_failed, target_error, no_answer, timeout, denied, crashed, or an exception",
    "gen_ai.operation.name": "`chat` or `embeddings` for a model, `invoke_agent` for an agent CLI",
    "gen_ai.provider.name": "openai, anthropic, gcp.gemini, ollama, vllm, ...",
    "gen_ai.agent.name": "the agent CLI: codex, claude, gemini",
    "gen_ai.request.model": "the model that was asked for",
    "gen_ai.response.model": "the model that answered, where the server says it",
    "gen_ai.usage.input_tokens": "tokens of the prompt",
    "gen_ai.usage.output_tokens": "tokens of the reply",
    "gen_ai.usage.cache_read.input_tokens": "tokens of the prompt that the server had cached",
    "gen_ai.token.type": "`input` or `output` (of the metric)",
    "gen_ai.input.messages": "the prompt, as JSON (only where texts are captured)",
    "gen_ai.output.messages": "the reply, as JSON (only where texts are captured)",
    "gen_ai.evaluation.name": "id of the criterion; `overall` for the whole",
    "gen_ai.evaluation.score.value": "0 to 100; left out where marks are missing",
    "gen_ai.evaluation.score.label": "verdict of the whole: pass, fail, inconclusive",
    "gen_ai.evaluation.explanation": "reasons and quotes (only where texts are captured)",
    "server.address": "host of the model's server",
    "server.port": "its port",
}

# Kind, unit and meaning.
METRICS: Final[dict[str, tuple[str, str, str]]] = {
    "gen_ai.client.operation.duration": ("histogram", "s", "how long a call of a model or agent took"),
    "gen_ai.client.token.usage": ("histogram", "{token}", "tokens of a call"),
    "honestone.calls": ("counter", "{call}", "calls that were made"),
    "honestone.call.failures": ("counter", "{call}", "calls that failed"),
    "honestone.replies.from_record": ("counter", "{reply}", "replies that were on record, so that no call was made"),
    "honestone.cost": ("counter", "USD", "money spent, where prices are known"),
    "honestone.run.duration": ("histogram", "s", "how long a run took"),
}

# A score: one event for the whole and one for each criterion.
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"

# Providers whose name in the conventions is another one.
PROVIDERS: Final = {"google": "gcp.gemini"}

DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
# The bounds of buckets that the conventions advise.
TOKENS: Final = tuple(4**power for power in range(14))
