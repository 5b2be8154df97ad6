#!/bin/sh
# The cases from public bug reports in the folder $1, with the Python $2; names that match $3 are left out.
set -eu
folder=$1 bin=$PWD/$(dirname "$2") left_out=$3
[ -d "$folder" ] || { echo "skipped: $folder is not here"; exit 0; }
# shellcheck disable=SC2046
HONESTONE=$bin/honestone exec "$folder/run" $(cd "$folder" && ls -d -- */ | tr -d / | grep -Ev "$left_out")
