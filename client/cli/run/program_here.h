// Programs that are named without a directory, as mpirun of Open MPI finds
// them.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_

#include <string>

namespace canopy::cli {

// "./PROGRAM" when no directory of `path` (as PATH; empty: the usual ones) has
// an executable file of that name, but `directory`, the working directory, has.
// Otherwise, and when `program` has a '/', `program` itself. Looks at this
// machine alone: its files stand for those of the nodes.
std::string ProgramHere(const std::string& program, const std::string& path,
                        const std::string& directory);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_
