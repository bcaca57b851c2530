// Looks at what Canopy needs of this machine, without starting anything that
// stays.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
#define CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_

#include <string>

#include "client/cli/commands/doctor.pb.h"

namespace canopy::cli {

// Programs and library where they are expected, runtime directory, limits,
// names and addresses, kernel features. Runs the agent with --version.
v1::DoctorReport CheckMachine();

void AddCheck(const std::string& name, const std::string& result,
              const std::string& text, v1::DoctorReport* report);
// One line for each check, and a last one that says what it means.
std::string DoctorText(const v1::DoctorReport& report);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
