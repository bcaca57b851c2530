#!/usr/bin/env bash
# Checks the words that the completion offers, with a stand-in for the program.
set -u
cd "$(dirname "$0")"

export XDG_RUNTIME_DIR=$TEST_TMPDIR
mkdir -p "$XDG_RUNTIME_DIR/canopy-$EUID/contexts" "$TEST_TMPDIR/bin"
touch "$XDG_RUNTIME_DIR/canopy-$EUID/contexts/lab.json"
mkdir "$XDG_RUNTIME_DIR/canopy-$EUID"/run-{11,12}
touch "$XDG_RUNTIME_DIR/canopy-$EUID/run-11/context.json"
cat > "$TEST_TMPDIR/bin/canopy" << 'EOF'
#!/bin/sh
case "$*" in
  --help) printf 'commands:\n  run       run it\n  status    show it\n' ;;
  "run --help" | --help)
    printf 'options:\n  -n, --np N    processes\n  --tag-output\n                tags\n'
    printf '  --mca, --omca NAME VALUE\n                set it\n'
    printf '  --host, -H, -w A[:N],B...\n                nodes\n'
    printf '  --hostfile, -f FILE\n                hosts\n  --display WHAT  print\n'
    printf '  --map-by POLICY  places\n  --output WORDS  where to\n' ;;
  "status --help") printf 'options:\n  --context NAME   which\n  --color WHEN  colours\n' ;;
  "relay --help") printf 'options:\n  --node NODE   which\n' ;;
  "query --help") printf 'options:\n  --job JOB   which\n' ;;
  "kill --help" | "wait --help") printf 'options:\n  --context NAME   which\n' ;;
  "logs --help") printf 'options:\n  --follow, -f   go on\n' ;;
  "ps --help") printf 'options:\n  -o json   for programs\n  --watch, -w   again\n' ;;
  "status -o json"*) printf '{\n "nodes": [\n  {\n   "node": "node1",\n   "number": 0\n  }\n ]\n}\n' ;;
  "ps --all -o json"*) printf '{\n "ended": [\n  {\n   "job": "canopy-9-1",\n   "name": "ocean",\n   "context": "x"\n  }\n ]\n}\n' ;;
  "query PMIX_QUERY_SUPPORTED_KEYS") echo "PMIX_QUERY_SUPPORTED_KEYS: PMIX_A, PMIX_B" ;;
  config) printf 'KEY    VALUE\nradix  32\n' ;;
  "ps -o json") printf '{\n "jobs": [\n  {\n   "job": "canopy-1-2",\n   "name": null,\n  }\n ]\n}\n' ;;
  "ps -o json --context run-11") printf '{\n "jobs": [\n  {\n   "job": "canopy-3-1",\n  }\n ]\n}\n' ;;
esac
EOF
chmod +x "$TEST_TMPDIR/bin/canopy"
export PATH=$TEST_TMPDIR/bin:$PATH
. ./canopy.bash
compopt() { :; }

failed=0
# offers "WORD..." FUNCTION WORDS...: the last word is the one to complete.
offers() {
  local want=$1 function=$2
  COMP_WORDS=("${@:3}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  "$function"
  [ "${COMPREPLY[*]}" = "$want" ] && return
  echo "'${COMP_WORDS[*]}' offers '${COMPREPLY[*]}', not '$want'"
  failed=1
}

offers "run" _canopy canopy r
offers "run status --help --version" _canopy canopy ""
offers "--np" _canopy canopy run --n
offers "--tag-output" _canopy canopy run -n 2 --t
offers "lab run-11" _canopy canopy status --context ""
offers "--context --color" _canopy canopy status --c
offers "node numa" _canopy canopy run --map-by n
offers "canopy-1-2" _canopy canopy kill ""
offers "canopy-3-1" _canopy canopy kill --context run-11 ""
offers "canopy-1-2" _canopy canopy signal ""
offers "TERM" _canopy canopy signal canopy-1-2 TER
offers "canopy-9-1 ocean" _canopy canopy wait ""
offers "node1" _canopy canopy logs n
offers "node1" _canopy canopy logs -f n
offers "node1" _canopy canopy run -w node
offers "topo" _canopy canopy run --display t
offers "file=" _canopy canopy run --output f
offers "--watch" _canopy canopy ps -w --w
offers "node1" _canopy canopy relay --node node
offers "PMIX_A PMIX_B" _canopy canopy query ""
offers "canopy-1-2" _canopy canopy query --job ""
offers "radix" _canopy canopy config ""
offers "status" _canopy canopy --context lab s
offers "lab run-11" _canopy canopy --context ""
offers "json text" _canopy canopy ps -o ""
offers "never" _canopy canopy status --color n
touch "$TEST_TMPDIR/argument"
cd "$TEST_TMPDIR" || exit 1
offers "argument" _canopy canopy run -n 2 -mca a b ./app arg
offers "argument" _canopy canopy run --np=2 ./app arg
offers "argument" _canopy canopy run --env A=1 ./app arg
offers "argument" _canopy canopy run -genv A 1 ./app arg

# Other shells run the file as a program.
found=$(bash "$OLDPWD/canopy.bash" canopy config "")
[ "$found" = radix ] || { echo "as a program: '$found'"; failed=1; }
exit $failed
