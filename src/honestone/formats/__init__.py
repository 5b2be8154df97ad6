"""Our own files: rubric, suite, settings, lock."""

from honestone.core.checks import KINDS
from honestone.formats.added_checks import added_checks

KINDS.take_added(added_checks)
