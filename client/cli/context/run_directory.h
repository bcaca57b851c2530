// The run directory of a process of `canopy run`.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_
#define CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli::v1 {
class Context;
}

namespace canopy::cli {

// A directory of mode 0700 that contains the directories of the agents that the
// run starts on this machine, the file with the context by which commands find
// these agents, and the file by which tools find an agent from this process's
// PID. The directory is locked during the lifetime of this object
// (client/cli/context/run_contexts.h); the destructor removes it with all its
// content. Used by one thread.
class RunDirectory {
 public:
  // Creates a directory below `parent`, the user's runtime directory, which is
  // created if needed. Removes the directories that killed runs have left
  // there. Returns kErrNoPermissions if `parent` is not private to this user or
  // not writable.
  static Result<RunDirectory> Make(const std::string& parent);
  ~RunDirectory();
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::string& path() const { return path_; }
  // Returns the last part of the path, which is the name of the context.
  std::string name() const;

  // Publishes the context, so that commands find its agents. Called once.
  // Returns kErrNoPermissions if the file cannot be written.
  Status Publish(const v1::Context& context) const;
  // Replaces the published context. Returns kErrNoPermissions if the file
  // cannot be written.
  Status Update(const v1::Context& context) const;
  // Removes the context, so that commands no longer find the agents.
  void Withdraw() const;

  // Lets tools that request the server with this process's PID find the agent
  // of this machine whose runtime directory is `agent_directory`. Returns
  // kErrNotFound if that directory has no file for tools.
  Status OfferToTools(const std::string& agent_directory) const;

 private:
  RunDirectory(std::string path, UniqueFd lock);

  std::string path_;  // empty: moved from
  UniqueFd lock_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_RUN_DIRECTORY_H_
