#!/bin/bash
# libpmix.so.2 exports the functions and data of the tables and nothing else, and
# carries its SONAME. Its symbols have no versions: a version would be part of a
# name.
set -euo pipefail

library=$1
required=$2  # every function of release 4.2.2
allowed=$3   # every function of the table
data=$4      # every data symbol with its size
tmp=$TEST_TMPDIR

# Programs copy data, so the kind and the size of a data symbol matter. Of a
# function, only the name matters.
readelf --dyn-syms -W "$library" | awk '$7 != "UND" && $5 != "LOCAL"' \
    > "$tmp/symbols"
awk '$4 == "FUNC" {print $8}' "$tmp/symbols" | sort > "$tmp/have"
awk '$4 == "OBJECT" && $6 == "DEFAULT" {print $8, $3}' "$tmp/symbols" | sort \
    > "$tmp/have_data"
awk 'NF == 8 && $4 != "FUNC" && $4 != "OBJECT" && $1 ~ /^[0-9]+:/' \
    "$tmp/symbols" > "$tmp/odd"
sort "$data" > "$tmp/data"
sort "$required" > "$tmp/required"
sort "$allowed" > "$tmp/allowed"

failed=0
report() {  # text, file with names
  if [[ -s $2 ]]; then
    echo "$1:"
    cat "$2"
    failed=1
  fi
}

comm -13 "$tmp/have" "$tmp/required" > "$tmp/missing"
report "missing of release 4.2.2" "$tmp/missing"
comm -13 "$tmp/have" "$tmp/allowed" > "$tmp/absent"
report "missing of the function table" "$tmp/absent"
comm -23 "$tmp/have" "$tmp/allowed" > "$tmp/extra"
report "exported but not in the function table" "$tmp/extra"
comm -13 "$tmp/have_data" "$tmp/data" > "$tmp/absent_data"
report "missing of the symbol table (name, size)" "$tmp/absent_data"
comm -23 "$tmp/have_data" "$tmp/data" > "$tmp/extra_data"
report "exported but not in the symbol table (name, size)" "$tmp/extra_data"
report "neither function nor data" "$tmp/odd"

if ! readelf -d "$library" | grep -q 'SONAME.*\[libpmix\.so\.2\]'; then
  echo "wrong SONAME"
  failed=1
fi
if readelf -d "$library" | grep -qE 'RPATH|RUNPATH|TEXTREL'; then
  echo "has a run path or text relocations"
  failed=1
fi
# A program may have the copy of a data symbol, which the library must use too, so
# the library must not bind its own symbols.
if readelf -d "$library" | grep -q SYMBOLIC; then
  echo "binds its own symbols"
  failed=1
fi

echo "exported: $(wc -l < "$tmp/have"), data $(wc -l < "$tmp/have_data")"
exit "$failed"
