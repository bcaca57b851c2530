// The processes that a PMI client asks for.
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

  // A hint of MPI_Comm_spawn; without effect when none of PMIx_Spawn's
  // attributes means the same.
  void AddHint(std::string_view name, std::string_view value);
};

struct SpawnRequest {
  std::vector<SpawnCommand> commands;
  std::vector<std::string> env;  // of every process

  // A pair that is to be in the job's key-value space from its beginning.
  void AddPreput(std::string_view key, std::string_view value);
};

// What PMIx_Spawn gets: codec form, SIZE n, n INFO, SIZE m, m APP.
// kErrBadParam: a command without a program or a number of processes.
// kErrOutOfResource: it would be longer than any call may be.
Result<std::string> SpawnCallOf(SpawnRequest request);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_SPAWN_REQUEST_H_
