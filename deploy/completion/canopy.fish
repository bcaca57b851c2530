# Completion of fish, with the words of the completion of bash.
set -g __canopy_script (status dirname)/../../bash-completion/completions/canopy

function __canopy_complete
    bash $__canopy_script (commandline -opc) (commandline -ct) 2>/dev/null
end

for command in canopy canopy-mpirun canopy-mpiexec canopy-prterun
    complete -c $command -f -a '(__canopy_complete)'
end
