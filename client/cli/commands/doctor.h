// Checks whether this machine has what Canopy needs. Leaves no process running.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
#define CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_

#include <string>
#include <vector>

#include "client/cli/base/json.h"

namespace canopy::cli {

struct DoctorCheck {
  std::string name;
  std::string result;  // "ok", "warning" or "failed"
  std::string text;    // the finding, with advice
};

struct DoctorReport {
  std::vector<DoctorCheck> checks;

  // Returns true if no check has failed.
  bool healthy() const;
};

// Checks programs and libraries, the runtime directory, limits, names and
// addresses, and kernel features. Runs the agent with --version.
DoctorReport CheckMachine();

void AddCheck(const std::string& name, const std::string& result,
              const std::string& text, DoctorReport* report);
// Returns one line for each check, and a last line with the conclusion.
std::string DoctorText(const DoctorReport& report);
Json DoctorDocument(const DoctorReport& report);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_DOCTOR_H_
