"""Inspect's `.eval`: an archive with a file for each sample, packed with zstd, or with deflate by
older versions.

An archive is hostile data. Nothing is written to disk and no name in it becomes a path; what it
unpacks to is counted as it is read. The `zipfile` of Python 3.14 unpacks zstd; an older one leaves
it to the package zstandard (the extra `inspect`).
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern, visible

# Of an archive, and of all that is unpacked from it.
MAX_BYTES: Final = 100_000_000
MAX_MEMBERS: Final = 200_000
MAGIC: Final = b"PK\x03\x04"
_ZSTD: Final = 93
_SAMPLE: Final = late_pattern(r"samples/[^/]+\.json")
# What of a member's own header matters: its mark, and how long its name and its extra field are.
_HEADER: Final = struct.Struct("<4s22xHH")
_JSON_HINT: Final = "inspect log convert --to json writes it as JSON"


def samples_in(data: bytes, path: Path) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each sample. Raises FileError for what is damaged, too large, or
    cannot be unpacked here.
    """
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [one for one in archive.infolist() if _SAMPLE.fullmatch(one.filename)]
            if len(found) > MAX_MEMBERS:
                raise FileError(f"`{path}` holds more than {MAX_MEMBERS:,} samples")
            for member in found:
                content = _content(archive, data, member, left + 1)
                left -= len(content)
                if left < 0:
                    raise FileError(
                        f"`{path}` is larger than {MAX_BYTES // 1_000_000} MB when it is unpacked"
                    )
                yield visible(member.filename, 120), content
    except ImportError:
        raise FileError(
            f"`{path}` is packed with zstd, which this Python does not unpack",
            hint=f"pip install 'honestone[inspect]'; or {_JSON_HINT}",
        ) from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
    ) as error:
        raise FileError(
            f"`{path}` cannot be unpacked: {visible(str(error), 120)}", hint=_JSON_HINT
        ) from None


def _content(archive: zipfile.ZipFile, data: bytes, member: zipfile.ZipInfo, most: int) -> bytes:
    """The first `most` bytes of a member."""
    if member.compress_type != _ZSTD:
        with archive.open(member) as file:
            return file.read(most)
    if member.flag_bits & 1:
        raise zipfile.BadZipFile("it is encrypted")
    content = _unpacker()(_packed(data, member), most)
    if len(content) < most and (
        len(content) != member.file_size or zlib.crc32(content) != member.CRC
    ):
        raise zipfile.BadZipFile(f"{member.filename} is damaged")
    return content


def _packed(data: bytes, member: zipfile.ZipInfo) -> bytes:
    """The bytes of a member as they are in the archive, behind its own header."""
    at = member.header_offset
    if at < 0 or at + 30 > len(data):
        raise zipfile.BadZipFile(f"{member.filename} is outside of the archive")
    mark, name, extra = _HEADER.unpack_from(data, at)
    start = at + 30 + name + extra
    if mark != MAGIC or start + member.compress_size > len(data):
        raise zipfile.BadZipFile(f"{member.filename} is outside of the archive")
    return data[start : start + member.compress_size]


def _unpacker() -> Callable[[bytes, int], bytes]:
    """What unpacks zstd, at most so many bytes. Raises ImportError where nothing does."""
    try:
        standard = import_module("compression.zstd")
    except ImportError:
        package = import_module("zstandard")
    else:
        return lambda packed, most: bytes(
            _refusing(standard.ZstdError, standard.ZstdDecompressor().decompress, packed, most)
        )
    return lambda packed, most: bytes(
        _refusing(package.ZstdError, package.ZstdDecompressor().stream_reader(packed).read, most)
    )


def _refusing(kind: type[Exception], call: Callable[..., bytes], *args: object) -> bytes:
    try:
        return call(*args)
    except (kind, MemoryError) as error:
        raise zipfile.BadZipFile(str(error) or "it needs too much memory") from None
