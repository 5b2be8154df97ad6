#!/bin/sh
# A virtual environment of its own for large tools: $1 its folder, $2 a dependency group of pyproject.toml, the rest is
# installed besides.
set -eu
cd "$(dirname "$0")/../.."
folder=$1 group=$2
shift 2
test -x "$folder/bin/python" || "${PYTHON:-python3}" -m venv "$folder"
packages=$("$folder/bin/python" -c "
import tomllib
print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['$group'])")
# shellcheck disable=SC2086
"$folder/bin/python" -m pip install --disable-pip-version-check --quiet "$@" $packages
touch "$folder/ready"
