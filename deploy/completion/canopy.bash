# Completion for canopy and for the names under which it acts as mpirun. The
# options are those that the program itself lists.
#
# Bash reads this file. The completions of zsh and fish run it as a program, with the
# words of the command line as arguments, the last one incomplete: it prints what may
# stand in the place of that word.

# The options that a command's help lists: in each line the name with its dashes, and
# the number of values.
_canopy_listed_options() {
  "$1" "${@:2}" --help 2>/dev/null | awk '/^  -/ {
    sub(/^  /, "")
    sub(/  .*/, "")
    values = 0
    for (i = 1; i <= NF; ++i) if ($i !~ /^-/) ++values
    for (i = 1; i <= NF; ++i) if ($i ~ /^-/) { sub(/,$/, "", $i); print $i, values }
  }'
}

_canopy_commands() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  .*/\1/p'
}

# Prints the overlays that are up, and the jobs of `canopy run` that have agents
# of their own.
_canopy_contexts() {
  local dir=/tmp file
  [[ $XDG_RUNTIME_DIR == /* && -w $XDG_RUNTIME_DIR ]] && dir=$XDG_RUNTIME_DIR
  for file in "$dir/canopy-$EUID/contexts"/*.json; do
    [[ -e $file ]] && basename "$file" .json
  done
  for file in "$dir/canopy-$EUID"/run-*/context.json; do
    [[ -e $file ]] && basename "$(dirname "$file")"
  done
}

# Prints the context that the command line names, as options.
_canopy_typed_context() {
  local i
  for ((i = 1; i < ${#COMP_WORDS[@]} - 1; ++i)); do
    [[ ${COMP_WORDS[i]} == --context ]] || continue
    [[ -n ${COMP_WORDS[i + 1]} ]] && printf '%s\n' --context "${COMP_WORDS[i + 1]}"
  done
}

# Prints the words after which a command that lists something has a context.
_canopy_list() {
  local context
  mapfile -t context < <(_canopy_typed_context)
  "${@}" "${context[@]}" 2>/dev/null
}

_canopy_jobs() {
  _canopy_list "$1" ps -o json | sed -n 's/^   "\(job\|name\)": "\(.*\)",$/\2/p'
}

# Nodes of the overlay, as `canopy status` draws them.
_canopy_nodes() {
  _canopy_list "$1" status -o json | sed -n 's/^   "node": "\(.*\)",$/\1/p'
}

_canopy_ended_jobs() {
  _canopy_list "$1" ps --all -o json | sed -n 's/^   "\(job\|name\)": "\(.*\)",$/\2/p'
}

_canopy_signals() {
  compgen -A signal | sed -n 's/^SIG\([A-Z0-9]*\)$/\1/p'
}

_canopy_query_keys() {
  _canopy_list "$1" query PMIX_QUERY_SUPPORTED_KEYS |
    sed -n 's/^PMIX_QUERY_SUPPORTED_KEYS: //p' | tr -d ','
}

_canopy_settings() {
  "$1" config 2>/dev/null | sed -n '2,$s/^\([a-z-]*\)  .*/\1/p'
}

# Prints the words for the value of option $1 (without dashes); fails if there
# are none.
_canopy_values() {
  case $1 in
    context) _canopy_contexts ;;
    map-by) echo slot node core hwthread package numa l1cache l2cache l3cache \
      ppr: seq rankfile:file= ;;
    rank-by) echo slot node span core hwthread package numa ;;
    bind-to) echo none core hwthread package numa l1cache l2cache l3cache ;;
    display) echo map allocation bindings topo ;;
    inject) echo auto always never ;;
    output) echo tag timestamp xml merge dir= file= ;;
    stdin) echo all none 0 ;;
    security) echo tls files plaintext ;;
    log-level) echo debug info warn error ;;
    color) echo auto always never ;;
    range) echo session global local ;;
    persist) echo indef first-read session ;;
    o) echo json text ;;
    *) return 1 ;;
  esac
}

# Prints how many values option $1 (without dashes) takes. $2 are the options that the
# command's help lists; the help does not list all options of mpirun and srun.
_canopy_num_values() {
  local name values
  while read -r name values; do
    name=${name#-}
    [[ ${name#-} == "$1" ]] && { echo "$values"; return; }
  done <<< "$2"
  case $1 in
    env | genv | gmca | gomca | prtemca) echo 2 ;;
    export | prefix | npersocket | gpus | G) echo 1 ;;
    *) echo 0 ;;
  esac
}

# Index of the program among the words of a run that starts at index $1, whose options
# are $2; the number of words when it is not there yet.
_canopy_program_at() {
  local i=$1 word
  while ((i < COMP_CWORD)); do
    word=${COMP_WORDS[i]}
    case $word in
      -*=* | =*) ;;
      -*)
        word=${word#-}
        word=${word#-}
        if [[ $word == ?(g)env && ${COMP_WORDS[i + 1]} == ?*=* ]]; then
          ((++i))
        else
          ((i += $(_canopy_num_values "$word" "$2")))
        fi
        ;;
      *) break ;;
    esac
    ((++i))
  done
  echo "$i"
}

# Completes the current word; the command's words are "${@:2}", and its options are $1.
_canopy_word() {
  local listed=$1
  shift
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local name=${before#-} words
  name=${name#-}
  if [[ $before == -* && $(_canopy_num_values "$name" "$listed") != 0 ]]; then
    if words=$(_canopy_values "$name"); then
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
      [[ ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace
      return
    fi
    case $name in
      wdir | wd | chdir | D | path | output-filename | prefix | tmpdir)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
      hostfile | machinefile | default-hostfile | f | app | rankfile | rf | preload-files | \
        key-file | junit | tls-ca | tls-cert | tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
      host | H | nodelist | w | node)
        words="$(_canopy_nodes "$1") $(compgen -A hostname -- "$word")"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        return
        ;;
      hosts)
        mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
        return
        ;;
      job)
        mapfile -t COMPREPLY < <(compgen -W "$(_canopy_jobs "$1")" -- "$word")
        return
        ;;
    esac
  fi
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed 's/ .*//' <<< "$listed")" -- "$word")
  fi
}

_canopy_run() {
  local first=$1
  shift
  local program listed
  listed=$(_canopy_listed_options "$@")
  program=$(_canopy_program_at "$first" "$listed")
  if ((program < COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    return
  fi
  _canopy_word "$listed" "$@"
  if [[ ${#COMPREPLY[@]} == 0 && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}")
  fi
}

# Prints the index of the command's name, which may follow options.
_canopy_command_at() {
  local i=1
  while ((i < COMP_CWORD)); do
    case ${COMP_WORDS[i]} in
      --context | -o | --color) ((i += 2)) ;;
      --context=* | --color=*) ((++i)) ;;
      *) break ;;
    esac
  done
  echo "$i"
}

# Number of words that are no options between index $1 and the current word; $2 are the
# options of the command.
_canopy_arguments_from() {
  local i=$1 count=0 word
  while ((i < COMP_CWORD)); do
    word=${COMP_WORDS[i]}
    case $word in
      -*=*) ;;
      -*)
        word=${word#-}
        word=${word#-}
        ((i += $(_canopy_num_values "$word" "$2")))
        ;;
      *) ((++count)) ;;
    esac
    ((++i))
  done
  echo "$count"
}

# Prints the possible arguments of command $2; $3 is the number of arguments
# before.
_canopy_arguments() {
  case $2 in
    signal) if (($3 == 0)); then _canopy_jobs "$1"; else _canopy_signals; fi ;;
    kill | attach | stack) _canopy_jobs "$1" ;;
    debug) (($3 == 0)) && _canopy_jobs "$1" ;;
    why | output | wait) (($3 == 0)) && _canopy_ended_jobs "$1" ;;
    logs) _canopy_nodes "$1" ;;
    query) _canopy_query_keys "$1" ;;
    config) (($3 == 0)) && _canopy_settings "$1" ;;
    help) _canopy_commands "$1" ;;
    host-module) echo check certificate token ;;
    node)
      if (($3 == 0)); then
        echo list add drain resume remove
      else
        _canopy_nodes "$1"
      fi
      ;;
  esac
}

# Options that may stand before the command.
_canopy_first_options=$'--context 1\n-o 1\n--color 1'

_canopy() {
  COMPREPLY=()
  local canopy=${COMP_WORDS[0]} at
  at=$(_canopy_command_at)
  if ((COMP_CWORD <= at)); then
    if ((COMP_CWORD == at)); then
      mapfile -t COMPREPLY < <(
        compgen -W "$(_canopy_commands "$canopy") --help --version" \
          -- "${COMP_WORDS[at]}"
      )
    else
      _canopy_word "$_canopy_first_options" "$canopy"
    fi
    return
  fi
  local command=${COMP_WORDS[at]} listed
  [[ $command == run ]] && { _canopy_run "$((at + 1))" "$canopy" run; return; }
  listed=$(_canopy_listed_options "$canopy" "$command")
  _canopy_word "$listed" "$canopy" "$command"
  if [[ ${#COMPREPLY[@]} == 0 && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
    mapfile -t COMPREPLY < <(
      compgen -W "$(_canopy_arguments "$canopy" "$command" \
        "$(_canopy_arguments_from "$((at + 1))" "$listed")")" -- "${COMP_WORDS[COMP_CWORD]}"
    )
  fi
}

_canopy_mpirun() {
  COMPREPLY=()
  _canopy_run 1 "${COMP_WORDS[0]}"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  compopt() { :; }
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  case ${1##*/} in
    canopy) _canopy ;;
    *) _canopy_mpirun ;;
  esac
  ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
else
  complete -F _canopy canopy
  complete -F _canopy_mpirun canopy-mpirun canopy-mpiexec canopy-prterun
fi
