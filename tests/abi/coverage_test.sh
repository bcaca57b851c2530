#!/bin/bash
# The macro tests use every macro of the table, by its name or through macros
# that paste names together.
set -euo pipefail

table=$1
shift
checks=("$@")
failed=0

uses() {  # macro
  grep -qE "\b$1\b" "${checks[@]}" && return 0
  local stem suffix
  for suffix in CONSTRUCT DESTRUCT CREATE FREE; do
    stem=${1#PMIX_}
    stem=${stem%_"$suffix"}
    [[ $1 == PMIX_${stem}_$suffix ]] &&
      grep -qE "CHECK_FAMILY\(\w+, $stem\)" "${checks[@]}" && return 0
  done
  stem=${1#PMIX_}
  grep -qE "CHECK_RELEASE\(\w+, ${stem%_RELEASE}\)" "${checks[@]}" && return 0
  grep -qE "CHECK_INIT\(\w+, ${stem%_STATIC_INIT}\)" "${checks[@]}"
}

while read -r name; do
  if ! uses "$name"; then
    echo "not used: $name"
    failed=1
  fi
done < <(tail -n +2 "$table" | cut -f1)
exit "$failed"
