"""AgentV rubrics without cases: what its rubric page shows most of can judge an artifact as it stands."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from honestone.core.ballot import Ballot
from honestone.core.contract import Contract  # noqa: F401  (keeps the import graph of the tests that score)
