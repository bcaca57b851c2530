// Jobs of `canopy run --detach`. Their launcher continues in the background;
// its output and the job's exit code are stored in files of the user.
#ifndef CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_
#define CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli {

// The files that detached launchers leave in the directory.
class DetachedJobs {
 public:
  // Uses ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/detached.
  DetachedJobs();
  explicit DetachedJobs(std::string directory);

  // Returns the file of both output streams. While the job's name is unknown,
  // `nspace` is the launcher's PID.
  std::string OutputPath(const std::string& nspace) const;

  // Creates the directory if needed.
  Status Prepare() const;
  // Records that the launcher `pid`, whose output file is named by its PID,
  // runs that job.
  Status NoteJob(const std::string& nspace, pid_t pid) const;
  // Records the exit code of the job.
  Status NoteEnd(const std::string& nspace, int exit_code) const;

  struct Job {
    pid_t launcher = 0;
    std::optional<int> exit_code;  // set when the job is over
  };
  // Returns kErrNotFound if no such job was detached here.
  Result<Job> Find(const std::string& nspace) const;
  // Removes the files of a job, but keeps its output file unless it is empty.
  void Forget(const std::string& nspace) const;

 private:
  std::string PathOf(const std::string& nspace, const char* kind) const;

  const std::string directory_;
};

// The view of one of the two processes after Detach.
struct Detachment {
  bool is_launcher = false;
  // The launcher writes the job's name into this pipe once; the original
  // command reads it.
  UniqueFd name;
  pid_t launcher = 0;
};

// Forks: the launcher continues in a new session, without input and with its
// output in a file named by its PID; the caller continues here. The process
// must have only one thread.
Result<Detachment> Detach(const DetachedJobs& jobs);

// For the original command: waits until the launcher knows the job's name and
// prints it. If the launcher ends first, prints its output instead. Returns the
// exit code.
int AwaitName(const DetachedJobs& jobs, const Detachment& detachment);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_
