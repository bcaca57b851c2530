// Implements the spawn functions of PMI-1 and PMI-2 by PMIx_Spawn.
#ifndef CANOPY_CLIENT_PMI_SPAWN_H_
#define CANOPY_CLIENT_PMI_SPAWN_H_

#include <optional>
#include <string>
#include <vector>

#include "client/pmi/key_values.h"
#include "pmix.h"

namespace canopy::pmi {

struct Command {
  std::string program;
  std::vector<std::string> arguments;  // without the program itself
  int count = 1;
  // Hints of MPI_Comm_spawn. Unknown hints are ignored, as MPI requires.
  KeyValues hints;
};

// Starts all commands as one job whose key-value space contains `preput` before
// its first process runs. Sets *job to its name. Returns when all processes
// run, or no process does.
pmix_status_t Spawn(const std::vector<Command>& commands,
                    const KeyValues& preput, std::string* job);

// Returns a value that the spawner of this process has put into its job's
// key-value space. Returns no value if there is none.
std::optional<std::string> PreputValue(const std::string& key);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_SPAWN_H_
