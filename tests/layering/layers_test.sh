#!/usr/bin/env bash
# Fails for each forbidden dependency, naming it.
set -euo pipefail
cd "$(dirname "$0")"

failed=0

# forbid PART PATTERN: nothing that PART depends on may match.
forbid() {
  local found
  [ -s "$1.deps" ] || { echo "$1: no dependency list"; failed=1; return; }
  found=$(grep -E "$2" "$1.deps" || true)
  [ -z "$found" ] && return
  echo "$1 must not depend on:"
  echo "$found"
  failed=1
}

rpc='^@system//:(grpc|protobuf|absl|spdlog|cli11|openssl)|^//protos'
adapters() { # all adapters but the named one
  local all='local|openpmix|datastore|overlay|process|hwinfo|pmi1|control|agent'
  echo "^//server/($(echo "$all" | sed -E "s/(^|\|)$1(\||\$)/\2/; s/^\|//"))[:/]"
}

forbid libpmix "$rpc|^@system//:hwloc|^//server/(overlay|process|agent|control|security|pmi1)[:/]"
forbid canopy '^@system//:(grpc|absl|spdlog|openssl|hwloc)|^//protos:.*_grpc|^//server'
forbid core "$rpc|^@system//:hwloc|^//server/(local|openpmix|datastore|overlay|process|hwinfo|pmi1|control|agent|runtime|ports)[:/]|^//common:event_loop|^//common/(posix|shm)"
forbid local "$rpc|$(adapters local)"
forbid datastore "$rpc|$(adapters datastore)"
forbid pmi1 "$rpc|$(adapters pmi1)"
forbid openpmix "$rpc|$(adapters openpmix)"
forbid process "^//server/(local|openpmix|datastore|overlay|hwinfo|pmi1|control|agent)[:/]"
forbid overlay "^//server/(local|openpmix|datastore|process|hwinfo|pmi1|control|agent)[:/]"
forbid shim "$rpc|^@system//:hwloc"

exit $failed
