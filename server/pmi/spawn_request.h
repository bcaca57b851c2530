// The processes that a PMI client requests.
#ifndef CANOPY_SERVER_PMI_SPAWN_REQUEST_H_
#define CANOPY_SERVER_PMI_SPAWN_REQUEST_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "common/values/info_list.h"

namespace canopy::pmi {

struct SpawnCommand {
  std::vector<std::string> argv;  // the program first
  int maxprocs = 0;
  InfoList hints;

  // Adds a hint of MPI_Comm_spawn. The hint is ignored if PMIx_Spawn has no
  // corresponding attribute.
  void AddHint(std::string_view name, std::string_view value);
};

struct SpawnRequest {
  std::vector<SpawnCommand> commands;
  std::vector<std::string> env;  // environment of every process

  // Adds a pair that the job's key-value space contains from its beginning.
  void AddPreput(std::string_view key, std::string_view value);
};

// Returns the call of PMIx_Spawn in codec form: SIZE n, n INFO, SIZE m, m APP.
// Returns kErrBadParam if a command has no program or no number of processes,
// and kErrOutOfResource if the call would exceed the size limit.
Result<std::string> SpawnCallOf(SpawnRequest request);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_REQUEST_H_
