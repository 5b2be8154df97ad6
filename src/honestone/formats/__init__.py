"""Our own files: rubric, suite, settings, lock."""

from honestone.core.added_kinds import find_added_kinds_with
from honestone.formats.added_checks import added_checks

find_added_kinds_with(added_checks)
