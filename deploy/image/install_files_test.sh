#!/usr/bin/env bash
# install-files copies one version after the other into a directory of the node.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$(dirname "$0")/install-files" "$work"
node=$work/node
mkdir -p "$node"

fail() {
  echo "install_files_test: $1" >&2
  exit 1
}

# Makes the files of a version in the place that they have in the image.
release() {
  rm -rf "$work/host"
  mkdir -p "$work/host/bin" "$work/host/lib"
  echo "$1" > "$work/host/version"
  echo "$1" > "$work/host/bin/canopy-exec"
  chmod 755 "$work/host/bin/canopy-exec"
  echo "$1" > "$work/host/lib/libpmix.so.2"
}

installs() {
  release "version-$1"
  "$work/install-files" "$node"
  [ "$(cat "$node/bin/canopy-exec")" = "version-$1" ] || fail "bin is not of version $1"
  [ "$(cat "$node/lib/libpmix.so.2")" = "version-$1" ] || fail "lib is not of version $1"
  [ -x "$node/bin/canopy-exec" ] || fail "the program of version $1 cannot be executed"
}

installs 1
installs 1
exec 3< "$node/lib/libpmix.so.2"
installs 2
[ "$(cat "$node/version-1/bin/canopy-exec")" = version-1 ] || fail "the version before is gone"
# A second run of the same version removes nothing.
installs 2
[ -d "$node/version-1" ] || fail "the version before is gone after a second run"
installs 3
[ ! -e "$node/version-1" ] || fail "an old version is still there"
[ -d "$node/version-2" ] || fail "the version before is gone"
[ "$(cat <&3)" = version-1 ] || fail "an open file has changed"

# An attempt that was interrupted leaves a part of the files, and the old version works.
mkdir -p "$node/new/bin"
echo part > "$node/new/bin/canopy-exec"
[ "$(cat "$node/bin/canopy-exec")" = version-3 ] || fail "an interrupted attempt has effect"
installs 4
[ ! -e "$node/new" ] && [ ! -e "$node/new-link" ] || fail "temporary files are left"

# Files that are not of a version belong to the operator.
touch "$node/notes"
installs 5
[ -e "$node/notes" ] || fail "a file of the operator is gone"

# The links are valid wherever the directory is mounted.
mv "$node" "$work/elsewhere"
[ "$(cat "$work/elsewhere/bin/canopy-exec")" = version-5 ] || fail "the links are absolute"

code=0
"$work/install-files" "$work/none" 2> /dev/null || code=$?
[ "$code" -eq 2 ] || fail "a directory that does not exist is accepted"
