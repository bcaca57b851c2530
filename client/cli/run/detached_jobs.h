// Jobs of `canopy run --detach`: their launcher goes on in the background, and
// what it prints, and how the job has ended, is in files of the user's own.
#ifndef CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_
#define CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli {

// What a detached launcher leaves of one job, in the directory.
class DetachedJobs {
 public:
  // ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/detached.
  DetachedJobs();
  explicit DetachedJobs(std::string directory);

  // Of both streams; while the job's name is not known, by the launcher's pid.
  std::string OutputPath(const std::string& nspace) const;

  // Makes the directory when needed.
  Status Prepare() const;
  // The launcher `pid`, whose output is there by its pid, runs that job.
  Status NoteJob(const std::string& nspace, pid_t pid) const;
  // The job has ended so.
  Status NoteEnd(const std::string& nspace, int exit_code) const;

  struct Job {
    pid_t launcher = 0;
    std::optional<int> exit_code;  // when it is over
  };
  // kErrNotFound: none such was detached here.
  Result<Job> Find(const std::string& nspace) const;
  // But for its output, if there is any.
  void Forget(const std::string& nspace) const;

 private:
  std::string PathOf(const std::string& nspace, const char* kind) const;

  const std::string directory_;
};

// One of the two processes after Detach.
struct Detachment {
  bool is_launcher = false;
  // Of the launcher: where it writes the job's name, once. Of the command that
  // was typed: where it reads it.
  UniqueFd name;
  pid_t launcher = 0;
};

// Goes on twice: in a process of a session of its own, without input, whose
// output is in a file by its pid, and in this one. Only while there is one
// thread.
Result<Detachment> Detach(const DetachedJobs& jobs);

// In the process that was typed: waits until the other knows the job's name,
// and prints it; or until it ends without, and prints what it said. The exit
// code.
int AwaitName(const DetachedJobs& jobs, const Detachment& detachment);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_DETACHED_JOBS_H_
