#!/usr/bin/env bash
# MANAGER EXCHANGE ABORT: its ranks exchange what they have put, twice over
# again, and end with the code that one of them gives to PMIx_Abort.
set -euo pipefail
out=$("$1" 4 "$2" 4)
echo "$out"
grep -qx "exchange ok size 4" <<< "$out"
code=0
"$1" 3 "$3" 3 7 || code=$?
[ "$code" = 7 ]
# A program that does not exist is no success.
code=0
"$1" 1 /no/such/program || code=$?
[ "$code" = 127 ]
