// Where a job of `canopy run` runs: an overlay that is up, or agents that live
// as long as the job.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/agents/agent_group.h"
#include "client/cli/agents/agent_plans.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/timeline.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/run_directory.h"
#include "client/cli/control/remote_agents.h"
#include "client/cli/control/run_connection.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/run_socket.h"
#include "common/status.h"

namespace canopy::cli {

// Single-threaded. Agents that it starts are a context of their own for other
// commands (client/cli/context/run_contexts.h), from Connect on. Its end ends
// them and removes their directory.
class RunPlace {
 public:
  // Null: there is no way to agents but over sockets of this machine. It
  // outlives this.
  explicit RunPlace(RemoteAgents* remote) : remote_(remote) {}
  ~RunPlace();
  RunPlace(const RunPlace&) = delete;
  RunPlace& operator=(const RunPlace&) = delete;

  // Finds the overlay, or which nodes agents are to be started on, and changes
  // nothing.
  Status Find(const RunOptions& options);
  // After Find: the agent that takes the job cannot be reached locally.
  bool NeedsRemoteAgents();
  // Starts agents, if need be; they come up while the caller goes on.
  Status Begin(const RunOptions& options, const Timeline& timeline);
  // Waits until jobs can be run and connects to where they are; once.
  // kErrJobCanceled: a signal came.
  Result<std::unique_ptr<RunConnection>> Connect(const RunOptions& options,
                                                 const SignalSource& signals,
                                                 const Timeline& timeline);
  // Connects to the successor of the agent that Connect connected to; empty
  // when recovery is impossible. For as long as this lives; any thread, one at
  // a time.
  std::function<std::unique_ptr<RunConnection>()> Redial() const;
  // Of the members that are known, which may be elsewhere.
  std::vector<std::string> runtime_dirs() const;
  // The agents were up already.
  bool persistent() const { return persistent_; }
  // The agents go on when this launcher and all others have ended: they are
  // those of `canopy up`.
  bool stays() const { return persistent_ && !overlay_.has_launcher(); }

  void End();

 private:
  Result<std::unique_ptr<RunConnection>> Dial();
  Status MakeDirectory();
  Status StartAgents(const RunOptions& options);
  Status WaitForAgents(const RunOptions& options, const SignalSource& signals);
  void MakeKnown() const;

  RemoteAgents* const remote_;
  v1::Context overlay_;
  bool persistent_ = false;
  std::vector<AgentSite> sites_;       // when not persistent
  std::unique_ptr<RunSocket> socket_;  // of the first member, if it is here
  int member_ = 0;                     // that was connected to
  bool by_socket_ = false;
  AgentGroup group_;
  // Of agents that are started: the one, or where it can not be made the other.
  std::optional<RunDirectory> directory_;
  std::string hidden_directory_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_
