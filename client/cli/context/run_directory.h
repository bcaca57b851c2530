// The run directory of this process, a `canopy run`.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_
#define CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli::v1 {
class Context;
}

namespace canopy::cli {

// Holds the directories of the agents that the run starts on this machine, the
// context by which commands find them, and the file by which tools find an
// agent from this process's PID. Has mode 0700. Is locked while this object
// lives (client/cli/context/run_contexts.h), and removed with all its content
// at its end. Single-threaded.
class RunDirectory {
 public:
  // Makes a new one below `parent`, the user's runtime directory, which is made
  // when needed; removes what runs that were killed have left there.
  // kErrNoPermissions: `parent` is not private to this user, or can not be
  // written.
  static Result<RunDirectory> Make(const std::string& parent);
  ~RunDirectory();
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }
  // The last part of the path: the name of the context.
  std::string name() const;

  // From now on commands find the agents that `context` names. Once.
  Status Publish(const v1::Context& context) const;
  // Commands do not find them any more.
  void Withdraw() const;

  // Tools that ask for the server with this process's PID find the agent of
  // this machine whose runtime directory is `agent_directory`.
  // kErrNotFound: no file for tools is there.
  Status OfferToTools(const std::string& agent_directory) const;

 private:
  RunDirectory(std::string path, UniqueFd lock);

  std::string path_;  // empty: moved from
  UniqueFd lock_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_
