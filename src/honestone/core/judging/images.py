"""Images in an artifact or in a text: known by their content, never by their name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from honestone.core.artifact import Version
from honestone.core.json_value import late_pattern

MOST_IMAGES: Final = 20
LARGEST_IMAGE: Final = 3_500_000
# What every one of the model APIs takes in one request, once it is written in base 64.
MOST_BYTES: Final = 14_000_000


class Image(Struct, frozen=True, kw_only=True):
    """One image. `media_type` is `image/png`, `image/jpeg`, `image/webp` or `image/gif`; of one
    that only a server has, whose address is its `path`, it is empty, and `data` too.
    """

    path: str
    media_type: str = ""
    data: bytes = b""

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.data or self.path.encode()).hexdigest()


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
    bytes_left = MOST_BYTES
    for image in images_in(version):
        size = len(image.data)
        if len(chosen) < MOST_IMAGES and size <= LARGEST_IMAGE and size <= bytes_left:
            chosen.append(image)
            bytes_left -= size
    return tuple(chosen)


IMAGE_MARK: Final = "[[image: "
_WEB: Final = ("https://", "http://")
_WRITTEN: Final = late_pattern(r"\[\[image: ((?:data:[\w/+.-]*;base64,)*)([^\]\s]+)\]\]")


def is_image_address(text: str) -> bool:
    """Whether a text begins as a data URL or a web address does; anything else names a file."""
    return text.startswith(("data:", *_WEB))


def written_image(address: str) -> str | None:
    """An image in a text, by a data URL or an address of the web; None where models would not take
    it. What a template fills in later may be anything.
    """
    written = f"{IMAGE_MARK}{address}]]"
    return written if "{{" in address or IMAGE_MARK not in written_images(written)[0] else None


def written_images(text: str) -> tuple[str, tuple[Image, ...]]:
    """The images that a text names as `[[image: ADDRESS]]`, and the text with the number and digest
    of each in its place. The address is a data URL or that of a server; what is neither stays text.
    """
    images: list[Image] = []

    def shown(written: re.Match[str]) -> str:
        image = _image_of(written[2], is_data=bool(written[1]))
        if image is None:
            return written[0]
        images.append(image)
        return f"[image {len(images)}, {image.digest[7:23]}]"

    return _WRITTEN.sub(shown, text), tuple(images)


def _image_of(address: str, *, is_data: bool) -> Image | None:
    if not is_data:
        return Image(path=address) if address.startswith(_WEB) else None
    try:
        from base64 import b64decode

        data = b64decode(address, validate=True)
    except ValueError:
        return None
    media_type = image_type(data)
    return None if media_type is None else Image(path="", media_type=media_type, data=data)
