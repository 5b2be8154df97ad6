"""promptfoo configs: prompts times tests become cases, assertions become criteria."""

from __future__ import annotations

from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.promptfoo.assertion import FORMATS
from honestone.interop.promptfoo.config import ConfigReading
from honestone.interop.promptfoo.signs import signs
from honestone.interop.reader import Reader


def _read_config(document: Document) -> SuiteSource:
    return ConfigReading(document).read()


READERS: tuple[Reader, ...] = (FORMATS.reader("promptfoo", signs, _read_config),)
