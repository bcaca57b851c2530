#!/bin/bash
# Libraries that refer to the same symbols of libpmix as existing programs load
# with Canopy's libpmix: linked with it or loaded after it, with references that
# are resolved at once or when they are called, and in programs that may be
# position-dependent. There is one list of symbols for each existing program.
set -euo pipefail

library=$1
sizes=$2  # every data symbol with its size
main=$3
copy=$4
shift 4   # lists
tmp=$TEST_TMPDIR
mkdir -p "$tmp/lib"
cp -f "$library" "$tmp/lib/libpmix.so.2"
export LD_LIBRARY_PATH=$tmp/lib

failed=0
expect() {  # what, command...
  local what=$1
  shift
  if "$@" > "$tmp/output" 2>&1; then
    echo "ok: $what"
  else
    echo "FAILED: $what"
    cat "$tmp/output"
    failed=1
  fi
}

is_data() { grep -q "^$1 " "$sizes"; }

# Writes a source that refers to the symbols. It calls the functions, so that
# they have slots that a later call may resolve, and takes the addresses of data.
write_stub() {  # names...
  local name
  for name; do
    if is_data "$name"; then
      echo "extern char *${name}[]; char **names_seen(void) { return $name; }"
    else
      echo "void $name(void);"
    fi
  done
  echo "void call(void) {"
  for name; do is_data "$name" || echo "  $name();"; done
  echo "}"
}

link_with=("-L$tmp/lib" -l:libpmix.so.2)
build() {  # output, options...
  local output=$1
  shift
  # The types of the functions do not matter here.
  gcc -O1 -w -fPIC -shared -o "$output" "$tmp/stub.c" "$@"
}

gcc -O1 -Wall -Wextra -Werror -o "$tmp/main" "$main"

for list; do
  consumer=$(basename "$list" .txt)
  mapfile -t names < <(grep -v '^#' "$list")
  write_stub "${names[@]}" > "$tmp/stub.c"
  build "$tmp/lazy.so" -Wl,-z,lazy,--no-as-needed "${link_with[@]}"
  build "$tmp/now.so" -Wl,-z,now,--no-as-needed "${link_with[@]}"
  build "$tmp/loose.so" -Wl,-z,lazy
  what="$consumer, ${#names[@]} symbols"
  expect "$what, linked" "$tmp/main" "$tmp/lazy.so" - "${names[@]}"
  expect "$what, linked, all at once" \
      env LD_BIND_NOW=1 "$tmp/main" "$tmp/lazy.so" - "${names[@]}"
  expect "$what, linked with -z now" "$tmp/main" "$tmp/now.so" - "${names[@]}"
  expect "$what, loaded after libpmix" \
      "$tmp/main" "$tmp/loose.so" libpmix.so.2 "${names[@]}"
  expect "$what, loaded after libpmix, all at once" env LD_BIND_NOW=1 \
      "$tmp/main" "$tmp/loose.so" libpmix.so.2 "${names[@]}"
done

# The arrays of OpenPMIx have 17 elements (5.0.5 and newer) to 22 (4.2.4). The
# copy of a program is as large as the array in the library with which the
# program was linked.
write_stub pmix_framework_names > "$tmp/stub.c"
build "$tmp/lib/libuser.so" "${link_with[@]}"
for slots in 17 22; do
  mkdir -p "$tmp/lib$slots"
  echo "char *pmix_framework_names[$slots] = {\"x\"};" > "$tmp/other.c"
  gcc -fPIC -shared -Wl,-soname,libpmix.so.2 \
      -o "$tmp/lib$slots/libpmix.so.2" "$tmp/other.c"
  gcc -O1 -Wall -Wextra -Werror -fno-pic -no-pie -o "$tmp/copy" "$copy" \
      -Wl,--no-as-needed "$tmp/lib/libuser.so" "-L$tmp/lib$slots" \
      -l:libpmix.so.2
  expect "a copy of $slots slots is one" bash -c \
      "readelf -rW '$tmp/copy' | grep 'R_X86_64_COPY.*pmix_framework_names'"
  expect "a copy of $slots slots is filled" "$tmp/copy" "$slots"
  expect "a copy of $slots slots is filled at once" \
      env LD_BIND_NOW=1 "$tmp/copy" "$slots"
done

exit "$failed"
