#!/bin/bash
# The libraries for users' programs load with every C library from glibc 2.17 on,
# and with musl: they need no other library, no newer symbol, and only symbols of
# the table from which the libraries are made with which they are linked.
set -euo pipefail

table=$1
shift     # libraries
tmp=$TEST_TMPDIR
failed=0

newest=GLIBC_2.17
libraries='libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|libpmix\.so\.2'
# References that may stay unresolved: of the compiler's start files and of its
# transactional memory, of its library, and of code that tests whether the
# function exists.
weak='_ITM_|_ZGTt|__gmon_start__|__pthread_key_create|pthread_once|__cxa_finalize|mallinfo2|malloc_trim'

report() {  # text, file
  if [[ -s $2 ]]; then
    echo "$(basename "$library"): $1:"
    cat "$2"
    failed=1
  fi
}

# The symbols of the table, as nm prints references to them.
tail -n +2 "$table" |
    awk -F'\t' '{print $3 == "-" ? $1 : $1 "@" $3}' | sort > "$tmp/table"

awk -F'\t' 'NR > 1 && $3 != "-" {print $3}' "$table" | sort -uV > "$tmp/versions"
if [[ $( (cat "$tmp/versions"; echo "$newest") | sort -V | tail -1) != "$newest" ]]
then
  echo "the table has versions after $newest"
  failed=1
fi

for library; do
  readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' > "$tmp/needed"
  grep -vxE "$libraries" "$tmp/needed" > "$tmp/foreign" || true
  report "needs other libraries" "$tmp/foreign"

  nm -D --undefined-only "$library" | awk '$1 == "U" {print $2}' | sort > "$tmp/strong"
  comm -23 "$tmp/strong" "$tmp/table" | grep -v '^PMIx_' > "$tmp/unknown" || true
  report "needs symbols that the table lacks" "$tmp/unknown"

  nm -D --undefined-only "$library" |
      awk '$1 != "U" {print $2}' | sort > "$tmp/optional"
  comm -23 "$tmp/optional" "$tmp/table" | grep -vE "^($weak)" > "$tmp/odd" || true
  report "refers to weak symbols that are not known" "$tmp/odd"

  # The loader of musl, and glibc for libraries of a certain size, refuse to
  # open such a library while the program runs.
  readelf -d "$library" | grep STATIC_TLS > "$tmp/static_tls" || true
  report "has thread-local data that is reserved at the program's start" \
      "$tmp/static_tls"
  echo "$(basename "$library") needs: $(tr '\n' ' ' < "$tmp/needed")"
done
exit "$failed"
