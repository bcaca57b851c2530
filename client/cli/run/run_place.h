// The agents that run a job of `canopy run`: a running overlay, or agents that
// are started for the job and end with it.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/agents/agent_group.h"
#include "client/cli/agents/agent_plans.h"
#include "client/cli/agents/node_start.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/timeline.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/run_directory.h"
#include "client/cli/control/remote_agents.h"
#include "client/cli/control/run_connection.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/run_socket.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

// Used by one thread. From Connect on, the agents that this object has started
// are a context for other commands (client/cli/context/run_contexts.h). The
// destructor ends these agents and removes their directory.
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
  // Returns true if the agent that accepts the job cannot be reached through a
  // socket of this machine. Valid after Find.
  bool NeedsRemoteAgents();
  // Starts agents if needed. Does not wait until they are up.
  Status Begin(const RunOptions& options, const Timeline& timeline);
  // Waits until jobs can be run and connects to the agent. Called once. Returns
  // kErrJobCanceled if a signal arrived.
  Result<std::unique_ptr<RunConnection>> Connect(const RunOptions& options,
                                                 const SignalSource& signals,
                                                 const Timeline& timeline);
  // With allow_missing, removes from the job the hosts that have not answered.
  // Returns kErrUnreach if a program has no other host. Valid after Connect.
  Status LeaveOutMissing(JobRequest* job) const;
  // Returns a function that connects to the successor of the agent of Connect;
  // an empty function if recovery is impossible. The function is valid during
  // the lifetime of this object and may be called on any thread, but not
  // concurrently.
  std::function<std::unique_ptr<RunConnection>()> Redial() const;
  // Returns a function like that of Redial, which connects to the agent that
  // launches new jobs now. Redial connects to that agent from then on.
  std::function<std::unique_ptr<RunConnection>()> DialLeader();
  // Returns the runtime directories of the known members, which may be on other
  // machines.
  std::vector<std::string> runtime_dirs() const;
  // Returns the name of the context by which commands find the agents. Valid
  // after Connect.
  const std::string& context() const { return overlay_.name(); }
  // Returns true if the agents were running before this launcher.
  bool persistent() const { return persistent_; }
  // Returns true if the agents continue after this launcher and all others have
  // ended, because `canopy up` has started them.
  bool stays() const { return persistent_ && !overlay_.has_launcher(); }

  // Starts agents on the hosts of `options` and lets them join the overlay. The
  // other options follow from those of Find. New agents of an overlay of
  // `canopy up` continue after this launcher; others end with this object.
  // Called between Connect and End, on any thread, but not concurrently. Fails
  // like NodeStart::Run.
  Status AddHosts(OverlayRoot* root, NodeStartOptions options);

  // Ends the agents that this object has started, and removes their directory.
  // Has no effect on a running overlay.
  void End();

 private:
  // Determines the nodes of the agents that are started for the job.
  Status FindSites(const RunOptions& options);
  Status FindNamedSites(const RunOptions& options,
                        const std::vector<Host>& hosts);
  bool CanLaunchBySocket();
  std::unique_ptr<RunConnection> DialLeaderBySocket();
  Result<std::unique_ptr<RunConnection>> Dial();
  Status MakeDirectory();
  Status StartAgents(const RunOptions& options);
  Status WaitForAgents(const RunOptions& options, const SignalSource& signals);
  void MakeKnown() const;
  void SetLaunchAgent(NodeStartOptions* options) const;
  Status KeepStarted(const std::vector<bootstrap::v1::NodeInfo>& nodes);

  RemoteAgents* const remote_;
  v1::Context overlay_;
  bool persistent_ = false;
  std::vector<AgentSite> sites_;  // set when not persistent
  bool emulated_ = false;         // the sites are nodes of this machine
  // The connection to the first member, if that member is on this machine.
  std::unique_ptr<RunSocket> socket_;
  int member_ = 0;  // member of the current connection
  bool by_socket_ = false;
  AgentGroup group_;
  // The agents that AddHosts has started for the job.
  std::vector<std::unique_ptr<AgentGroup>> added_;
  // How agents on other hosts are started; set when not persistent.
  std::string launch_agent_;  // of the user; may be empty
  std::string remote_agent_;
  bool launches_all_ = false;
  // The directory of agents that this object starts: the run directory, or, if
  // it cannot be created, a private directory that commands do not find.
  std::optional<RunDirectory> directory_;
  std::string hidden_directory_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_PLACE_H_
