// The inside of an agent. Its life is in agent.cc, the construction of its
// adapters in agent_parts.cc, and persistence, recovery and handover in
// agent_recovery.cc.
#ifndef CANOPY_SERVER_AGENT_AGENT_IMPL_H_
#define CANOPY_SERVER_AGENT_AGENT_IMPL_H_

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/agent.h"
#include "server/agent/bootstrap_channel.h"
#include "server/agent/emulation.h"
#include "server/agent/file_limit.h"
#include "server/agent/membership.h"
#include "server/agent/null_overlay.h"
#include "server/agent/persistent_state.h"
#include "server/agent/planner.h"
#include "server/agent/runtime_dir.h"
#include "server/cleanup/cleanup.h"
#include "server/control/control_server.h"
#include "server/control/control_service.h"
#include "server/control/job_manager.h"
#include "server/control/network_server.h"
#include "server/control/run_server.h"
#include "server/datastore/datastore.h"
#include "server/local/local_endpoint.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/overlay/grpc_overlay.h"
#include "server/pmi1/pmi1_endpoint.h"
#include "server/ports/input_sink.h"
#include "server/process/process_adapter.h"
#include "server/runtime/runtime.h"
#include "server/security/cluster_key.h"

namespace canopy::agent {

class Agent::Impl : public InputSink {
 public:
  Impl(bootstrap::v1::Config config, bool restarted);
  ~Impl() override;

  Status Prepare(bootstrap::v1::NodeInfo* info);
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> detach);
  void Run();

  // Every input of the adapters passes here on its way to the core.
  void OnInput(core::Input input) override;

 private:
  using ControlledJobs = std::map<std::string, ControlledJob>;

  // An embedded agent without peers needs no overlay.
  bool alone() const {
    return config_.embedded() && config_.member_names_size() <= 1;
  }
  void Describe();
  control::AgentView MakeView();
  void MakeRuntime();
  void Report(BootstrapChannel* channel, const bootstrap::v1::State& state);
  void OnReady(BootstrapChannel* channel, const std::function<void()>& detach);
  void WatchSignals();
  void WatchLifeline(int fd);
  // Ends this agent: running jobs first when it controls them.
  void End(const std::string& reason);
  void LeaveAndStop();
  void LetShimsEnd();
  void EndControl();

  // agent_parts.cc: the adapters.
  Status MakeOverlay();
  void MakeEndpoints();
  void MakeLocal(const ProcId& server);
  void MakePmi1();
  void MakeOpenPmix(const ProcId& server);
  void MakeProcesses();
  std::string Token(const ProcId& proc) const;
  Status Listen();
  Status ListenForControl();

  // agent_recovery.cc: persistence, recovery and handover.
  void PersistOpenPmixConnections(openpmix::OpenPmixOptions* options);
  void PersistPmi1Connections(pmi1::Pmi1Options* options);
  void FindRecoverableJobs();
  UniqueFd RecoveredListener();
  void RecoverJobs();
  // `own`: its persisted control state when this agent controls it, or empty.
  void RecoverJob(process::RecoveredJob* job, ControlledJobs::node_type own);
  void Save(const bootstrap::v1::Members& members);
  void HandOver(const std::string& program,
                const std::function<void(const Status&)>& done);
  Status CheckSuccessor(const std::string& path) const;
  void ExecSuccessor(const std::string& program, int64_t deadline);

  FileLimit files_;
  const bootstrap::v1::Config config_;
  const bool restarted_;
  const uint64_t started_;  // nanoseconds since 1970
  EventLoop loop_;
  Membership membership_;
  std::optional<RuntimeDir> dir_;
  std::optional<security::ClusterKey> key_;
  std::optional<security::SecurityConfig> security_;  // with an overlay
  std::unique_ptr<Planner> planner_;
  control::JobManager job_manager_;
  control::ControlService control_;         // on the Unix socket
  control::ControlService remote_control_;  // on the network, with TLS
  control::ControlServer control_server_{&loop_};
  control::RunServer run_server_{&loop_, &job_manager_};
  control::NetworkServer network_server_;
  NullOverlay null_overlay_;
  std::unique_ptr<overlay::GrpcOverlay> overlay_;  // null when alone
  std::function<void()> on_ready_;
  std::unique_ptr<datastore::Datastore> datastore_;
  std::unique_ptr<local::LocalEndpoint> local_;
  std::unique_ptr<pmi1::Pmi1Endpoint> pmi1_;
  std::unique_ptr<openpmix::OpenPmixEndpoint> openpmix_;
  EmulationEnvironment emulation_;
  std::unique_ptr<process::ProcessAdapter> process_;
  std::unique_ptr<PersistentState> persistent_state_;  // null when embedded
  std::vector<process::RecoveredJob> found_;
  // Jobs run as this agent's user.
  cleanup::CleanupRegistry cleanup_{
      [](const std::string&) { return geteuid(); }};
  std::unique_ptr<AgentRuntime> runtime_;
  bootstrap::v1::NodeInfo info_;
  datastore::NodeFacts facts_;
  int signal_fd_ = -1;
  bool ready_ = false;
  bool ending_ = false;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_AGENT_IMPL_H_
