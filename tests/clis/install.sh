#!/bin/sh
# Installs the three agent CLIs below .clis/ (never committed), at the versions that the tests were written for.
# With NEWEST=1 they are the newest that npm has, in a folder of their own, .clis-newest/.
# Which registry they come from is npm's own setting. The last line on stdout is the folder that they are in.
set -eu
cd "$(dirname "$0")/../.."
pinned="@openai/codex@0.169.0 @anthropic-ai/claude-code@2.1.197 @google/gemini-cli@0.61.0"
if ! command -v npm >/dev/null 2>&1; then
  echo "npm is not here, so the agent CLIs are not installed and their tests are skipped" >&2
  exit 0
fi

install_into() {
  folder=$1 wanted=$2
  mkdir -p "$folder"
  printf '*\n' >"$folder/.gitignore"
  if [ "$(cat "$folder/installed" 2>/dev/null || true)" != "$wanted" ]; then
    # shellcheck disable=SC2086
    npm install --no-fund --no-audit --silent --prefix "$folder" $wanted
    printf '%s\n' "$wanted" >"$folder/installed"
  fi
}

# Asked first, so that the same versions are not installed again, and the tests say which they met.
newest() {
  for name in @openai/codex @anthropic-ai/claude-code @google/gemini-cli; do
    version=$(npm view "$name" version 2>/dev/null) && [ -n "$version" ] || return 1
    printf '%s@%s ' "$name" "$version"
  done
}

if [ "${NEWEST:-}" = 1 ]; then
  if wanted=$(newest) && install_into "${CLIS_DIR:-.clis-newest}" "$wanted"; then
    echo "the newest agent CLIs: $wanted" >&2
    echo "${CLIS_DIR:-.clis-newest}"
    exit 0
  fi
  echo "npm could not install the newest agent CLIs, so the tests run with the pinned ones: $pinned" >&2
fi
install_into "${CLIS_DIR:-.clis}" "$pinned"
echo "${CLIS_DIR:-.clis}"
