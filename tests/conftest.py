"""What all tests share."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

from hypothesis import HealthCheck, settings

# A busy machine is not a defect: what is slow is measured in bench/, and no test is timed.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
# One outcome on one commit: the examples follow from the test alone, and no earlier run adds any.
settings.register_profile("fixed", **_UNTIMED, derandomize=True)
# What `make test-deep` runs: other examples for each seed, and a line that reproduces what fails.
settings.register_profile("deep", **_UNTIMED, max_examples=400, print_blob=True)
settings.load_profile(os.environ.get("HONESTONE_TEST_PROFILE", "fixed"))

# What a shell starts in the background ignores Ctrl-C, and so would every command that the tests
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What an account keeps for itself (keys of stores, trust) is the tests' own: in processes that get
# no home of theirs, too.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="honestone-tests-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
