#!/bin/sh
# The schema of SARIF 2.1.0, in a package of its makers from npm, below .exports/sarif/. Without npm its test is skipped.
set -eu
cd "$(dirname "$0")/../.."
command -v npm >/dev/null || exit 0
mkdir -p .exports/sarif
cd .exports/sarif
timeout 120 npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null && tar -xzf microsoft-jest-sarif-*.tgz ||
  echo "the schema of SARIF could not be fetched: its test is skipped"
