#include "client/cli/commands/known_job.h"

#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/commands/history_text.h"

namespace canopy::cli {
namespace {

// Returns the entry if it belongs to the context `asked`. A history that cannot
// be read causes one warning.
std::optional<HistoryEntry> Take(Result<HistoryEntry> found,
                                 const std::string& asked) {
  if (found.ok()) {
    const bool counts = asked.empty() || found->context == asked;
    return counts ? std::optional(*std::move(found)) : std::nullopt;
  }
  if (found.code() != kErrNotFound) {
    PrintError("warning: " + found.status().message());
  }
  return std::nullopt;
}

}  // namespace

Result<KnownJob> FindKnownJob(const HistoryStore& history,
                              const std::string& asked,
                              const std::string& word) {
  KnownJob job;
  job.entry = Take(history.Find(word), asked);
  if (job.entry && job.entry->ended_ms != 0) return job;
  Result<JobTarget> target = FindJobTarget(asked, word);
  if (target.code() == kErrBadParam) return target.status();
  if (target.ok()) {
    if (!job.entry) job.entry = Take(history.Find(target->nspace), asked);
    job.target = *std::move(target);
    return job;
  }
  if (!job.entry) job.entry = Take(history.FindByGivenName(word), asked);
  if (!job.entry) job.entry = Take(history.FindByPart(word), asked);
  if (!job.entry) return target.status();
  return job;
}

std::string EndText(const HistoryEntry& entry) {
  std::string text = "job " + entry.job;
  if (!entry.parent.empty()) text += ", spawned by " + entry.parent + ",";
  if (entry.ended_ms == 0) {
    return text + (entry.lost() ? " ended when its launcher was killed"
                                : " has not ended");
  }
  text += " ended with exit code " + std::to_string(entry.exit_code) + " at " +
          TimeText(entry.ended_ms) + ", after " +
          DurationText(entry.ended_ms - entry.requested_ms);
  return entry.reason.empty() ? text : text + ": " + entry.reason;
}

}  // namespace canopy::cli
