#!/bin/bash
# The distribution's headers of release 4.2.2 pass the same checks as Canopy's
# headers, so programs built with either have the same binary interface. Skipped
# if the distribution's headers are not installed.
set -euo pipefail

checks=$1
include=${PMIX_OTHER_INCLUDE:-/usr/lib/x86_64-linux-gnu/pmix2/include}
if ! grep -qs 'PMIX_NUMERIC_VERSION 0x00040202' "$include/pmix_version.h"; then
  echo "SKIPPED: no headers of release 4.2.2 in $include"
  exit 0
fi

# These headers need GNU extensions and cause warnings.
gcc -std=gnu11 -w -I"$include" "$checks" -o "$TEST_TMPDIR/checks_c"
"$TEST_TMPDIR/checks_c"
g++ -x c++ -std=gnu++17 -w -I"$include" "$checks" -o "$TEST_TMPDIR/checks_cc"
"$TEST_TMPDIR/checks_cc"
