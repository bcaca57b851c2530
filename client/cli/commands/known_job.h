// The jobs that a user may name: jobs that agents control, and jobs of the
// history.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_
#define CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_

#include <optional>
#include <string>

#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "common/status.h"

namespace canopy::cli {

// A job of which at least one of `target` and `entry` is set.
struct KnownJob {
  std::optional<JobTarget> target;    // the job is known to its agents
  std::optional<HistoryEntry> entry;  // the job is in the history

  // Returns true if the job no longer runs, as far as is known.
  bool over() const { return !target; }
};

// Finds the job that `word` names: a job of the history that has ended and has
// this full name, else a job that agents know (FindJobTarget), else the
// youngest job of the history with this name or part of a name. `asked` is the
// value of --context. Fails like FindJobTarget.
Result<KnownJob> FindKnownJob(const HistoryStore& history,
                              const std::string& asked,
                              const std::string& word);

// Returns one line that describes how and when the job of an entry has ended.
std::string EndText(const HistoryEntry& entry);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_KNOWN_JOB_H_
