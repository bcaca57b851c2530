#include "server/agent/agent.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/cluster/node_source.h"
#include "common/event_loop.h"
#include "common/hex.h"
#include "common/hosts.h"
#include "common/posix/private_dir.h"
#include "common/topology.h"
#include "common/version.h"
#include "server/agent/bring_up/addresses.h"
#include "server/agent/bring_up/directory_watch.h"
#include "server/agent/bring_up/file_limit.h"
#include "server/agent/bring_up/log.h"
#include "server/agent/bring_up/runtime_dir.h"
#include "server/agent/bring_up/service_manager.h"
#include "server/agent/bring_up/settings.h"
#include "server/agent/bring_up/signal_watch.h"
#include "server/agent/membership/cluster_start.h"
#include "server/agent/membership/membership.h"
#include "server/agent/membership/node_commands.h"
#include "server/agent/membership/planner.h"
#include "server/agent/persistence/agent_state.h"
#include "server/agent/persistence/persistent_state.h"
#include "server/agent/persistence/report_log.h"
#include "server/agent/recovery/adapter_handover.h"
#include "server/agent/recovery/adapter_recovery.h"
#include "server/agent/recovery/recovery_coordinator.h"
#include "server/agent/termination.h"
#include "server/agent/wiring/control_endpoints.h"
#include "server/agent/wiring/local_adapters.h"
#include "server/agent/wiring/node_facts.h"
#include "server/agent/wiring/overlay_adapter.h"
#include "server/agent/wiring/pod_services.h"
#include "server/agent/wiring/scheduler_adapter.h"
#include "server/control/job_manager.h"
#include "server/control/job_record.h"
#include "server/control/placement_request.h"
#include "server/core/step/control_inputs.h"
#include "server/host/embedded_placement.h"
#include "server/hwinfo/hwinfo.h"
#include "server/runtime/runtime.h"
#include "server/spawn/spawn_call.h"

namespace canopy::agent {
namespace {

uint64_t WallClockNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

bool SharesMachine(const bootstrap::v1::Members& members,
                   const std::string& machine) {
  return std::count_if(members.nodes().begin(), members.nodes().end(),
                       [&](const bootstrap::v1::NodeInfo& node) {
                         return node.machine() == machine;
                       }) > 1;
}

// Returns the number of the session. The session is the whole overlay, so all
// its agents return the same number.
uint32_t SessionId(const std::string& overlay_id) {
  uint32_t id = 0;
  for (const char byte : overlay_id.substr(0, sizeof id)) {
    id = id << 8 | static_cast<unsigned char>(byte);
  }
  return id;
}

// Returns the members with `info` as the entry of this agent, whose stored
// entry is that of its predecessor.
bootstrap::v1::Members WithOwn(bootstrap::v1::Members members, uint32_t self,
                               const bootstrap::v1::NodeInfo& info) {
  if (self < static_cast<uint32_t>(members.nodes_size())) {
    *members.mutable_nodes(static_cast<int>(self)) = info;
  }
  return members;
}

}  // namespace

// The parts of an agent in the order of their construction. Each part uses only
// earlier ones.
class Agent::Impl {
 public:
  Impl(bootstrap::v1::Config config, bool restarted);

  Status Prepare(bootstrap::v1::NodeInfo* info);
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> on_ready);
  void EndAloneOnHangup(std::function<void()> note) {
    note_end_alone_ = std::move(note);
  }
  void Run();

 private:
  control::JobPlanner MakePlanner();
  control::HostPlanner MakeHostPlanner();
  Status OpenOverlay(bool remote);
  OverlayAdapter::Listener OverlayListener();
  NodeCommands::Parts NodeParts();
  // Called when agents may have stopped or begun to answer.
  void OnReachability();
  // Called when something was decided about a member, or a member was added.
  void OnRecord(const overlay::MemberRecord& record);
  // Called when an agent has described its node.
  void OnDescription(NodeId node, const std::string& description);
  // Informs the parts that use the members' descriptions.
  void OnLeaderChanged();
  void OnMemberChanged(NodeId node);
  // Publishes the list of members to processes and the successor.
  void OnMembersChanged();
  // Returns true if agents find each other from the file of their cluster.
  bool in_cluster() const { return !config_.cluster_file().empty(); }
  // Returns true if this agent knows no job that runs or waits.
  bool idle() const {
    return job_manager_.known_jobs().empty() &&
           job_manager_.queued().size() == 0;
  }
  // Adds the nodes that the file of the cluster has and the overlay has not.
  void AddClusterNodes();
  // Reads the list of the nodes again, or ends so that the search for other
  // agents begins again (Agent::EndAloneOnHangup).
  void OnHangup();
  // Handles the signals of a service manager.
  void WatchSignals();
  void OnServiceSignal(int signal);
  // Ends this process and leaves the jobs of this node to a successor.
  void ExitForSuccessor();
  // Returns the error with which the mapper would refuse the job if it had only
  // the slots of `room`.
  Status Fits(const JobRequest& job, host::EmbeddedPlacement::Room room) const;
  Status MakeDirectory();
  Status PreparePods();
  void WatchDirectory();
  // Reports once that commands cannot find this agent any more. If this is the
  // root agent and no job is left, ends the overlay, because no command can end
  // it.
  void OnDirectoryRemoved();
  void MakeAdapters();
  void MakePersistence();
  Status Listen();
  Status MakeScheduler();
  void Describe();
  void AddTimesToLoss(control::v1::StatusReply* reply) const;
  control::AgentView MakeView();
  void StartCore();
  void OnReady(BootstrapChannel* channel,
               const std::function<void()>& on_ready);
  void SaveForSuccessor(const bootstrap::v1::Members& members);
  // Begins the handover to the executable file `program`. An empty path means
  // the path of this program, where another file may be by now.
  void Replace(std::string program,
               const std::function<void(const Status&)>& done);
  Status CheckSuccessor(const std::string& path) const;
  // Ends this agent. If it controls jobs, they are ended first.
  void End(const std::string& reason);
  void LeaveAndStop();

  FileLimit files_;
  bootstrap::v1::Config config_;
  const bool restarted_;
  const uint64_t started_ = WallClockNs();  // nanoseconds since 1970
  EventLoop loop_;
  AgentRuntime runtime_{&loop_};
  Termination termination_;
  std::optional<SignalWatch> service_signals_;  // only in a cluster
  std::optional<ServiceWatchdog> watchdog_;     // only in a cluster
  std::optional<RuntimeDir> dir_;
  std::optional<DirectoryWatch> dir_watch_;
  Membership membership_;
  std::unique_ptr<Planner> planner_;  // null before Join
  host::EmbeddedPlacement embedded_placement_{&loop_};
  control::JobManager job_manager_;
  std::optional<PodServices> pods_;  // only in Kubernetes
  std::unique_ptr<LocalAdapters> adapters_;
  OverlayAdapter overlay_;
  NodeCommands node_commands_;
  ControlEndpoints control_;
  std::unique_ptr<PersistentState> persistent_state_;  // null when embedded
  std::unique_ptr<AdapterRecovery> recovery_actions_;  // null unless restarted
  std::unique_ptr<RecoveryCoordinator> recovery_;      // null unless restarted
  std::unique_ptr<AdapterHandover> handover_actions_;
  std::unique_ptr<Handover> handover_;
  std::unique_ptr<ReportLog> report_log_;        // null when embedded
  std::unique_ptr<SchedulerAdapter> scheduler_;  // null without a scheduler
  bootstrap::v1::NodeInfo info_;
  bool ready_ = false;
  bool members_changed_ = false;  // OnMembersChanged is due
  bool reported_removal_ = false;
  std::function<void()> note_end_alone_;  // null: SIGHUP never ends the agent
};

Agent::Impl::Impl(bootstrap::v1::Config config, bool restarted)
    : config_(std::move(config)),
      restarted_(restarted),
      termination_(&loop_, [this](const std::string& reason) { End(reason); }),
      membership_(config_),
      job_manager_(&loop_, MakePlanner()),
      overlay_(&loop_, &runtime_, config_, OverlayListener()),
      node_commands_(NodeParts()),
      control_(&loop_, &job_manager_, MakeView()) {
  job_manager_.set_sink(&runtime_);
  membership_.set_leader_changed(
      [this] { loop_.Defer([this] { OnLeaderChanged(); }); });
  membership_.set_why_away(
      [this](NodeId node) { return overlay_.WhyAway(node); });
  embedded_placement_.set_fits(
      [this](const JobRequest& job, host::EmbeddedPlacement::Room room) {
        return Fits(job, room);
      });
  embedded_placement_.set_away([this] { return membership_.AwayNodes(); });
  job_manager_.set_placement(&embedded_placement_);
}

OverlayAdapter::Listener Agent::Impl::OverlayListener() {
  OverlayAdapter::Listener listener;
  listener.node_name = [this](NodeId node) { return membership_.Name(node); };
  listener.reachability = [this] { OnReachability(); };
  listener.record = [this](const overlay::MemberRecord& record) {
    OnRecord(record);
  };
  listener.description = [this](NodeId node, const std::string& description) {
    OnDescription(node, description);
  };
  listener.removed = [this](const std::string& reason) { End(reason); };
  return listener;
}

NodeCommands::Parts Agent::Impl::NodeParts() {
  NodeCommands::Parts parts;
  parts.config = &config_;
  parts.membership = &membership_;
  parts.jobs = [this]() -> const control::JobRecords& {
    return job_manager_.known_jobs();
  };
  parts.decide = [this](overlay::MemberRecord record) {
    return overlay_.Decide(std::move(record));
  };
  parts.known = [this] { return overlay_.Known(/*states=*/true); };
  parts.now_ms = control::WallClockMs;
  parts.end_job = [this](const std::string& nspace, const std::string& reason,
                         uint32_t seconds) {
    job_manager_.EndJob(nspace, reason, seconds);
  };
  return parts;
}

void Agent::Impl::OnRecord(const overlay::MemberRecord& record) {
  membership_.Apply(record);
  if (!config_.embedded()) {
    runtime_.OnInput(core::MemberServes{
        record.node, record.service == overlay::Service::kInService});
  }
  OnMemberChanged(record.node);
  if (record.node == config_.self() && membership_.removed(record.node)) {
    loop_.Post([this] { End("this node was removed from the overlay"); });
  }
}

void Agent::Impl::OnDescription(NodeId node, const std::string& description) {
  if (membership_.Describe(node, description)) OnMemberChanged(node);
}

void Agent::Impl::OnMemberChanged(NodeId node) {
  planner_->SetNode(node, membership_.info(node));
  control_.SetMember(membership_.info(node));
  if (scheduler_) scheduler_->OnMember(node);
  const bool is_here = membership_.info(node).machine() == info_.machine();
  if (is_here && node != config_.self()) {
    adapters_->ShareMachine(config_.emulated());
  }
  if (!std::exchange(members_changed_, true)) {
    loop_.Defer([this] { OnMembersChanged(); });
  }
  embedded_placement_.SlotsFreed();
}

void Agent::Impl::OnLeaderChanged() {
  if (scheduler_) scheduler_->OnLeaderChanged();
  if (pods_) pods_->OnLeaderChanged();
  if (!membership_.IsLeader(config_.self())) job_manager_.MoveQueued();
}

void Agent::Impl::OnHangup() {
  if (!note_end_alone_ || membership_.size() > 1 || !idle()) {
    return AddClusterNodes();
  }
  note_end_alone_();
  End("SIGHUP: it has no other members, and searches for them again");
}

// The members of a cluster whose nodes come from DNS ask for their numbers
// themselves.
void Agent::Impl::AddClusterNodes() {
  Result<ClusterFile> file = ReadClusterFile(config_.cluster_file());
  if (file.ok() && file->nodes_from == NodesFrom::kDns) return;
  if (file.ok()) file = WithNodes(*std::move(file));
  const Result<std::vector<ClusterNode>> nodes =
      file.ok() ? NewClusterNodes(*file, membership_.Members())
                : Result<std::vector<ClusterNode>>(file.status());
  Status status = nodes.status();
  for (size_t i = 0; status.ok() && i < nodes->size(); ++i) {
    const ClusterNode& node = (*nodes)[i];
    overlay::MemberRecord record;
    record.node = membership_.size();
    record.name = node.name;
    status = overlay_.Decide(record);
    overlay_.SetAddress(record.node, ClusterAddress(node.host, node.port));
  }
  if (status.ok()) return;
  Log({core::LogLine::Level::kError,
       "no nodes are added: " + status.message()});
}

void Agent::Impl::OnMembersChanged() {
  members_changed_ = false;
  const bootstrap::v1::Members members = membership_.Members();
  adapters_->datastore().SetNodes(MakeSessionNodes(members));
  if (!config_.embedded()) SaveForSuccessor(members);
}

void Agent::Impl::OnReachability() {
  if (scheduler_) scheduler_->OnReachability();
  embedded_placement_.SlotsFreed();
}

Status Agent::Impl::Fits(const JobRequest& job,
                         host::EmbeddedPlacement::Room room) const {
  using Room = host::EmbeddedPlacement::Room;
  return planner_->Fits(
      job,
      room == Room::kWithoutOthers ? control::JobRecords()
                                   : job_manager_.known_jobs(),
      membership_,
      room == Room::kNow ? Planner::Away::kLeftOut : Planner::Away::kIncluded);
}

control::JobPlanner Agent::Impl::MakePlanner() {
  control::JobPlanner planner;
  planner.drain = [this](const std::string& name, const std::string& reason) {
    return node_commands_.Drain(name, reason);
  };
  planner.warn = [](const std::string& text) {
    Log({core::LogLine::Level::kWarning, text});
  };
  planner.stacks_program = Beside("CANOPY_STACKS", "canopy-stacks");
  planner.new_name = [this] { return planner_->NewNspace(); };
  planner.topology = [this](NodeId agent) {
    return planner_->TopologyOf(agent);
  };
  planner.launch = [this](const JobRequest& request,
                          const control::Caller& caller,
                          const control::Placed& placed) {
    return planner_->Plan(request, caller, placed, job_manager_.known_jobs(),
                          membership_);
  };
  planner.serves_all_users = config_.serves_all_users();
  planner.spawn = [this](const spawn::SpawnCall& call,
                         const control::Spawner& spawner,
                         const control::Placed& placed) {
    return planner_->PlanSpawn(call, spawner, placed, job_manager_.known_jobs(),
                               membership_);
  };
  planner.name_hosts = [this](const std::string& spawner, bool empty,
                              std::vector<Host>* hosts) {
    return planner_->NameHosts(spawner, empty, job_manager_.known_jobs(),
                               membership_, hosts);
  };
  planner.hosts = MakeHostPlanner();
  planner.limits = [this] { return membership_.LimitsOfUsers(config_); };
  planner.leads = [this] { return membership_.IsLeader(config_.self()); };
  return planner;
}

control::HostPlanner Agent::Impl::MakeHostPlanner() {
  control::HostPlanner hosts;
  hosts.missing = [this](const spawn::SpawnCall& call, const ProcId& spawner) {
    return Planner::MissingHosts(call, spawner, job_manager_.known_jobs(),
                                 membership_);
  };
  hosts.add = [this](const control::v1::AddNodesRequest& request,
                     bool remote) -> Result<control::v1::AddNodesReply> {
    if (Status status = OpenOverlay(remote); !status.ok()) return status;
    return node_commands_.AddForLauncher(request);
  };
  hosts.remove = [this](const std::vector<NodeId>& nodes) {
    node_commands_.Withdraw(nodes);
  };
  hosts.is_up = [this](NodeId node) { return membership_.up(node); };
  return hosts;
}

// Lets an agent that was started without peers accept members. The address is
// that of this machine if there will be members on other machines, unless the
// user has chosen one.
Status Agent::Impl::OpenOverlay(bool remote) {
  if (!overlay_.alone()) return Status();
  if (remote && HostOfAddress(config_.listen()) == "127.0.0.1") {
    config_.clear_listen();
  }
  if (Status s = overlay_.Open(config_.listen()); !s.ok()) return s;
  info_.set_address(overlay_.address());
  membership_.DescribeSelf(info_);
  planner_->SetNode(config_.self(), info_);
  return Status();
}

Status Agent::Impl::Prepare(bootstrap::v1::NodeInfo* info) {
  Status status = MakeDirectory();
  if (!status.ok()) return status;
  WatchDirectory();
  WatchSignals();
  if (status = PreparePods(); !status.ok()) return status;
  MakeAdapters();
  MakePersistence();
  if (recovery_) recovery_->FindJobs();
  status = Listen();
  if (status.ok()) status = MakeScheduler();
  if (!status.ok()) return status;
  Describe();
  *info = info_;
  return Status();
}

void Agent::Impl::WatchSignals() {
  if (!in_cluster()) return termination_.WatchSignals({SIGINT, SIGTERM});
  termination_.WatchSignals({SIGINT});
  service_signals_.emplace(&loop_, std::initializer_list<int>{SIGHUP, SIGTERM},
                           [this](int signal) { OnServiceSignal(signal); });
  watchdog_.emplace(&loop_);
}

void Agent::Impl::OnServiceSignal(int signal) {
  if (signal == SIGTERM) return ExitForSuccessor();
  ReportState(ServiceState::kReloading);
  OnHangup();
  ReportState(ServiceState::kReady);
}

void Agent::Impl::ExitForSuccessor() {
  ReportState(ServiceState::kStopping);
  const uint32_t grace_ms = config_.restart_grace_ms();
  if (grace_ms == 0 || !ready_) return End("signal " + std::to_string(SIGTERM));
  if (!termination_.begun()) handover_->BeginExit(grace_ms);
}

Status Agent::Impl::MakeDirectory() {
  Result<RuntimeDir> dir = RuntimeDir::Make(
      config_.runtime_dir(), ToHex(config_.overlay_id()).substr(0, 8),
      config_.node_name(), config_.embedded(), config_.serves_all_users());
  if (!dir.ok()) return dir.status();
  dir_.emplace(*std::move(dir));
  return Status();
}

Status Agent::Impl::PreparePods() {
  if (!config_.has_kubernetes()) return Status();
  PodServices::Parts parts;
  parts.loop = &loop_;
  parts.config = &config_;
  parts.membership = &membership_;
  parts.job_manager = &job_manager_;
  parts.security = &overlay_.security();
  parts.holds = [this](const std::string& nspace) {
    return adapters_->process().Holds(nspace);
  };
  pods_.emplace(std::move(parts));
  return pods_->Prepare();
}

// Has no effect in an embedded agent, whose directory its launcher locks.
void Agent::Impl::WatchDirectory() {
  if (config_.embedded()) return;
  const std::string user = UserRuntimeDir();
  const std::string contexts = user + "/contexts";
  const std::string own = dir_->path();
  DirectoryWatch::Options options;
  options.directory = own;
  options.shared = {own.substr(0, own.rfind('/')), user, contexts};
  options.files = {contexts + "/" + config_.context() + ".json"};
  options.removed = [this] { OnDirectoryRemoved(); };
  dir_watch_.emplace(&loop_, std::move(options));
}

void Agent::Impl::OnDirectoryRemoved() {
  if (!std::exchange(reported_removal_, true)) {
    Log({core::LogLine::Level::kError,
         dir_->path() +
             " was removed: commands and new processes of this machine do not "
             "find this agent any more"});
  }
  if (config_.self() != 0 || !idle() || termination_.begun()) return;
  runtime_.OnInput(core::ShutdownRequested{
      "the root agent's directory was removed, and no job is left"});
}

void Agent::Impl::MakeAdapters() {
  adapters_ = std::make_unique<LocalAdapters>(&loop_, &runtime_, config_,
                                              dir_->path(), files_.original(),
                                              pods_ ? &*pods_ : nullptr);
  HandoverParts parts;
  parts.runtime = &runtime_;
  parts.adapters = adapters_.get();
  parts.overlay = &overlay_;
  parts.control = &control_;
  parts.job_manager = &job_manager_;
  parts.files = &files_;
  parts.directory = dir_->path();
  parts.fail = [this] { End("it could not be replaced"); };
  handover_actions_ = std::make_unique<AdapterHandover>(std::move(parts));
  handover_ = std::make_unique<Handover>(&loop_, handover_actions_.get());
}

void Agent::Impl::MakePersistence() {
  if (config_.embedded()) return;
  persistent_state_ = std::make_unique<PersistentState>(
      adapters_->fd_store(), &adapters_->datastore(), dir_->path(),
      [this] { return adapters_->openpmix().listener(); }, Log);
  job_manager_.set_persistence(
      persistent_state_.get(), config_.restart_grace_ms(),
      std::max(config_.restart_grace_ms(), Handover::kDowntimeMs));
  if (!restarted_) return;
  recovery_actions_ = std::make_unique<AdapterRecovery>(
      &loop_, &runtime_, adapters_.get(), persistent_state_.get(),
      &job_manager_, dir_->path());
  recovery_ = std::make_unique<RecoveryCoordinator>(recovery_actions_.get());
}

Status Agent::Impl::Listen() {
  Status status = overlay_.Listen(restarted_);
  if (status.ok() && !overlay_.alone()) {
    std::vector<grpc::Service*> others;
    if (pods_) others.push_back(pods_->service());
    status =
        control_.StartNetwork(config_, overlay_.address(), overlay_.security(),
                              adapters_->ForRelayedTools(), others);
  }
  if (status.ok()) {
    status =
        adapters_->Listen(recovery_ ? recovery_->TakeListener() : UniqueFd());
  }
  if (status.ok()) status = control_.StartLocal(dir_->path());
  if (status.ok() && config_.serves_all_users()) {
    status = control_.StartUsers(config_, dir_->path(), overlay_.security());
  }
  return status;
}

Status Agent::Impl::MakeScheduler() {
  if (config_.host_module().empty()) return Status();
  SchedulerAdapter::Parts parts;
  parts.loop = &loop_;
  parts.sink = &runtime_;
  parts.config = &config_;
  parts.membership = &membership_;
  parts.job_manager = &job_manager_;
  parts.embedded = adapters_->host();
  parts.started = started_;
  if (!config_.embedded()) {
    report_log_ = std::make_unique<ReportLog>(dir_->path());
    parts.reports = report_log_.get();
  }
  auto scheduler = SchedulerAdapter::Make(parts, overlay_.security());
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = *std::move(scheduler);
  job_manager_.set_placement(scheduler_->placement());
  adapters_->SetToolHost(scheduler_->host());
  return Status();
}

void Agent::Impl::Describe() {
  info_.set_name(config_.node_name());
  *info_.mutable_aliases() = config_.aliases();
  info_.set_address(overlay_.address());
  info_.set_control_address(control_.network_address());
  info_.set_control_socket(ControlEndpoints::SocketIn(dir_->path()));
  info_.set_pid(static_cast<uint64_t>(getpid()));
  info_.set_version(kVersion);
  info_.set_machine(MachineId());
  info_.set_runtime_dir(dir_->path());
  const Topology& topology = hwinfo::ThisMachine();
  info_.set_topology(EncodeTopology(topology));
  info_.set_slots(config_.slots() != 0
                      ? config_.slots()
                      : std::max(1u, topology.Count(TopologyLevel::kCore)));
}

void Agent::Impl::Join(const bootstrap::v1::Members& members,
                       BootstrapChannel* channel,
                       std::function<void()> on_ready) {
  const bool knows_all = !restarted_ && !in_cluster();
  const bootstrap::v1::Members now =
      knows_all ? members : WithOwn(members, config_.self(), info_);
  membership_.Set(now);
  for (const auto& member : now.nodes()) control_.SetMember(member);
  adapters_->datastore().SetNodes(MakeSessionNodes(now));
  planner_ = std::make_unique<Planner>(now, config_.self(),
                                       SessionId(config_.overlay_id()));
  if (SharesMachine(now, info_.machine())) {
    adapters_->ShareMachine(config_.emulated());
  }
  StartCore();
  if (recovery_) recovery_->RecoverJobs();
  if (scheduler_) scheduler_->Start(now);
  if (!config_.embedded()) SaveForSuccessor(members);
  if (channel != nullptr) termination_.WatchLauncher(channel->in_fd());
  const auto ready = [this, channel, on_ready = std::move(on_ready)] {
    OnReady(channel, on_ready);
  };
  if (in_cluster()) overlay_.Describe(info_);
  overlay_.Join(members, ready);
  if (in_cluster()) AddClusterNodes();
  // These agents are ready at once, because other members may be lost
  // permanently, or not have started yet.
  if (!knows_all) ready();
}

void Agent::Impl::StartCore() {
  core::CoreConfig core;
  core.self = config_.self();
  for (const std::string& name : config_.member_names()) {
    core.node_names.push_back(name);
  }
  core.server_nspace = adapters_->server().nspace;
  core.radix = config_.radix();
  core.persists = persistent_state_ != nullptr;
  core.began_at = EventLoop::Now();
  RuntimePorts ports;
  ports.overlay = overlay_.port();
  ports.persistence = persistent_state_.get();
  ports.jobs = &job_manager_;
  ports.observers = {&membership_};
  adapters_->AddTo(&ports);
  if (scheduler_) {
    ports.host = scheduler_->host();
    ports.observers.push_back(scheduler_.get());
  }
  ports.log = Log;
  ports.end = [this](const std::string& reason) {
    termination_.Begin(reason);
    LeaveAndStop();
  };
  runtime_.Start(std::move(core), std::move(ports));
}

void Agent::Impl::OnReady(BootstrapChannel* channel,
                          const std::function<void()>& on_ready) {
  if (std::exchange(ready_, true)) return;
  bootstrap::v1::State state;
  state.set_connected(static_cast<uint32_t>(config_.member_names_size()));
  state.set_ready(true);
  if (channel != nullptr) {
    const Status status = channel->Write(state);
    if (!status.ok()) End(status.message());
  }
  if (config_.embedded()) return on_ready();
  termination_.UnwatchLauncher();
  on_ready();
  // The driver is logged after `on_ready`, which opens the log file.
  overlay_.LogDriver();
}

void Agent::Impl::SaveForSuccessor(const bootstrap::v1::Members& members) {
  bootstrap::v1::AgentState state;
  *state.mutable_config() = config_;
  state.mutable_config()->set_runtime_dir(dir_->path());
  state.mutable_config()->set_pmix_port(adapters_->openpmix().port());
  if (!overlay_.alone()) {
    state.mutable_config()->set_listen(overlay_.address());
    state.mutable_config()->set_predecessor(overlay_.incarnation());
    state.mutable_config()->set_control_listen(control_.network_address());
  }
  *state.mutable_members() = WithOwn(members, config_.self(), info_);
  state.mutable_members()->set_known(overlay_.Known(/*states=*/false));
  state.mutable_config()->clear_member_names();
  for (const bootstrap::v1::NodeInfo& node : members.nodes()) {
    state.mutable_config()->add_member_names(node.name());
  }
  const Status status = SaveState(dir_->path(), state);
  if (status.ok()) return;
  Log({core::LogLine::Level::kWarning,
       "this agent cannot be restarted: " + status.message()});
}

void Agent::Impl::AddTimesToLoss(control::v1::StatusReply* reply) const {
  for (control::v1::NodeStatus& node : *reply->mutable_nodes()) {
    const std::optional<int64_t> left = overlay_.TimeToLoss(node.node());
    if (left) node.set_lost_in_ms(static_cast<uint64_t>(*left / 1000000));
  }
}

control::AgentView Agent::Impl::MakeView() {
  control::AgentView view;
  view.operators = config_.operators();
  view.status = [this] {
    control::v1::StatusReply reply =
        membership_.Describe(job_manager_.known_jobs());
    reply.set_started(started_);
    reply.set_linked(overlay_.linked());
    AddTimesToLoss(&reply);
    reply.set_pid(static_cast<uint64_t>(getpid()));
    reply.set_slow_turns(runtime_.slow_turns());
    reply.set_scheduler(config_.host_module());
    if (scheduler_) reply.set_scheduler_trouble(scheduler_->trouble());
    return reply;
  };
  view.node_name = [this](NodeId node) { return membership_.Name(node); };
  view.add_nodes = [this](const control::v1::AddNodesRequest& request) {
    return node_commands_.Add(request);
  };
  view.decide_nodes = [this](const control::v1::DecideNodesRequest& request) {
    return node_commands_.Decide(request);
  };
  view.shut_down = [this] {
    runtime_.OnInput(core::ShutdownRequested{"the overlay is shut down"});
  };
  view.replace = [this](const std::string& program, const auto& done) {
    Replace(program, done);
  };
  return view;
}

void Agent::Impl::Replace(std::string program,
                          const std::function<void(const Status&)>& done) {
  if (program.empty()) program = Beside("CANOPYD", "canopyd");
  const Status may = CheckSuccessor(program);
  done(may);
  if (may.ok()) handover_->Begin(std::move(program), "/proc/self/exe");
}

Status Agent::Impl::CheckSuccessor(const std::string& path) const {
  if (termination_.begun()) {
    return Status(kErrNotSupported, "this agent is ending");
  }
  if (persistent_state_ == nullptr) {
    return Status(kErrNotSupported, "this agent ends with its launcher");
  }
  if (job_manager_.num_bound() > 0) {
    return Status(kErrResourceBusy,
                  "this agent controls " +
                      std::to_string(job_manager_.num_bound()) +
                      " job(s) that would end with it, as an older 'canopy "
                      "run' cannot go on with another agent; try again when "
                      "they are over, or end them with 'canopy kill'");
  }
  if (access(path.c_str(), X_OK) != 0) {
    return Status(kErrNotFound,
                  "cannot execute " + path + ": " + std::strerror(errno));
  }
  return Status();
}

void Agent::Impl::End(const std::string& reason) {
  if (!termination_.Begin(reason)) return;
  if (!planner_) return loop_.Stop();  // not joined yet
  job_manager_.KillAll(reason, [this] { LeaveAndStop(); });
}

// Leaves the overlay and stops. Embedded agents all end with their launcher, so
// no member needs a notification.
void Agent::Impl::LeaveAndStop() {
  if (config_.embedded()) return loop_.Stop();
  overlay_.Leave([this] { loop_.Stop(); });
}

void Agent::Impl::Run() {
  loop_.Run();
  if (scheduler_) scheduler_->FinishReports();
  job_manager_.set_placement(&embedded_placement_);
  adapters_->SetToolHost(nullptr);
  scheduler_.reset();
  adapters_->EndShims(/*forget=*/config_.embedded());
  if (config_.embedded()) return;
  control_.Stop();
  RemoveState(dir_->path());
  if (persistent_state_) persistent_state_->DropAllControl();
  if (report_log_) report_log_->Delete();
}

Agent::Agent(bootstrap::v1::Config config, bool restarted)
    : impl_(std::make_unique<Impl>(std::move(config), restarted)) {}

Agent::~Agent() = default;

Status Agent::Prepare(bootstrap::v1::NodeInfo* info) {
  return impl_->Prepare(info);
}

void Agent::Join(const bootstrap::v1::Members& members,
                 BootstrapChannel* channel, std::function<void()> on_ready) {
  impl_->Join(members, channel, std::move(on_ready));
}

void Agent::EndAloneOnHangup(std::function<void()> note) {
  impl_->EndAloneOnHangup(std::move(note));
}

void Agent::Run() { impl_->Run(); }

}  // namespace canopy::agent
