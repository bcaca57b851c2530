# Completion for canopy and for the names under which it is mpirun. The options are
# those that the program itself lists.
#
# Bash reads this file. The completions of zsh and fish run it as a program, with the
# words of the command line as arguments, the last one incomplete: it prints what may
# stand in the place of that word.

# Options that a command's help names.
_canopy_options() {
  "$1" "${@:2}" --help 2>/dev/null |
    sed -n 's/^  \(-.*\)$/\1/p' |
    sed 's/  .*//' |
    grep -oE -- '(^|, )--?[a-zA-Z][a-z-]*' |
    sed 's/^, //'
}

_canopy_commands() {
  "$1" --help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  .*/\1/p'
}

# Overlays that are up, and jobs of `canopy run` that have agents of their own.
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

# The context that the command line names, as options.
_canopy_typed_context() {
  local i
  for ((i = 1; i < ${#COMP_WORDS[@]} - 1; ++i)); do
    [[ ${COMP_WORDS[i]} == --context ]] || continue
    [[ -n ${COMP_WORDS[i + 1]} ]] && printf '%s\n' --context "${COMP_WORDS[i + 1]}"
  done
}

_canopy_jobs() {
  local context
  mapfile -t context < <(_canopy_typed_context)
  "$1" ps "${context[@]}" 2>/dev/null | sed -n '2,$s/ .*//p'
}

# Prints the words after which a command that lists something has a context.
_canopy_list() {
  local context
  mapfile -t context < <(_canopy_typed_context)
  "${@}" "${context[@]}" 2>/dev/null
}

# Nodes of the overlay, as `canopy status` draws them.
_canopy_nodes() {
  _canopy_list "$1" status -o json | sed -n 's/^   "node": "\(.*\)",$/\1/p'
}

_canopy_ended_jobs() {
  _canopy_list "$1" ps --all -o json | sed -n 's/^   "job": "\(.*\)",$/\1/p'
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

# Words for the value of option $1 (without dashes); fails when there are none.
_canopy_values() {
  case $1 in
    context) _canopy_contexts ;;
    map-by) echo slot node core hwthread package numa l1cache l2cache l3cache \
      ppr: seq ;;
    rank-by) echo slot node span core hwthread package numa ;;
    bind-to) echo none core hwthread package numa l1cache l2cache l3cache ;;
    display) echo map allocation bindings ;;
    inject) echo auto always never ;;
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

# How many values option $1 takes.
_canopy_num_values() {
  case $1 in
    mca | omca | gmca | gomca | pmixmca | gpmixmca | prtemca | genv | env) echo 2 ;;
    n | np | c | H | host | hosts | hostfile | machinefile | f | nodes | emulate | map-by | \
      ntasks | ntasks-per-node | cpus-per-task | nodelist | w | chdir | D | export | time | t | \
      default-hostfile | rankfile | rf | rank-by | bind-to | npernode | N | ppn | perhost | \
      npersocket | cpus-per-proc | cpus-per-rank | gpus-per-rank | gpus-per-task | memory-per-rank | mem-per-rank | queue | partition | account | A | priority | hint | display | x | wdir | wd | pset | \
      path | prefix | app | stdin | output-filename | output | timeout | \
      kill-grace | nice | name | job-name | J | preload-files | max-restarts | cpu-list | cpu-set | stop-ranks | inject | context | launch-agent | radix | security | tls-ca | \
      tls-cert | tls-key | listen | pmix-listen | loss-timeout | log-level | host-module | node | color | range | persist | job | rank | \
      ranks | interval | count | text | lines | o)
      echo 1 ;;
    *) echo 0 ;;
  esac
}

# Index of the program among the words of a run that starts at index $1; the
# number of words when it is not there yet.
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
          ((i += $(_canopy_num_values "$word")))
        fi
        ;;
      *) break ;;
    esac
    ((++i))
  done
  echo "$i"
}

# Completes the current word; the command's words are "$@".
_canopy_word() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local name=${before#-} words
  name=${name#-}
  if [[ $before == -* ]]; then
    if words=$(_canopy_values "$name"); then
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
      [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace
      return
    fi
    case $name in
      wdir | wd | path | output-filename | prefix)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
      hostfile | machinefile | app | f | key-file | junit | tls-ca | tls-cert | tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
      host | H | node)
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
    mapfile -t COMPREPLY < <(compgen -W "$(_canopy_options "$@")" -- "$word")
  fi
}

_canopy_run() {
  local first=$1
  shift
  local program
  program=$(_canopy_program_at "$first")
  if ((program < COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    return
  fi
  _canopy_word "$@"
  if [[ ${#COMPREPLY[@]} == 0 && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}")
  fi
}

# Index of the command's name, after options that stand before it.
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

# Number of words that are no options between index $1 and the current word.
_canopy_arguments_from() {
  local i=$1 count=0 word
  while ((i < COMP_CWORD)); do
    word=${COMP_WORDS[i]}
    case $word in
      -*=*) ;;
      -*)
        word=${word#-}
        word=${word#-}
        ((i += $(_canopy_num_values "$word")))
        ;;
      *) ((++count)) ;;
    esac
    ((++i))
  done
  echo "$count"
}

# What the arguments of command $2 may be; $3 is the number of those before.
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
  esac
}

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
      _canopy_word "$canopy"
    fi
    return
  fi
  local command=${COMP_WORDS[at]}
  [[ $command == run ]] && { _canopy_run "$((at + 1))" "$canopy" run; return; }
  _canopy_word "$canopy" "$command"
  if [[ ${#COMPREPLY[@]} == 0 && ${COMP_WORDS[COMP_CWORD]} != -* ]]; then
    mapfile -t COMPREPLY < <(
      compgen -W "$(_canopy_arguments "$canopy" "$command" \
        "$(_canopy_arguments_from "$((at + 1))")")" -- "${COMP_WORDS[COMP_CWORD]}"
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
