// Search for programs that are named without a directory, with the rules of
// Open MPI's mpirun.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_

#include <string>

namespace canopy::cli {

// Returns "./PROGRAM" if no directory of `path` (as PATH; empty: the usual
// ones) has an executable file of that name, but `directory`, the working
// directory, has. Otherwise, and if `program` contains a '/', returns
// `program`. Searches this machine only and assumes that the nodes have the
// same files.
std::string ProgramHere(const std::string& program, const std::string& path,
                        const std::string& directory);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_HERE_H_
