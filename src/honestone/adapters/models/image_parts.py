"""Images as the parts of a message. They come before the prompt, each after its number, so that our words are last."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from honestone.ports import Image, Prompt


def base64_of(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64_of(image)}"


def parts_of(
    prompt: Prompt, as_text: Callable[[str], dict[str, Any]], as_image: Callable[[Image], dict[str, Any]]
) -> list[dict[str, Any]]:
    """`Image 1:`, the image, ..., and the prompt's text at the end."""
    parts: list[dict[str, Any]] = []
    for number, image in enumerate(prompt.images, start=1):
        parts += [as_text(f"Image {number}:"), as_image(image)]
    return [*parts, as_text(prompt.text)]
