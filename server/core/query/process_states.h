// The facts that an agent has about processes of its node, and about jobs.
#ifndef CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_
#define CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

// Returns the facts about a local rank, without its memory. `connected` is true
// if the process has a connection to this agent.
ProcessFacts FactsOfLocal(const Job& job, Rank rank, bool connected);
// Returns true if the process is being started, so that its PID will be known
// soon.
bool IsStarting(const Job& job, Rank rank);
// Returns true if the process has ended, so that its PID may have been reused.
bool HasEnded(const ProcessFacts& process);
// Returns the facts that this agent has about any rank without a request to the
// rank's agent.
ProcessFacts FactsOfRemote(const Job& job, Rank rank);

// Returns PMIX_CMD_LINE: the command lines of the job's applications, separated
// by colons.
std::string CommandLine(const JobSpec& job);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_
