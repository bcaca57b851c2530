// The agents that run a job of `canopy run`: a running overlay, or agents that
// live as long as the job.
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

// Single-threaded. From Connect on, the agents that it starts are a context of
// their own for other commands (client/cli/context/run_contexts.h). The
// destructor ends them and removes their directory.
class RunPlace {
 public:
  // `remote` is null if agents can be reached only through sockets of this
  // machine. It must outlive this object.
  explicit RunPlace(RemoteAgents* remote) : remote_(remote) {}
  ~RunPlace();
  RunPlace(const RunPlace&) = delete;
  RunPlace& operator=(const RunPlace&) = delete;

  // Finds the overlay, or the nodes on which agents are to be started. Changes
  // nothing.
  Status Find(const RunOptions& options);
  // Valid after Find: true if the agent that accepts the job cannot be reached
  // locally.
  bool NeedsRemoteAgents();
  // Starts agents if needed; they come up while the caller continues.
  Status Begin(const RunOptions& options, const Timeline& timeline);
  // Waits until jobs can be run and connects to the agent; call it once.
  // Returns kErrJobCanceled if a signal arrived.
  Result<std::unique_ptr<RunConnection>> Connect(const RunOptions& options,
                                                 const SignalSource& signals,
                                                 const Timeline& timeline);
  // Valid after Connect: removes the hosts that have not answered, with
  // allow_missing, from the job. Returns kErrUnreach if a program has no other.
  Status LeaveOutMissing(JobRequest* job) const;
  // Returns a function that connects to the successor of the agent of Connect;
  // empty if recovery is impossible. It is valid during the lifetime of this
  // object and may be called on any thread, but not concurrently.
  std::function<std::unique_ptr<RunConnection>()> Redial() const;
  // Returns the runtime directories of the known members, which may be on other
  // machines.
  std::vector<std::string> runtime_dirs() const;
  // Returns the name by which commands find the agents; valid after Connect.
  const std::string& context() const { return overlay_.name(); }
  // True if the agents were running before.
  bool persistent() const { return persistent_; }
  // True if the agents continue after this launcher and all others have ended:
  // they were started by `canopy up`.
  bool stays() const { return persistent_ && !overlay_.has_launcher(); }

  void End();

 private:
  // Finds the nodes for agents that live as long as the job.
  Status FindSites(const RunOptions& options);
  Result<std::unique_ptr<RunConnection>> Dial();
  Status MakeDirectory();
  Status StartAgents(const RunOptions& options);
  Status WaitForAgents(const RunOptions& options, const SignalSource& signals);
  void MakeKnown() const;

  RemoteAgents* const remote_;
  v1::Context overlay_;
  bool persistent_ = false;
  std::vector<AgentSite> sites_;  // set when not persistent
  bool emulated_ = false;         // the sites are nodes of this machine
  // Connection to the first member, if it is on this machine.
  std::unique_ptr<RunSocket> socket_;
  int member_ = 0;  // member of the current connection
  bool by_socket_ = false;
  AgentGroup group_;
  // For agents that are started: the run directory, or if it cannot be created,
  // a private directory that commands do not find.
  std::optional<RunDirectory> directory_;
  std::string hidden_directory_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_
