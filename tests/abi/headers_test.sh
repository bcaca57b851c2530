#!/bin/bash
# Every header compiles alone, in C and C++, with every installed compiler, and
# without a warning.
set -euo pipefail

dir=$(dirname "$1")
failed=0

compile() {  # compiler language standard header
  if ! printf '#include "%s"\nint canopy_translation_unit;\n' "$4" |
      "$1" -x "$2" "-std=$3" -Wall -Wextra -Wpedantic -Wshadow -Werror \
          -I"$dir" -fsyntax-only -; then
    echo "FAILED: $4 with $1 -std=$3"
    failed=1
  fi
}

for path in "$@"; do
  header=$(basename "$path")
  for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    for standard in c99 c11 gnu17; do
      compile "$compiler" c "$standard" "$header"
    done
    for standard in c++17 c++20; do
      compile "$compiler" c++ "$standard" "$header"
    done
  done
done
exit "$failed"
