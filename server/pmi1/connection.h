// State of one PMI-1 connection, and of the jobs that have them.
#ifndef CANOPY_SERVER_PMI1_CONNECTION_H_
#define CANOPY_SERVER_PMI1_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/client_id.h"
#include "server/endpoint/connection_table.h"
#include "server/endpoint/local_processes.h"
#include "server/pmi1/rank_states.h"

namespace canopy::pmi1 {

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
  size_t num_puts = 0;
  bool in_spawn = false;   // between mcmd=spawn and endcmd
  size_t spawn_bytes = 0;  // of the lines of one spawn
  bool last_spawn = false;
  std::string spawn_total;

  // Makes `state` durable.
  void PersistState() {
    if (states != nullptr) states->Set(index, state);
  }
};
using Connections = endpoint::TableOf<Connection>;

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_CONNECTION_H_
