#!/bin/sh
# The tests with real agent CLIs from npm; with NEWEST=1 the newest in place of the pinned. $1 is a Python, the rest is for pytest.
set -eu
python=$1
shift
command -v npm >/dev/null || { echo "skipped: npm is not here"; exit 0; }
CLIS_DIR=$(timeout 600 tests/clis/install.sh) || { echo "skipped: npm could not install the agent CLIs"; exit 0; }
export CLIS_DIR HONESTONE_TEST_CLIS=1
exec "$python" -m pytest tests/clis "$@"
