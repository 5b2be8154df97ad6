#!/bin/sh
# Chromium from the Debian package, where it is not here yet, and axe-core from npm below .axe/. Fails where there is
# no Chromium; without axe-core its checks are skipped.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v chromium >/dev/null; then
  timeout 300 apt-get update -qq
  timeout 600 apt-get install -y -qq --no-install-recommends chromium
fi
if command -v npm >/dev/null && ! [ -f .axe/node_modules/axe-core/axe.min.js ]; then
  timeout 120 npm install --no-fund --no-audit --silent --prefix .axe axe-core@4.14.1 ||
    echo "axe-core could not be installed: its checks are skipped"
fi
