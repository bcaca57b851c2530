// Loads the hostfiles that a command line names.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_HOSTFILE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_HOSTFILE_H_

#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

// Reads and parses a file of at most 16 MiB. Fails like ReadFile (file_util.h)
// and ParseHostfile.
Result<std::vector<Host>> LoadHostfile(const std::string& path);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_HOSTFILE_H_
