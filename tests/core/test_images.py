"""Images are known by their content and sent only as far as a request can hold them."""

from __future__ import annotations

import pytest

from honestone.core.artifact import Entry, Version
from honestone.core.images import LARGEST_IMAGE, MOST_BYTES, MOST_IMAGES, image_type, images_in, images_to_send

PNG = b"\x89PNG\r\n\x1a\n\0"


def folder(**files: bytes) -> Version:
    return Version({name: Entry(data) for name, data in files.items()}, is_folder=True)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"GIF87a..", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(data: bytes, kind: str | None) -> None:
    """Whatever the file is called."""
    assert image_type(data) == kind


def test_images_come_in_path_order_and_nothing_else_does() -> None:
    """Text and other binary files are none."""
    found = images_in(folder(z=PNG, a=b"text", b=b"\0\1", c=PNG + b"2"))
    assert [image.path for image in found] == ["c", "z"]


def test_what_a_request_cannot_hold_is_left_out() -> None:
    """Too large an image, too many, or too much together; the rest is sent."""
    many = images_to_send(folder(**{f"i{n:03}": PNG for n in range(MOST_IMAGES + 5)}))
    assert len(many) == MOST_IMAGES
    big = PNG + b"\0" * (LARGEST_IMAGE - len(PNG))
    heavy = images_to_send(folder(a=big + b"\0", **{f"b{n}": big for n in range(6)}, c=PNG))
    assert 4 * LARGEST_IMAGE == MOST_BYTES
    assert [image.path for image in heavy] == ["b0", "b1", "b2", "b3"]
