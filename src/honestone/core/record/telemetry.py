"""What telemetry hears of a run: the run, its parts, its calls, and the scores that come of them.
Nouns only; what carries them elsewhere is an adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from honestone.core.judging.ballot import Ballot
from honestone.core.judging.contract import Identity
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Usage

CallRole: TypeAlias = Literal["judge", "worker", "target", "check"]
CallOperation: TypeAlias = Literal["chat", "embeddings"]
PartKind: TypeAlias = Literal["artifact", "attempt", "round"]


class TracedRun(Struct, frozen=True, kw_only=True):
    """A run under way. `id` is that of the store; `kind` says what it does: eval, suite, improve,
    ...
    """

    id: str
    kind: str


class TracedPart(Struct, frozen=True, kw_only=True):
    """A part of a run: an artifact, an attempt at a case, a round. `number` counts from 1; `name`
    is the artifact's or case's.
    """

    kind: PartKind
    name: str = ""
    number: int | None = None


class TracedCall(Struct, frozen=True, kw_only=True):
    """One call of something outside. `name` and `identity` are those of the judge, worker or
    target, and the kind of a check; `operation` is what a model is asked for; `text` is what it is
    asked, made only where texts are captured.
    """

    role: CallRole
    name: str
    identity: Identity
    operation: CallOperation = "chat"
    text: Callable[[], str] = str


Activity: TypeAlias = TracedRun | TracedPart | TracedCall


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What came back from a call. `text` is made only where texts are captured."""

    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    text: Callable[[], str] = str


class TracedScore(Struct, frozen=True, kw_only=True):
    """A score that was given. `criterion` None: the whole. `points` are 0 to 100, None where marks
    are missing; `label` is the verdict of the whole; `why` holds words of judges.
    """

    criterion: str | None
    points: float | None
    label: str | None = None
    why: str = ""


class CalledThing(Struct, frozen=True, kw_only=True):
    """What a call reaches, as an identity says: a model, an agent CLI, a program (its name alone),
    or none of them.
    """

    provider: str | None = None
    model: str | None = None
    agent: str | None = None
    program: str | None = None
    host: str | None = None
    port: int | None = None


# Whose models an agent CLI asks.
_MAKERS: Final = {"claude": "anthropic", "codex": "openai", "gemini": "google"}

_PORTS: Final = {"http": 80, "https": 443}


def called_thing(identity: Identity) -> CalledThing:
    """What an identity names. Of a server only host and port are taken, of a command only the
    program's name.
    """
    model = identity.get("model")
    if isinstance(model, Mapping):
        return called_thing(model)
    named = model if isinstance(model, str) else None
    host, port = _server(identity.get("base_url"))
    cli = identity.get("cli")
    if isinstance(cli, str):
        return CalledThing(provider=_MAKERS.get(cli), model=named, agent=cli, host=host, port=port)
    provider = identity.get("provider")
    if isinstance(provider, str):
        return CalledThing(provider=provider, model=named, host=host, port=port)
    command = identity.get("command")
    if isinstance(command, Sequence) and not isinstance(command, str) and command:
        return CalledThing(program=str(command[0]).rpartition("/")[2])
    return CalledThing()


def _server(url: object) -> tuple[str | None, int | None]:
    if not isinstance(url, str):
        return None, None
    try:
        parts = urlsplit(url)
        return parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None, None


def safe_name(name: str, thing: CalledThing) -> str:
    """The name of a judge, worker or target without the words of a command, which may hold a key."""
    scheme, is_long, _ = name.partition(":")
    if thing.program is not None and is_long and (scheme in ("cmd", "script") or " " in name):
        return f"{scheme}:{thing.program}"
    return name


def traced_scores(scorer: Scorer, ballots: Sequence[Ballot]) -> Iterator[TracedScore]:
    """The whole first, then every criterion."""
    card, verdict = scorer.judged(ballots)
    yield TracedScore(
        criterion=None,
        points=_points(card.score),
        label=str(verdict.outcome),
        why="; ".join(verdict.reasons),
    )
    for line in card.lines:
        id = line.criterion.id
        yield TracedScore(criterion=id, points=_points(line.score), why=_evidence(id, ballots))


def _points(score: Fraction | None) -> float | None:
    return None if score is None else float(score * 100)


def _evidence(criterion: str, ballots: Sequence[Ballot]) -> str:
    lines = [
        quote
        for ballot in ballots
        for (of, _), mark in ballot.marks.items()
        for quote in mark.evidence
        if of == criterion
    ]
    return "\n".join(lines)
