#!/bin/sh
# A virtual environment in the folder $1 with the packages that follow.
set -eu
folder=$1
shift
test -x "$folder/bin/python" || "${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --disable-pip-version-check --quiet "$@"
