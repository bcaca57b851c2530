// The contexts of jobs for which `canopy run` has started its own agents. Each
// is a file in the run directory (common/posix/run_dir.h) of its launcher.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_RUN_CONTEXTS_H_
#define CANOPY_CLIENT_CLI_CONTEXT_RUN_CONTEXTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::cli::v1 {
class Context;
}

namespace canopy::cli {

// The file in a run directory that contains the context.
inline constexpr char kRunContextFile[] = "/context.json";

// The run directories of this user. A launcher holds an exclusive lock (flock)
// on its directory, which the kernel releases when the launcher ends for any
// reason. A run is over when its directory is not locked and no agent answers
// in it.
class RunContexts {
 public:
  // Uses ${XDG_RUNTIME_DIR or /tmp}/canopy-UID.
  RunContexts();
  explicit RunContexts(std::string directory);

  // Returns the sorted names of the runs that are not over and whose contexts
  // are published (run_directory.h).
  // Removes the directories of runs that are over. Returns kErrNoPermissions if
  // the directory of the user is not private.
  Result<std::vector<std::string>> List() const;
  // Returns the context of the run. Returns kErrNotFound if there is no such
  // run, and kErrUnpackFailure if its file is damaged.
  Result<v1::Context> Load(const std::string& name) const;
  // Removes the directories of runs that are over. Examines at most `limit`
  // directories.
  void Sweep(size_t limit) const;

 private:
  std::vector<std::string> Directories(size_t limit) const;

  const std::string directory_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_RUN_CONTEXTS_H_
