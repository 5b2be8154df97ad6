"""Tests of single readers may use what stands beside them for all formats (`made_rubrics`)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
