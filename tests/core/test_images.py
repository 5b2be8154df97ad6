"""Images are known by their content and sent only as far as a request can hold them."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.judging.images import (
    LARGEST_IMAGE,
    MOST_BYTES,
    MOST_IMAGES,
    image_type,
    images_in,
    images_to_send,
    is_image_address,
    written_images,
)

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


def written(data: bytes) -> str:
    return f"[[image: data:image/png;base64,{b64encode(data).decode()}]]"


@given(st.lists(st.tuples(st.text(alphabet="a [:]é\n"), st.binary(max_size=40))))
def test_images_written_in_a_text_come_back(parts: list[tuple[str, bytes]]) -> None:
    """In their order and unchanged, whatever stands between them; the words stay where they were."""
    text, images = written_images("".join(said + written(PNG + data) for said, data in parts))
    assert [image.data for image in images] == [PNG + data for _, data in parts]
    numbered = enumerate(zip(parts, images, strict=True), 1)
    assert text == "".join(
        f"{said}[image {n}, {image.digest[7:23]}]" for n, ((said, _), image) in numbered
    )


@pytest.mark.parametrize(
    "text",
    [
        "[[image: cat.png]]",
        "[[image: file:///etc/passwd]]",
        "[[image: data:image/png;base64,!!]]",
        written(b"not an image"),
        "[[Image:Cat.jpg]] https://x.org/cat.png",
    ],
)
def test_what_is_not_an_image_stays_text(text: str) -> None:
    """A name of a file is never opened, and an address alone is only a text."""
    assert written_images(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "is_address"),
    [
        ("data:image/png;base64,aGk=", True),
        ("https://example.org/a.png", True),
        ("http://example.org/a.png", True),
        ("images/a.png", False),
        ("httpd/logo.png", False),
    ],
)
def test_an_address_is_told_from_the_name_of_a_file(text: str, is_address: bool) -> None:
    assert is_image_address(text) is is_address


def test_an_image_on_a_server_is_known_by_its_address() -> None:
    """It is not fetched; another address is another image."""
    text, images = written_images("[[image: https://x.org/a]][[image: https://x.org/b]]")
    assert [image.path for image in images] == ["https://x.org/a", "https://x.org/b"]
    assert len({image.digest for image in images}) == 2 and text.startswith("[image 1, ")
