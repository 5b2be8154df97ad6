#!/bin/sh
# The cases from public bug reports in the folder $1, with the Python $2.
set -eu
folder=$1 bin=$PWD/$(dirname "$2")
[ -d "$folder" ] || { echo "skipped: $folder is not here"; exit 0; }
HONESTONE=$bin/honestone exec "$folder/run"
