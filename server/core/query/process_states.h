// What an agent knows of the processes of its node, and of jobs.
#ifndef CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_
#define CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

// Of a local rank; its memory is not measured. `connected`: it has a connection
// to this agent.
ProcessFacts FactsOfLocal(const Job& job, Rank rank, bool connected);
// Its process is to be there soon: its number will be known.
bool IsStarting(const Job& job, Rank rank);
// Whether its number may be another process's by now.
bool HasEnded(const ProcessFacts& process);
// Of any rank, as far as this agent knows without its own.
ProcessFacts FactsOfRemote(const Job& job, Rank rank);

// PMIX_CMD_LINE: the command lines of its applications.
std::string CommandLine(const JobSpec& job);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_PROCESS_STATES_H_
