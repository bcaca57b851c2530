// The jobs that a user may name: those that agents control, and those of the
// history.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_
#define CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_

#include <optional>
#include <string>

#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "common/status.h"

namespace canopy::cli {

// At least one of the two is set.
struct KnownJob {
  std::optional<JobTarget> target;    // the job is known to its agents
  std::optional<HistoryEntry> entry;  // the job is in the history

  // True if the job runs no more, as far as is known.
  bool over() const { return !target; }
};

// Finds the job that `word` names: one that agents know (FindJobTarget), or
// else the youngest of the history with this name or part of a name. `asked` is
// the value of --context. Fails like FindJobTarget.
Result<KnownJob> FindKnownJob(const HistoryStore& history,
                              const std::string& asked,
                              const std::string& word);

// Returns one line that describes how the job of an entry has ended, and when.
std::string EndText(const HistoryEntry& entry);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_
