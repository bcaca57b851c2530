// Checks whether this machine has what Canopy needs. Leaves no process running.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
#define CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_

#include <string>

#include "client/cli/commands/doctor.pb.h"

namespace canopy::cli {

// Checks programs and libraries, the runtime directory, limits, names and
// addresses, and kernel features. Runs the agent with --version.
v1::DoctorReport CheckMachine();

void AddCheck(const std::string& name, const std::string& result,
              const std::string& text, v1::DoctorReport* report);
// Returns one line for each check, and a last line with the conclusion.
std::string DoctorText(const v1::DoctorReport& report);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
