// Facts about the machine on which the launcher runs.
#ifndef CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_
#define CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_

#include <string>

#include "common/status.h"

namespace canopy::cli {

// Returns the result of gethostname, or "localhost" if it has none.
std::string HostName();

// Returns true for "localhost", for a form of this machine's host name, and for
// one of its addresses or a name that resolves to one. May block on the
// resolver.
bool IsThisMachine(const std::string& host);

// Returns true if `machine` (NodeInfo.machine) was recorded on this machine
// since its last boot.
bool IsThisMachineNow(const std::string& machine);

// Returns the path of a program in the directory of this program, e.g. canopyd,
// unless the environment variable `variable` gives another path.
std::string ProgramBeside(const char* variable, const std::string& name);

// Creates a new directory below RuntimeBase() that only this user can enter.
// The caller removes the directory with its content. Returns kErrNoPermissions
// if it cannot be created.
Result<std::string> MakePrivateDirectory();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_THIS_MACHINE_H_
