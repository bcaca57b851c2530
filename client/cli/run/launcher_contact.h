// `canopy run` as a launcher that a tool has started (PMIx Standard, chapter
// "Tools and Debuggers"): what that tool has left in the environment.
#ifndef CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_
#define CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/cli/base/program_output.h"
#include "common/status.h"

namespace canopy::cli {

// Its end removes the file that it has written, unless another is in its place.
class LauncherContact {
 public:
  // Takes PMIX_LAUNCHER_RNDZ_FILE, PMIX_KEEPALIVE_PIPE and the tool's orders
  // (common/launcher_orders_env.h) out of the environment, so that agents and
  // jobs do not see them.
  LauncherContact();
  ~LauncherContact();
  LauncherContact(const LauncherContact&) = delete;
  LauncherContact& operator=(const LauncherContact&) = delete;

  // From now on this process gets SIGTERM when the other end of the pipe is
  // closed, which says that the tool has ended. Without a pipe: never.
  Status Watch();
  // Writes the file, if there is to be one, in which tools find the first agent
  // of this machine of those that have these directories. kErrNotFound: none is
  // here; kErrExists: the file is there already.
  Status Tell(const std::vector<std::string>& runtime_dirs);
  // After Tell: waits until the tool lets this launcher go on, if it is to
  // stop, and returns the options of `canopy run` that the tool wants for the
  // job. With `serves`, which is for a launcher that has no job, the tool is
  // told that it is ready. kErrJobCanceled: it was to stop; kErrNotSupported:
  // the orders can not be followed, and why has been said.
  Result<std::vector<std::string>> AwaitOrders(bool serves,
                                               const StopSource& stop) const;
  // Whether the other end of the pipe is closed.
  bool ToolHasEnded() const;
  // After the job: agents that are about to end have not told the tool of it
  // yet. Returns when the tool has ended, or after a second; at once where none
  // is watched or told.
  void AwaitTool() const;

 private:
  Status Write(const std::string& content);

  const std::string path_;
  const std::string pipe_;
  const std::string orders_;
  std::string directory_;  // of the agent that the file names
  int fd_ = -1;            // that is watched
  bool written_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LAUNCHER_CONTACT_H_
