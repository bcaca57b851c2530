#include "server/core/query/process_states.h"

#include "pmix_common.h"

namespace canopy::core {
namespace {

// A shell reports 128 plus the signal's number for a process that a signal has
// ended.
constexpr int kSignalled = 128;

uint8_t StateAtEnd(const RankState& rank, int exit_code) {
  if (exit_code > kSignalled) return PMIX_PROC_STATE_ABORTED_BY_SIG;
  if (exit_code != 0) return PMIX_PROC_STATE_TERM_NON_ZERO;
  const bool without_sync = rank.called_init && !rank.finalized;
  return without_sync ? PMIX_PROC_STATE_TERM_WO_SYNC
                      : PMIX_PROC_STATE_TERMINATED;
}

}  // namespace

ProcessFacts FactsOfLocal(const Job& job, Rank rank, bool connected) {
  ProcessFacts facts = FactsOfRemote(job, rank);
  const auto it = job.processes.find(rank);
  if (it == job.processes.end() || it->second.pid == 0) {
    if (facts.state == PMIX_PROC_STATE_UNDEF) {
      facts.state =
          connected ? PMIX_PROC_STATE_CONNECTED : PMIX_PROC_STATE_PREPPED;
    }
    return facts;
  }
  facts.pid = it->second.pid;
  if (it->second.exit_code) {
    facts.state = StateAtEnd(job.ranks[rank], *it->second.exit_code);
  } else {
    facts.state =
        connected ? PMIX_PROC_STATE_CONNECTED : PMIX_PROC_STATE_RUNNING;
  }
  return facts;
}

bool IsStarting(const Job& job, Rank rank) {
  const auto it = job.processes.find(rank);
  return it != job.processes.end() && it->second.pid == 0 &&
         !it->second.exit_code && !job.ranks[rank].ended;
}

bool HasEnded(const ProcessFacts& process) {
  return process.state >= PMIX_PROC_STATE_TERMINATED;
}

ProcessFacts FactsOfRemote(const Job& job, Rank rank) {
  ProcessFacts facts;
  facts.rank = rank;
  facts.state = job.ranks[rank].ended ? PMIX_PROC_STATE_TERMINATED
                                      : PMIX_PROC_STATE_UNDEF;
  return facts;
}

std::string CommandLine(const JobSpec& job) {
  std::string line;
  for (const JobApp& app : job.apps) {
    if (&app != &job.apps.front()) line += ':';
    for (size_t i = 0; i < app.argv.size(); ++i) {
      if (i > 0) line += ' ';
      line += app.argv[i];
    }
  }
  return line;
}

}  // namespace canopy::core
