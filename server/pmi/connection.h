// State of one PMI connection, and of the jobs that have such connections.
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
  // Created for the first rank whose socket is persisted.
  std::shared_ptr<RankStates> states;
  std::vector<Rank> to_persist;  // ranks whose sockets are to be stored
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
  size_t index = 0;                    // index in `states`
  RankState state;
  // The size of the current command in the socket; 0: there is none.
  size_t command_size = 0;
  Request request;    // the current command
  size_t wanted = 0;  // size of the next message in bytes; 0: unknown
  size_t num_puts = 0;
  // The pending request that changes a state which outlives the connection;
  // kUnknown: there is none.
  Operation change = Operation::kUnknown;
  ChangeState changes;
  // Set from the first line of a PMI-1 spawn until its answer. `spawn_file` is
  // the persisted copy.
  std::unique_ptr<SpawnText> spawn;
  UniqueFd spawn_file;
  std::unique_ptr<OutcomeLog> outcomes;  // PMI-2: since the first outcome

  // Makes `state` survive the death of this process.
  void PersistState() {
    if (states != nullptr) states->Set(index, state);
  }
  // Makes `changes` survive the death of this process.
  void PersistChanges() {
    if (states != nullptr) states->SetChange(index, changes);
  }
};
using Connections = endpoint::TableOf<Connection>;

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_CONNECTION_H_
