// The history: the last jobs that this user's launchers have requested,
// including jobs that still run, and jobs that those have spawned.
#ifndef CANOPY_CLIENT_CLI_HISTORY_HISTORY_STORE_H_
#define CANOPY_CLIENT_CLI_HISTORY_HISTORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/history/process_mark.h"
#include "client/cli/history/sql_database.h"
#include "common/status.h"

namespace canopy::cli {

// Times are milliseconds since 1970. `command`, `nodes`, `reason` and `name`
// are shortened when they are stored.
struct HistoryEntry {
  int64_t id = 0;       // 0: not stored yet
  std::string job;      // the job's name
  std::string earlier;  // the job's names before requeues, separated by blanks
  std::string context;  // name of the job's overlay
  std::string command;
  std::string output;  // path of the job's output file; empty: none
  int64_t num_procs = 0;
  int64_t num_nodes = 0;
  std::string nodes;  // names, separated by commas
  int64_t requested_ms = 0;
  int64_t started_ms = 0;  // 0: not yet, or never
  int64_t ended_ms = 0;    // 0: the launcher has not recorded an end
  int64_t exit_code = 0;
  std::string reason;       // why the job failed, on one line; else empty
  ProcessMark launcher;     // the process that records the end
  std::string name = {};    // the name that the user gave the job; empty: none
  std::string parent = {};  // the job that has spawned this job; empty: none

  // True if the end will never be recorded, because the launcher was killed.
  bool lost() const {
    return ended_ms == 0 && StateOf(launcher) == ProcessState::kEnded;
  }
};

// The database may be removed or replaced between calls. Any number of
// processes may use it at the same time. The errors name the file and the
// reason.
class HistoryStore {
 public:
  // Number of entries that are retained.
  static constexpr int64_t kLimit = 10'000;

  // Uses ${XDG_STATE_HOME or ~/.local/state}/canopy/history.db.
  HistoryStore();
  explicit HistoryStore(std::string directory, int64_t limit = kLimit);

  // Stores the entry. An entry with an `id` replaces the stored one; otherwise
  // Put sets the `id` and removes the oldest entries beyond the limit. Creates
  // the database if needed.
  Status Put(HistoryEntry* entry) const;
  // Like the other Put, but leaves the open database in *kept for the next
  // call, which saves half of that call's time.
  Status Put(HistoryEntry* entry, std::optional<SqlDatabase>* kept) const;

  // Return the youngest entry whose job has or had the name `word` (Find), to
  // whose job the user gave the name `word` (FindByGivenName), or whose job has
  // a name that ends with "-" and `word` (FindByPart). Return kErrNotFound if
  // there is none.
  Result<HistoryEntry> Find(const std::string& word) const;
  Result<HistoryEntry> FindByGivenName(const std::string& word) const;
  Result<HistoryEntry> FindByPart(const std::string& word) const;
  // Returns the entries of a context, oldest first; of all contexts if
  // `context` is empty.
  Result<std::vector<HistoryEntry>> List(const std::string& context) const;

 private:
  std::string path() const { return directory_ + "/history.db"; }
  Status MakeDirectory() const;
  Result<SqlDatabase> Open(SqlDatabase::Mode mode) const;
  Status OpenToWrite(std::optional<SqlDatabase>* database) const;
  Status Store(SqlDatabase* database, HistoryEntry* entry) const;
  Result<std::vector<HistoryEntry>> Select(const std::string& condition,
                                           const std::string& value) const;
  Result<HistoryEntry> FindOne(const std::string& condition,
                               const std::string& word) const;
  Status Failed(const Status& status) const;

  const std::string directory_;
  const int64_t limit_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HISTORY_HISTORY_STORE_H_
