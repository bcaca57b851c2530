#compdef canopy canopy-mpirun canopy-mpiexec canopy-prterun
# Completion of zsh, with the words of the completion of bash.
local script=${functions_source[_canopy]:A:h}/../../bash-completion/completions/canopy
local -a found
found=(${(f)"$(bash "$script" "${(@)words[1,CURRENT]}" 2>/dev/null)"})
compadd -a found
