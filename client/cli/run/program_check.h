// Implements `canopy doctor PROGRAM`.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_

#include <string>

#include "client/cli/control/remote_agents.h"

namespace canopy::cli {

struct ProgramCheck {
  std::string program;  // as typed for `canopy run`
  std::string inject;   // as for `canopy run`; empty: auto
  std::string context;  // empty: the running overlay, or this machine
  bool json = false;
};

// Requests from every node its finding about the program, as for a job of one
// process there, and prints the findings. No process of the program is started.
// If no overlay is up, an agent of this machine is started for the duration of
// the check. Returns the exit code of the process: 0 if every node has the
// program.
int CheckProgram(const ProgramCheck& check, RemoteAgents* remote);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_CHECK_H_
