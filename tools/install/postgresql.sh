#!/bin/sh
# PostgreSQL's server from the Debian package, where it is not here yet. Fails where it cannot be had.
set -eu
if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
timeout 300 apt-get update -qq
timeout 600 apt-get install -y -qq --no-install-recommends postgresql
