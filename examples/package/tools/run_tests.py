"""A check: `python3 -m unittest` on the tests beside the rubric, with the package that is judged. Exit 0 is yes.

python3 tools/run_tests.py Parsing    the tests of one class
"""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"

if __name__ == "__main__":
    artifact = os.environ["HONESTONE_ARTIFACT"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([artifact, str(TESTS)]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q", f"test_durations.{sys.argv[1]}"],
        cwd=artifact, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    failed = [line for line in done.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:"))]
    if done.returncode:
        print("\n".join(failed) or done.stderr, file=sys.stderr)
    sys.exit(done.returncode)
