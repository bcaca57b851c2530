#!/bin/bash
# libpmi.so.0 or libpmi2.so.0 exports the functions of its header and nothing
# else, needs libpmix, and carries its SONAME.
set -euo pipefail

library=$1
names=$2  # every function of the header
tmp=$TEST_TMPDIR
failed=0

report() {  # text, file with names
  if [[ -s $2 ]]; then
    echo "$1:"
    cat "$2"
    failed=1
  fi
}

readelf --dyn-syms -W "$library" |
    awk '$7 != "UND" && $5 != "LOCAL" && $1 ~ /^[0-9]+:/ {print $8}' |
    sort > "$tmp/have"
sort "$names" > "$tmp/want"
comm -13 "$tmp/have" "$tmp/want" > "$tmp/missing"
report "not exported" "$tmp/missing"
comm -23 "$tmp/have" "$tmp/want" > "$tmp/extra"
report "exported but not in the header" "$tmp/extra"

readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' > "$tmp/needed"
if ! grep -qx 'libpmix\.so\.2' "$tmp/needed"; then
  echo "does not need libpmix.so.2"
  failed=1
fi
if ! readelf -d "$library" | grep -qF "SONAME" ||
    ! readelf -d "$library" | grep SONAME | grep -qF "[$(basename "$library")]"; then
  echo "wrong SONAME"
  failed=1
fi
if readelf -d "$library" | grep -qE 'RPATH|RUNPATH|TEXTREL'; then
  echo "has a run path or text relocations"
  failed=1
fi
exit $failed
