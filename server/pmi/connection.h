// State of one PMI connection, and of the jobs that have them.
#ifndef CANOPY_SERVER_PMI_CONNECTION_H_
#define CANOPY_SERVER_PMI_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_id.h"
#include "server/endpoint/connection_table.h"
#include "server/endpoint/local_processes.h"
#include "server/pmi/outcome_log.h"
#include "server/pmi/rank_states.h"
#include "server/pmi/request.h"
#include "server/pmi/spawn_text.h"

namespace canopy::pmi {

struct JobState {
  // Created with the first rank whose socket is persisted.
  std::shared_ptr<RankStates> states;
  std::vector<Rank> to_persist;  // with the others of this round
};
struct RankClient {
  core::ClientId client = 0;  // 0: none
};
using Jobs = endpoint::LocalProcesses<JobState, RankClient>;

struct Connection : endpoint::Connection {
  ProcId proc;
  std::shared_ptr<const JobSpec> job;
  bool persisted = false;
  std::shared_ptr<RankStates> states;  // null: there is no successor
  size_t index = 0;                    // in them
  RankState state;
  // Of the command that is handled now: its bytes in the socket. 0: none is.
  size_t command_size = 0;
  Request request;    // that command
  size_t wanted = 0;  // bytes of which the next one consists; 0: not known
  size_t num_puts = 0;
  // A request that changes what lives longer than the connection, and whose
  // answer is awaited. kUnknown: none is.
  Operation change = Operation::kUnknown;
  ChangeState changes;
  // PMI-1: within a spawn, answer included, and what is persisted of it.
  std::unique_ptr<SpawnText> spawn;
  UniqueFd spawn_file;
  std::unique_ptr<OutcomeLog> outcomes;  // PMI-2: since the first of them

  // Makes `state` durable.
  void PersistState() {
    if (states != nullptr) states->Set(index, state);
  }
  // The same of `changes`.
  void PersistChanges() {
    if (states != nullptr) states->SetChange(index, changes);
  }
};
using Connections = endpoint::TableOf<Connection>;

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_CONNECTION_H_
