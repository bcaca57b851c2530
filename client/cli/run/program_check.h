// What `canopy doctor PROGRAM` does.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_

#include <string>

#include "client/cli/control/remote_agents.h"

namespace canopy::cli {

struct ProgramCheck {
  std::string program;  // as typed for `canopy run`
  std::string inject;   // as there; empty: auto
  std::string context;  // empty: the overlay that is up, or this machine
  bool json = false;
};

// Asks every node what it finds out about the program, as it would for a job
// of one process there, and prints it. Nothing is started but, where no overlay
// is up, an agent of this machine for as long as that takes. Returns the exit
// code of the process: 0 when every node has the program.
int CheckProgram(const ProgramCheck& check, RemoteAgents* remote);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_
