// The instructions that a tool passes in the environment to a `canopy run` that
// it has started as its launcher (PMIx Standard, chapter "Tools and
// Debuggers").
#ifndef CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_
#define CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/cli/base/program_output.h"
#include "common/status.h"

namespace canopy::cli {

// Used by one thread. The destructor removes the file that this object has
// written, unless another file is in its place.
class LauncherContact {
 public:
  // Takes PMIX_LAUNCHER_RNDZ_FILE, PMIX_KEEPALIVE_PIPE and the tool's orders
  // (common/launcher_orders_env.h) out of the environment, so that agents and
  // jobs do not inherit them.
  LauncherContact();
  ~LauncherContact();
  LauncherContact(const LauncherContact&) = delete;
  LauncherContact& operator=(const LauncherContact&) = delete;

  // Arranges that this process gets SIGTERM when the other end of the pipe is
  // closed, which means that the tool has ended. Has no effect without a pipe.
  // Returns kErrBadParam if PMIX_KEEPALIVE_PIPE is not a pipe.
  Status Watch();
  // Writes the rendezvous file, if the tool has requested one. The file leads
  // tools to the first agent of this machine among the agents with these
  // directories. Returns kErrNotFound if none of the agents is on this machine,
  // and kErrExists if the file exists.
  Status Tell(const std::vector<std::string>& runtime_dirs);
  // Called after Tell. If the launcher is to stop, waits until the tool
  // releases it, and returns the options of `canopy run` that the tool requests
  // for the job. With `serves`, for a launcher without a job, notifies the tool
  // that it is ready. Returns kErrJobCanceled if `stop` ended the wait, and
  // kErrNotSupported if the orders cannot be followed; the reason has been
  // printed.
  Result<std::vector<std::string>> AwaitOrders(bool serves,
                                               const StopSource& stop) const;
  // Returns true if the other end of the pipe is closed.
  bool ToolHasEnded() const;
  // Called after the job. Waits until the tool has ended, for at most one
  // second, because agents that are about to end may not have notified the tool
  // yet. Returns at once unless the tool is watched (Watch) and was notified
  // (Tell).
  void AwaitTool() const;

 private:
  Status Write(const std::string& content);

  const std::string path_;
  const std::string pipe_;
  const std::string orders_;
  std::string directory_;  // directory of the agent that the file names
  int fd_ = -1;            // the watched descriptor; -1: none
  bool written_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_
