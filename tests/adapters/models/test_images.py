"""Images of a prompt, in the shape that each model API documents, sent to the stand-in."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import pytest

from honestone.adapters.models.catalog import make_model
from honestone.ports import Image, Prompt

from .standin import APIS, Standin

PROVIDER = {
    "chat": "compatible",
    "responses": "openai",
    "messages": "anthropic",
    "generateContent": "google",
}
PNG, JPEG = b"\x89PNG\r\n\x1a\nrest", b"\xff\xd8\xffrest"
IMAGES = (
    Image(path="a.png", media_type="image/png", data=PNG),
    Image(path="b.jpg", media_type="image/jpeg", data=JPEG),
)


def sent(standin: Standin, api: str, prompt: Prompt) -> Any:
    """The body that arrives at the server."""
    model = make_model(
        PROVIDER[api],
        "tester",
        api=api if api in ("chat", "responses") else None,
        base_url=standin.base_url(api),
        api_key_env="TEST_KEY",
        timeout=5.0,
    )

    async def once() -> None:
        try:
            await model.complete(prompt)
        finally:
            await model.close()

    asyncio.run(once())
    return standin.last.body


def text_and_images(api: str, body: Any) -> list[Any]:
    """The parts of the message in order: words as text, images as (media type, base 64)."""
    if api == "generateContent":
        parts = body["contents"][0]["parts"]
        return [
            p["text"] if "text" in p else (p["inlineData"]["mimeType"], p["inlineData"]["data"])
            for p in parts
        ]
    message = body["input"][0] if api == "responses" else body["messages"][0]
    assert message["role"] == "user"
    found: list[Any] = []
    for part in message["content"]:
        match part["type"]:
            case "text" | "input_text":
                found.append(part["text"])
            case "image":
                assert part["source"]["type"] == "base64"
                found.append((part["source"]["media_type"], part["source"]["data"]))
            case "image_url":
                found.append(of_url(part["image_url"]["url"]))
            case "input_image":
                found.append(of_url(part["image_url"]))
    return found


def of_url(url: str) -> tuple[str, str]:
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return kind, data


@pytest.mark.parametrize("api", APIS)
def test_images_arrive_numbered_and_the_prompt_is_last(standin: Standin, api: str) -> None:
    """Bytes unchanged, each with its media type behind its number."""
    body = sent(standin, api, Prompt(text="Judge this.", images=IMAGES))
    assert text_and_images(api, body) == [
        "Image 1:",
        ("image/png", b64encode(PNG).decode()),
        "Image 2:",
        ("image/jpeg", b64encode(JPEG).decode()),
        "Judge this.",
    ]


@pytest.mark.parametrize("api", APIS)
def test_without_images_the_request_is_as_it_was(standin: Standin, api: str) -> None:
    """Plain text for servers that take nothing else."""
    body = sent(standin, api, Prompt(text="Judge this."))
    plain = {
        "chat": lambda: body["messages"][0]["content"],
        "responses": lambda: body["input"],
        "messages": lambda: body["messages"][0]["content"],
        "generateContent": lambda: body["contents"][0]["parts"][0]["text"],
    }[api]
    assert plain() == "Judge this."


@pytest.mark.parametrize("api", APIS)
def test_an_image_on_a_server_is_sent_as_its_address(standin: Standin, api: str) -> None:
    """The model's server fetches it; nothing here does."""
    body = sent(
        standin, api, Prompt(text="Judge this.", images=(Image(path="https://x.org/a.png"),))
    )
    address = {
        "chat": lambda: body["messages"][0]["content"][1]["image_url"]["url"],
        "responses": lambda: body["input"][0]["content"][1]["image_url"],
        "messages": lambda: body["messages"][0]["content"][1]["source"]["url"],
        "generateContent": lambda: body["contents"][0]["parts"][1]["fileData"]["fileUri"],
    }[api]
    assert address() == "https://x.org/a.png"
