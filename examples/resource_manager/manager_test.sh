#!/usr/bin/env bash
# Arguments: MANAGER EXCHANGE ABORT. The ranks of EXCHANGE exchange their data
# in two rounds. The ranks of ABORT end with the code that one of them passes to
# PMIx_Abort.
set -euo pipefail
out=$("$1" 4 "$2" 4)
echo "$out"
grep -qx "exchange ok size 4" <<< "$out"
code=0
"$1" 3 "$3" 3 7 || code=$?
[ "$code" = 7 ]
# A program that does not exist must fail.
code=0
"$1" 1 /no/such/program || code=$?
[ "$code" = 127 ]
