// What the launcher knows of the machine it runs on.
#ifndef CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_
#define CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_

#include <string>

#include "common/status.h"

namespace canopy::cli {

// gethostname.
std::string HostName();

// "localhost", one of our host name's forms, or an address of ours (also when
// the name resolves to one, which may ask the resolver).
bool IsThisMachine(const std::string& host);

// `machine` (NodeInfo.machine) is this machine since it was booted.
bool IsThisMachineNow(const std::string& machine);

// A file beside our own program, e.g. canopyd; `variable` in the environment
// says otherwise.
std::string ProgramBeside(const char* variable, const std::string& name);

// A directory that only this user can enter, below RuntimeBase(), new with
// each call; removed with its content by whoever made it.
Result<std::string> MakePrivateDirectory();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_
