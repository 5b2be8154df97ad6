"""What the words of an agent CLI about a failure are taken for; a call that broke off is made
again.
"""

from __future__ import annotations

import pytest

from honestone.adapters.agent_clis.base import classify

# As the CLIs, Node, Python's HTTP libraries and gateways put it.
BROKEN = """\
API Error: Connection lost mid-response
Connection lost mid-stream. Please try again.
The connection was lost while the model was answering
API Error: Connection closed mid-response. The response above may be incomplete.
Error: connection dropped during the response
stream disconnected before completion: idle timeout waiting for SSE
Stream was interrupted
socket hang up
read ECONNRESET
write EPIPE
Server disconnected without sending a response.
peer closed connection without sending complete message body (incomplete chunked read)
Unexpected end of JSON input
Error: Premature close
Connection reset by peer
The response was interrupted
This operation was aborted
"""
NETWORK = """\
Connection error.
getaddrinfo EAI_AGAIN api.anthropic.com
connect ECONNREFUSED 127.0.0.1:9
Failed to connect to api.openai.com
Request timed out
fetch failed
"""
OTHERS = {
    "Invalid API key · Please run /login": "not signed in",
    "prompt is too long: 210000 tokens > 200000 maximum": "too large",
    "Credit balance is too low": "used up",
    "API Error: 529 Overloaded": "server",
    "error: unknown option '--nope'": "wrong setting",
    "There's an issue with the selected model (x). It may not exist": "no such model",
    "Segmentation fault": "crashed",
}


@pytest.mark.parametrize("said", BROKEN.splitlines())
def test_a_reply_that_broke_off_is_broken(said: str) -> None:
    """Such a call may work when it is made again."""
    assert classify(said)[0] == "broken"


@pytest.mark.parametrize("said", NETWORK.splitlines())
def test_what_was_not_reached_is_the_network(said: str) -> None:
    """So may this one."""
    assert classify(said)[0] == "network"


@pytest.mark.parametrize(("said", "kind"), OTHERS.items())
def test_other_failures_keep_their_kind(said: str, kind: str) -> None:
    """Words about broken connections do not take in what another try cannot mend."""
    assert classify(said)[0] == kind
