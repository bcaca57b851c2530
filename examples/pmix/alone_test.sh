#!/usr/bin/env bash
# Runs PROGRAM without an agent and looks for its "NAME ok size 1".
set -euo pipefail
out=$("$1" 1)
echo "$out"
grep -qx "$2 ok size 1" <<< "$out"
