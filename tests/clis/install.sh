#!/bin/sh
# Installs the three agent CLIs, at the versions that the tests were written for, below .clis/ (never committed).
# Which registry they come from is npm's own setting.
set -eu
cd "$(dirname "$0")/../.."
folder=${CLIS_DIR:-.clis}
wanted="@openai/codex@0.169.0 @anthropic-ai/claude-code@2.1.197 @google/gemini-cli@0.61.0"
if ! command -v npm >/dev/null 2>&1; then
  echo "npm is not here, so the agent CLIs are not installed and their tests are skipped" >&2
  exit 0
fi
mkdir -p "$folder"
printf '*\n' >"$folder/.gitignore"
if [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ]; then
  exit 0
fi
# shellcheck disable=SC2086
npm install --no-fund --no-audit --silent --prefix "$folder" $wanted
printf '%s\n' "$wanted" >"$folder/installed"
