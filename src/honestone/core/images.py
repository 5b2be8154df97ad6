"""Images in an artifact: known by their content, never by their name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from honestone.core.artifact import Version

MOST_IMAGES: Final = 20
LARGEST_IMAGE: Final = 3_500_000
# What every one of the model APIs takes in one request, once it is written in base 64.
MOST_BYTES: Final = 14_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image file of an artifact. `media_type` is `image/png`, `image/jpeg`, `image/webp` or `image/gif`."""

    path: str
    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.data).hexdigest()


def image_type(data: bytes) -> str | None:
    """The media type of an image by its first bytes, or None."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def images_in(version: Version) -> Iterator[Image]:
    """Every image of a version, in path order."""
    if len(version.texts) == len(version.files):
        return
    for path in sorted(version.files):
        if path not in version.texts:
            data = version.files[path].data
            media_type = image_type(data)
            if media_type is not None:
                yield Image(path=path, media_type=media_type, data=data)


def images_to_send(version: Version) -> tuple[Image, ...]:
    """The images that fit into one request, in path order; larger and later ones are not shown."""
    chosen: list[Image] = []
    room = MOST_BYTES
    for image in images_in(version):
        size = len(image.data)
        if len(chosen) < MOST_IMAGES and size <= LARGEST_IMAGE and size <= room:
            chosen.append(image)
            room -= size
    return tuple(chosen)
