// The program and the command line of an application of PMIx_Spawn.
#ifndef CANOPY_COMMON_APP_COMMAND_H_
#define CANOPY_COMMON_APP_COMMAND_H_

#include <string>
#include <vector>

namespace canopy {

struct AppCommand {
  std::string program;  // empty if the request names no program
  // Begins with the name of the program, unless the request names none.
  std::vector<std::string> argv;
};

// Combines pmix_app_t::cmd and pmix_app_t::argv, either of which may be null.
//
// The Standard leaves open whether argv repeats the command, and programs do
// both: Open MPI begins argv with the command, MPICH passes the arguments
// alone. As in every release of OpenPMIx since 4.1, argv counts as repeating
// the command if the last component of argv[0] equals the last component of the
// command; otherwise that component is put in front. Without a command, argv[0]
// is the program.
AppCommand CommandOf(const char* cmd, char* const* argv);

}  // namespace canopy

#endif  // CANOPY_COMMON_APP_COMMAND_H_
