#!/bin/bash
# The libraries for users' programs load into programs of this machine's glibc
# and of musl, opened by the program and preloaded by its environment.
set -euo pipefail

main=$1
libraries=("${@:2:3}")
include=$(dirname "$5")  # that of the headers, the further arguments
tmp=$TEST_TMPDIR
mkdir -p "$tmp/lib"
cp -f "${libraries[@]}" "$tmp/lib"
cd "$tmp"
failed=0

# The loader only warns of a preloaded library that it cannot load, so every
# line on standard error counts as a failure.
expect() {  # what, command...
  local what=$1
  shift
  if "$@" > output 2> errors && [[ ! -s errors ]]; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    cat output errors
    failed=1
  fi
}

try() {  # compiler
  "$1" -O1 -Wall -Wextra -Werror -I"$OLDPWD/$include" -o main "$OLDPWD/$main"
  expect "$1, opened" ./main "$tmp/lib/libpmix.so.2"
  local library
  for library in lib/*; do
    expect "$1, $library preloaded" \
        env LD_LIBRARY_PATH="$tmp/lib" LD_PRELOAD="$tmp/$library" \
        ./main libpmix.so.2
  done
}

try gcc
if command -v musl-gcc > /dev/null; then
  try musl-gcc
else
  echo "SKIPPED: musl-gcc is not installed"
fi
exit "$failed"
