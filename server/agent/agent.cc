#include "server/agent/agent.h"

#include <linux/close_range.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "common/run_protocol.h"
#include "common/version.h"
#include "server/agent/addresses.h"
#include "server/agent/agent_state.h"
#include "server/agent/emulation.h"
#include "server/agent/file_limit.h"
#include "server/agent/membership.h"
#include "server/agent/null_overlay.h"
#include "server/agent/planner.h"
#include "server/agent/recovery.h"
#include "server/agent/runtime_dir.h"
#include "server/cleanup/cleanup.h"
#include "server/control/control_server.h"
#include "server/control/control_service.h"
#include "server/control/job_controller.h"
#include "server/control/network_server.h"
#include "server/control/run_server.h"
#include "server/datastore/datastore.h"
#include "server/hwinfo/hwinfo.h"
#include "server/local/environment.h"
#include "server/local/local_endpoint.h"
#include "server/overlay/grpc_overlay.h"
#include "server/pmi1/pmi1_endpoint.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/process/process_adapter.h"
#include "server/runtime/runtime.h"
#include "server/security/cluster_key.h"
#include "server/stock/environment.h"
#include "server/stock/stock_endpoint.h"

namespace canopy::agent {
namespace {

constexpr char kClientSocket[] = "/clients.sock";
constexpr char kControlSocket[] = "/control.sock";
constexpr uint32_t kDefaultLossTimeoutMs = 5000;
// How long shims that were told to end are waited for at the agent's own end.
constexpr int64_t kShimsEndNs = int64_t{3} * 1000 * 1000 * 1000;
// And control calls that it has not answered.
constexpr int64_t kCallsEndNs = int64_t{2} * 1000 * 1000 * 1000;
// How long everybody waits for the agent that an orderly replacement starts.
constexpr uint32_t kReplaceMs = 30000;
constexpr int64_t kMillisecond = 1000 * 1000;
// How long it is put off for those who have connected and not said who they
// are.
constexpr int64_t kGreetingsNs = 1000 * kMillisecond;

std::string Hex(std::string_view bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[(c >> 4) & 15];
    out += kDigits[c & 15];
  }
  return out;
}

// A file beside the agent's own program, or where the variable says.
std::string Beside(const char* variable, const std::string& relative) {
  if (const char* path = std::getenv(variable); path != nullptr) return path;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / relative).lexically_normal();
}

uint64_t WallClockNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

void Log(const core::LogLine& line) {
  switch (line.level) {
    case core::LogLine::Level::kInfo:
      return spdlog::info("{}", line.text);
    case core::LogLine::Level::kWarning:
      return spdlog::warn("{}", line.text);
    case core::LogLine::Level::kError:
      return spdlog::error("{}", line.text);
  }
}

uint32_t LossMs(const bootstrap::v1::Config& config) {
  return config.loss_timeout_ms() != 0 ? config.loss_timeout_ms()
                                       : kDefaultLossTimeoutMs;
}

// How long others wait for this node's next agent.
uint32_t GraceMs(const bootstrap::v1::Config& config) {
  return config.restart_grace_ms() != 0 ? config.restart_grace_ms()
                                        : LossMs(config) / 5 * 2;
}

Result<security::SecurityConfig> MakeSecurity(
    const bootstrap::v1::Config& config) {
  security::SecurityConfig out;
  Result<security::ClusterKey> key =
      security::ClusterKey::FromHex(Hex(config.cluster_key()));
  if (!key.ok()) return key.status();
  out.key = *key;
  if (config.security() == "files") {
    out.mode = security::SecurityMode::kFiles;
    out.ca_path = config.tls_ca();
    out.certificate_path = config.tls_cert();
    out.private_key_path = config.tls_key();
  } else if (config.security() == "plaintext") {
    out.mode = security::SecurityMode::kPlaintext;
    out.plaintext_anywhere = true;
  } else if (config.security() != "tls") {
    return Status(kErrBadParam, "no security mode '" + config.security() +
                                    "'; there are tls, files and plaintext");
  }
  return out;
}

datastore::NodeFacts MakeNodeFacts(const ProcId& server,
                                   const std::string& tmpdir,
                                   const Topology& topology) {
  datastore::NodeFacts facts;
  facts.self = server.rank;
  facts.server = server;
  facts.cluster_id = server.nspace;
  facts.rm_version = kVersion;
  facts.tmpdir = tmpdir;
  facts.available_memory = topology.memory_bytes;
  facts.topology_signature = topology.signature;
  // A process that is not bound is everywhere on its node; no locality at all
  // would say that it is on another one.
  facts.locality = [topology](const std::string& cpuset) {
    const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
    if (!cpus.ok()) return std::string();
    return LocalityString(topology, cpuset.empty() ? topology.cpus : *cpus);
  };
  facts.package =
      [topology](const std::string& cpuset) -> std::optional<uint32_t> {
    const Result<CpuSet> cpus = CpuSet::Parse(cpuset);
    if (!cpus.ok() || cpuset.empty()) return std::nullopt;
    const auto& packages = topology.at(TopologyLevel::kPackage);
    for (size_t i = 0; i < packages.size(); ++i) {
      if (packages[i].Contains(*cpus)) return static_cast<uint32_t>(i);
    }
    return std::nullopt;
  };
  return facts;
}

bool SharesMachine(const bootstrap::v1::Members& members,
                   const std::string& machine) {
  return std::count_if(members.nodes().begin(), members.nodes().end(),
                       [&](const bootstrap::v1::NodeInfo& node) {
                         return node.machine() == machine;
                       }) > 1;
}

std::string ListenAddress(const bootstrap::v1::Config& config) {
  const std::string host =
      config.listen().empty() ? OwnAddress() : config.listen();
  const bool has_port =
      host.find(':',
                host.rfind(']') == std::string::npos ? 0 : host.rfind(']')) !=
      std::string::npos;
  return has_port ? host : host + ":0";
}

// Files by which tools find a server. The former agent's would lead nowhere.
void RemoveToolFiles(const std::string& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> stale;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("pmix.") && name.find(".tool.") != std::string::npos) {
      stale.push_back(entry.path());
    }
  }
  for (const auto& path : stale) std::filesystem::remove(path, error);
}

}  // namespace

class Agent::Impl : public InputSink {
 public:
  Impl(bootstrap::v1::Config config, bool restarted)
      : config_(std::move(config)),
        restarted_(restarted),
        membership_(config_),
        controller_(&loop_,
                    [this](const control::v1::Launch& launch) {
                      return planner_->Plan(launch, controller_.jobs(),
                                            membership_);
                    }),
        control_(&loop_, &controller_, MakeView()),
        remote_control_(&loop_, &controller_, MakeView()) {}

  ~Impl() override {
    if (overlay_) overlay_->Stop();
    if (signal_fd_ >= 0) close(signal_fd_);
  }

  Status Prepare(bootstrap::v1::NodeInfo* info);
  void Join(const bootstrap::v1::Members& members, BootstrapChannel* channel,
            std::function<void()> detach);
  void Run() {
    loop_.Run();
    LetShimsEnd();
    if (config_.embedded()) return;
    EndControl();
    RemoveState(dir_->path());
    if (recovery_) recovery_->DropAllControl();
  }

  // Everything that the adapters report passes here on its way to the core.
  void OnInput(core::Input input) override {
    if (const auto* change = std::get_if<core::NodeStateChanged>(&input)) {
      membership_.OnChange(*change);
    }
    if (const auto* client = std::get_if<core::ClientConnected>(&input)) {
      OnClient(*client);
    }
    if (runtime_) runtime_->OnInput(std::move(input));
  }

 private:
  // An embedded agent without peers needs no overlay.
  bool alone() const {
    return config_.embedded() && config_.member_names_size() <= 1;
  }
  void OnClient(const core::ClientConnected& client);
  void LetShimsEnd();
  void EndControl();
  Status MakeOverlay();
  void MakeEndpoints();
  void KeepStockConnections(stock::StockOptions* options);
  UniqueFd FormerListener();
  std::string Token(const ProcId& proc) const;
  void MakeProcesses();
  void FindJobs();
  Status Listen();
  Status ListenForControl();
  void MakeRuntime();
  void TakeUpJobs();
  void Save(const bootstrap::v1::Members& members);
  void Replace(const std::string& program,
               std::function<void(const Status&)> done);
  void Become(const std::string& program, int64_t deadline);
  control::AgentView MakeView();
  void Report(BootstrapChannel* channel, const bootstrap::v1::State& state);
  void OnReady(BootstrapChannel* channel, std::function<void()> detach);
  void WatchSignals();
  void WatchLifeline(int fd);
  // Ends this agent: running jobs first when it controls them.
  void End(const std::string& reason);
  void LeaveAndStop();

  FileLimit files_;
  const bootstrap::v1::Config config_;
  const bool restarted_;
  const uint64_t started_ = WallClockNs();
  EventLoop loop_;
  Membership membership_;
  std::optional<RuntimeDir> dir_;
  std::optional<security::ClusterKey> key_;
  std::optional<security::SecurityConfig> security_;  // with an overlay
  std::unique_ptr<Planner> planner_;
  control::JobController controller_;
  control::ControlService control_;         // on the Unix socket
  control::ControlService remote_control_;  // on the network, with TLS
  control::ControlServer control_server_{&loop_};
  control::RunServer run_server_{&loop_, &controller_};
  control::NetworkServer network_server_;
  NullOverlay null_overlay_;
  std::unique_ptr<overlay::GrpcOverlay> overlay_;  // null when alone
  std::function<void()> on_ready_;
  std::unique_ptr<datastore::Datastore> datastore_;
  std::unique_ptr<local::LocalEndpoint> local_;
  std::unique_ptr<pmi1::Pmi1Endpoint> pmi1_;
  std::unique_ptr<stock::StockEndpoint> stock_;
  EmulationEnvironment emulation_;
  std::unique_ptr<process::ProcessAdapter> process_;
  std::unique_ptr<Recovery> recovery_;  // null when embedded
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

Status Agent::Impl::Prepare(bootstrap::v1::NodeInfo* info) {
  Result<RuntimeDir> dir = RuntimeDir::Make(
      config_.runtime_dir(), Hex(config_.overlay_id()).substr(0, 8),
      config_.node_name(), config_.embedded());
  if (!dir.ok()) return dir.status();
  dir_.emplace(*std::move(dir));
  Result<security::ClusterKey> key =
      security::ClusterKey::FromHex(Hex(config_.cluster_key()));
  if (key.ok()) key_ = *key;
  WatchSignals();
  Status status;
  if (!alone()) status = MakeOverlay();
  if (!status.ok()) return status;
  MakeEndpoints();
  MakeProcesses();
  // Before anybody can ask for them.
  if (restarted_) FindJobs();
  status = Listen();
  if (!status.ok()) return status;
  status = run_server_.Start(RunSocketBeside(dir_->path() + kControlSocket));
  if (!status.ok()) return status;
  status =
      control_server_.Start(dir_->path() + kControlSocket, control_.service());
  if (!status.ok()) return status;
  info_.set_name(config_.node_name());
  *info_.mutable_aliases() = config_.aliases();
  if (overlay_) info_.set_address(overlay_->address());
  info_.set_control_socket(dir_->path() + kControlSocket);
  info_.set_pid(static_cast<uint64_t>(getpid()));
  info_.set_version(kVersion);
  info_.set_machine(MachineId());
  info_.set_runtime_dir(dir_->path());
  const Topology& topology = hwinfo::ThisMachine();
  info_.set_topology(EncodeTopology(topology));
  info_.set_slots(config_.slots() != 0
                      ? config_.slots()
                      : std::max(1u, topology.Count(TopologyLevel::kCore)));
  *info = info_;
  return Status();
}

// A library that we know nothing of reads its directory's name from what it is
// about to be sent.
void Agent::Impl::OnClient(const core::ClientConnected& client) {
  if (KindOf(client.client) == ClientKind::kStock && !client.is_tool) {
    datastore_->MakeRankDirectory(client.proc);
  }
}

void Agent::Impl::LetShimsEnd() {
  if (!process_) return;
  // Shims remove what is theirs before the directory that it is in can go.
  if (config_.embedded()) process_->ForgetAll();
  const int64_t deadline = EventLoop::Now() + kShimsEndNs;
  while (process_->ending() > 0 && EventLoop::Now() < deadline) {
    loop_.RunOnce(50);
  }
}

// Calls that wait for this thread end in it.
void Agent::Impl::EndControl() {
  const std::future<void> ends[] = {control_server_.Stop(),
                                    network_server_.Stop()};
  const int64_t deadline = EventLoop::Now() + kCallsEndNs;
  for (const std::future<void>& end : ends) {
    while (end.wait_for(std::chrono::seconds(0)) != std::future_status::ready &&
           EventLoop::Now() < deadline) {
      loop_.RunOnce(1);
    }
  }
}

void Agent::Impl::FindJobs() {
  RemoveToolFiles(dir_->path());
  bool done = false;
  process_->Recover([&](std::vector<process::RecoveredJob> jobs) {
    found_ = std::move(jobs);
    done = true;
  });
  while (!done) loop_.RunOnce(50);
}

Status Agent::Impl::Listen() {
  Status status;
  if (overlay_) status = overlay_->Listen();
  if (overlay_ && status.ok()) status = ListenForControl();
  if (status.ok()) status = local_->Start();
  if (status.ok()) status = stock_->Start(FormerListener());
  return status;
}

Status Agent::Impl::MakeOverlay() {
  Result<security::SecurityConfig> security = MakeSecurity(config_);
  if (!security.ok()) return security.status();
  overlay::OverlayConfig config;
  config.self = config_.self();
  for (const std::string& name : config_.member_names()) {
    config.members.push_back({name, ""});
  }
  config.radix = config_.radix();
  config.listen = ListenAddress(config_);
  config.overlay_id = config_.overlay_id();
  security_ = *std::move(security);
  config.security = *security_;
  // Silence breaks the link; what does not come back is lost.
  config.detect_ms = LossMs(config_) - LossMs(config_) / 5 * 2;
  config.grace_ms = GraceMs(config_);
  config.recovered = restarted_;
  if (config_.overlay_protocol() != 0) {
    config.version = config_.overlay_protocol();
  }
  overlay::OverlayEvents events;
  events.trouble = [this](NodeId node, const Status& status) {
    spdlog::warn("link to {}: {}", membership_.Name(node), status.message());
  };
  events.ready = [this] { on_ready_(); };
  events.expelled = [](const std::string& reason) {
    spdlog::warn("the others counted this agent as lost ({}); joining again",
                 reason);
  };
  overlay_ = std::make_unique<overlay::GrpcOverlay>(&loop_, this, config,
                                                    std::move(events));
  return Status();
}

Status Agent::Impl::ListenForControl() {
  control::NetworkOptions options;
  options.address = config_.control_listen();
  if (options.address.empty()) {
    const std::string& links = overlay_->address();
    options.address = links.substr(0, links.rfind(':')) + ":0";
  }
  options.security = *security_;
  options.reflection = config_.reflection();
  // Without TLS nobody knows who is at the other end of that port: control is
  // on the Unix socket alone.
  if (security_->mode != security::SecurityMode::kPlaintext) {
    options.services.push_back(remote_control_.service());
  } else {
    spdlog::warn(
        "plaintext: what agents send to each other can be read and changed by "
        "whoever is on the network between them, and {} takes no control "
        "requests from other machines",
        config_.node_name());
  }
  const Status status = network_server_.Start(options);
  if (status.ok()) info_.set_control_address(network_server_.address());
  return status;
}

void Agent::Impl::MakeEndpoints() {
  const ProcId server = {
      "canopy-agent-" + Hex(config_.overlay_id()).substr(0, 8), config_.self()};
  datastore::DatastoreOptions store;
  facts_ = MakeNodeFacts(server, dir_->path(), hwinfo::ThisMachine());
  store.facts = facts_;
  store.log = Log;
  datastore_ = std::make_unique<datastore::Datastore>(std::move(store));

  local::LocalOptions options;
  options.environment.self = config_.self();
  options.environment.socket_path = dir_->path() + kClientSocket;
  options.environment.runtime_dir = dir_->path();
  options.server = server;
  options.reconnect_ms = config_.restart_grace_ms();
  options.token = [this](const ProcId& proc) { return Token(proc); };
  options.segment =
      [this](const std::string& nspace) -> std::optional<local::SegmentRef> {
    auto segment = datastore_->Find(nspace);
    if (!segment) return std::nullopt;
    return local::SegmentRef{segment->fd, segment->size,
                             std::move(segment->owner)};
  };
  options.holds = [this](const ProcId& proc) {
    return datastore_->Holds(proc);
  };
  options.on_process = [this](const std::string& nspace, Rank rank, int pid) {
    datastore_->SetPid(nspace, rank, pid);
  };
  options.make_directory = [this](const ProcId& proc) {
    datastore_->MakeRankDirectory(proc);
  };
  options.log = Log;
  local_ =
      std::make_unique<local::LocalEndpoint>(&loop_, this, std::move(options));

  pmi1::Pmi1Options pmi1;
  pmi1.self = config_.self();
  pmi1.find_key = [this](const std::string& nspace, std::string_view key) {
    return datastore_->FindKey(nspace, key);
  };
  pmi1.find_job_key = [this](const std::string& nspace, std::string_view key) {
    return datastore_->FindJobKey(nspace, key);
  };
  pmi1.log = Log;
  pmi1_ = std::make_unique<pmi1::Pmi1Endpoint>(&loop_, this, std::move(pmi1));

  stock::StockOptions stock;
  stock.self = config_.self();
  stock.server = server;
  stock.host = config_.node_name();
  stock.tool_dir = dir_->path();
  if (!config_.pmix_listen().empty()) stock.address = config_.pmix_listen();
  stock.job_data = [this](const std::string& nspace) {
    return datastore_->FindReader(nspace);
  };
  stock.log = Log;
  stock.port = static_cast<uint16_t>(config_.pmix_port());
  if (!config_.embedded()) KeepStockConnections(&stock);
  stock_ =
      std::make_unique<stock::StockEndpoint>(&loop_, this, std::move(stock));
}

void Agent::Impl::KeepStockConnections(stock::StockOptions* options) {
  options->keep = [this](const std::string& nspace, const std::string& name,
                         UniqueFd fd) {
    process_->Hold(nspace, name, process::UniqueFd(fd.Release()));
  };
  options->keep_connection = [this](const std::string& nspace,
                                    const std::string& name, UniqueFd fd) {
    return process_->HoldConnection(nspace, name,
                                    process::UniqueFd(fd.Release()));
  };
  options->release_connection = [this](const std::string& nspace,
                                       const std::string& name, bool at_once) {
    process_->ReleaseConnection(nspace, name, at_once);
  };
}

// Where a former agent listened for programs with their own library; they may
// be connecting.
UniqueFd Agent::Impl::FormerListener() {
  for (process::RecoveredJob& job : found_) {
    for (process::HeldFd& held : job.held) {
      if (held.name == stock::StockEndpoint::kListenerName) {
        return UniqueFd(held.fd.Release());
      }
    }
  }
  return UniqueFd();
}

void Agent::Impl::MakeProcesses() {
  const std::vector<ProcessEnvironment*> environments = {
      local_.get(), pmi1_.get(), stock_.get(), &emulation_};
  process::ProcessOptions processes;
  processes.shim_path = Beside("CANOPY_SHIM", "canopy-shim");
  processes.runtime_dir = dir_->path();
  processes.self = config_.self();
  processes.open_files = files_.original();
  processes.environment.unset = local::UnsetNames();
  processes.environment.unset.insert(processes.environment.unset.end(),
                                     stock::UnsetNames().begin(),
                                     stock::UnsetNames().end());
  processes.environment.library_dir =
      config_.library_dir().empty()
          ? Beside("CANOPY_LIBRARY_DIR", "../lib/canopy")
          : config_.library_dir();
  processes.orphan_ms =
      config_.embedded()
          ? 0
          : std::max(config_.orphan_grace_ms(), config_.restart_grace_ms());
  process_ = std::make_unique<process::ProcessAdapter>(
      &loop_, this, std::move(processes), environments);
  if (config_.embedded()) return;
  recovery_ = std::make_unique<Recovery>(
      process_.get(), datastore_.get(), dir_->path(),
      [this] { return stock_->listener(); }, Log);
  controller_.set_keeper(recovery_.get(), config_.restart_grace_ms(),
                         std::max(config_.restart_grace_ms(), kReplaceMs));
}

// The next agent of this node must know it too, and nobody else.
std::string Agent::Impl::Token(const ProcId& proc) const {
  if (!key_) return local::MakeToken();
  const std::string text = "client " + std::to_string(config_.self()) + " " +
                           std::to_string(proc.rank) + " " + proc.nspace;
  return Hex(key_->Hmac(text).substr(0, 16));
}

void Agent::Impl::Join(const bootstrap::v1::Members& members,
                       BootstrapChannel* channel,
                       std::function<void()> detach) {
  bootstrap::v1::Members known = members;
  if (restarted_ &&
      config_.self() < static_cast<uint32_t>(known.nodes_size())) {
    *known.mutable_nodes(static_cast<int>(config_.self())) = info_;
  }
  membership_.Set(known);
  planner_ = std::make_unique<Planner>(members, config_.self());
  if (SharesMachine(members, info_.machine())) {
    emulation_.Enable(config_.emulated(), [this](const std::string& nspace) {
      return datastore::JobDirectory(facts_, nspace);
    });
  }
  MakeRuntime();
  TakeUpJobs();
  if (!config_.embedded()) Save(members);
  if (channel != nullptr) WatchLifeline(channel->in_fd());
  on_ready_ = [this, channel, detach = std::move(detach)] {
    OnReady(channel, detach);
  };
  if (!overlay_) return loop_.Post(on_ready_);
  for (int i = 0; i < members.nodes_size(); ++i) {
    overlay_->SetAddress(static_cast<NodeId>(i), members.nodes(i).address());
  }
  overlay_->Join();
  // Others may be lost for good: they are not waited for.
  if (restarted_) on_ready_();
}

void Agent::Impl::TakeUpJobs() {
  if (!restarted_ || recovery_ == nullptr) return;
  std::map<std::string, ControlledJob> controlled;
  std::vector<control::KeptJob> kept;
  for (ControlledJob& job : recovery_->FindControlled()) {
    kept.push_back(job.kept);
    controlled[job.kept.job->nspace] = std::move(job);
  }
  controller_.Recover(kept);
  datastore_->TakeOverDirectories(true);
  for (process::RecoveredJob& job : found_) {
    const std::string nspace = job.job->nspace;
    core::JobRecovered recovered = recovery_->Read(&job);
    if (const auto own = controlled.extract(nspace)) {
      recovered.control = own.mapped().state;
      recovered.over = own.mapped().kept.end.has_value();
    }
    OnInput(std::move(recovered));
    recovery_->Adopted(nspace);
    process_->Resume(nspace);
    std::vector<stock::StockEndpoint::Kept> kept;
    for (process::HeldFd& held : job.held) {
      if (!stock::StockEndpoint::IsKeptName(held.name)) continue;
      kept.push_back({held.name, UniqueFd(held.fd.Release())});
    }
    stock_->Resume(nspace, std::move(kept));
  }
  for (auto& [nspace, job] : controlled) {
    core::JobRecovered recovered;
    recovered.job = job.kept.job;
    recovered.has_shim = false;
    recovered.control = job.state;
    recovered.over = job.kept.end.has_value();
    OnInput(std::move(recovered));
  }
  stock_->FinishResume();
  found_.clear();
  datastore_->TakeOverDirectories(false);
}

void Agent::Impl::Save(const bootstrap::v1::Members& members) {
  bootstrap::v1::AgentState state;
  *state.mutable_config() = config_;
  state.mutable_config()->set_runtime_dir(dir_->path());
  state.mutable_config()->set_pmix_port(stock_->port());
  if (overlay_) {
    state.mutable_config()->set_listen(overlay_->address());
    state.mutable_config()->set_control_listen(network_server_.address());
  }
  *state.mutable_members() = members;
  if (config_.self() < static_cast<uint32_t>(members.nodes_size())) {
    *state.mutable_members()->mutable_nodes(static_cast<int>(config_.self())) =
        info_;
  }
  const Status status = SaveState(dir_->path(), state);
  if (!status.ok()) {
    spdlog::warn("this agent can not be restarted: {}", status.message());
  }
}

void Agent::Impl::MakeRuntime() {
  core::CoreConfig core;
  core.self = config_.self();
  for (const std::string& name : config_.member_names()) {
    core.node_names.push_back(name);
  }
  core.radix = config_.radix();
  core.remembers = recovery_ != nullptr;
  if (restarted_) core.recovered_at = EventLoop::Now();
  RuntimePorts ports;
  ports.overlay = &null_overlay_;
  if (overlay_) ports.overlay = overlay_.get();
  ports.datastore = datastore_.get();
  ports.process = process_.get();
  ports.job_control = &cleanup_;
  ports.recovery = recovery_.get();
  ports.clients = {{ClientKind::kLocal, local_.get()},
                   {ClientKind::kPmi1, pmi1_.get()},
                   {ClientKind::kStock, stock_.get()}};
  ports.observer = &controller_;
  ports.log = Log;
  ports.end = [this](const std::string& reason) {
    spdlog::info("ending: {}", reason);
    ending_ = true;
    LeaveAndStop();
  };
  runtime_ =
      std::make_unique<AgentRuntime>(&loop_, std::move(core), std::move(ports));
  controller_.set_sink(this);
}

void Agent::Impl::OnReady(BootstrapChannel* channel,
                          std::function<void()> detach) {
  if (std::exchange(ready_, true)) return;
  bootstrap::v1::State state;
  state.set_connected(static_cast<uint32_t>(config_.member_names_size()));
  state.set_ready(true);
  if (channel != nullptr) Report(channel, state);
  if (config_.embedded()) return;
  if (channel != nullptr) loop_.Unwatch(channel->in_fd());
  detach();
}

void Agent::Impl::Report(BootstrapChannel* channel,
                         const bootstrap::v1::State& state) {
  Status status = channel->Write(state);
  if (!status.ok()) End(status.message());
}

control::AgentView Agent::Impl::MakeView() {
  control::AgentView view;
  view.status = [this] {
    control::v1::StatusReply reply = membership_.Describe(controller_.jobs());
    reply.set_started(started_);
    reply.set_linked(!overlay_ || config_.member_names_size() <= 1 ||
                     overlay_->members_up() > 1);
    reply.set_pid(static_cast<uint64_t>(getpid()));
    return reply;
  };
  view.node_name = [this](NodeId node) { return membership_.Name(node); };
  view.shut_down = [this] {
    OnInput(core::ShutdownRequested{"the overlay is shut down"});
  };
  view.replace = [this](const std::string& program, auto done) {
    Replace(program, std::move(done));
  };
  return view;
}

void Agent::Impl::WatchSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM}) sigaddset(&set, s);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.Watch(signal_fd_, EPOLLIN, [this](uint32_t) {
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof info) == sizeof info) {
      End("signal " + std::to_string(info.ssi_signo));
    }
  });
}

void Agent::Impl::WatchLifeline(int fd) {
  loop_.Watch(fd, EPOLLIN, [this, fd](uint32_t) {
    char ignored[256];
    if (read(fd, ignored, sizeof ignored) > 0) return;
    loop_.Unwatch(fd);
    End("the launcher is gone");
  });
}

void Agent::Impl::End(const std::string& reason) {
  if (std::exchange(ending_, true)) return;
  spdlog::info("ending: {}", reason);
  if (!runtime_) return loop_.Stop();
  controller_.KillAll(reason, [this] { LeaveAndStop(); });
}

// What clients have sent is read to its end and what they are owed is sent;
// the rest the next agent learns from shims, clients and the other agents.
void Agent::Impl::Replace(const std::string& program,
                          std::function<void(const Status&)> done) {
  const std::string path =
      program.empty() ? Beside("CANOPYD", "canopyd") : program;
  if (recovery_ == nullptr || ending_) {
    return done(Status(kErrNotSupported,
                       ending_ ? "this agent is ending"
                               : "this agent ends with its launcher"));
  }
  if (controller_.num_bound() > 0) {
    return done(Status(kErrResourceBusy,
                       "this agent controls " +
                           std::to_string(controller_.num_bound()) +
                           " running job(s), which would end with it"));
  }
  if (access(path.c_str(), X_OK) != 0) {
    return done(Status(kErrNotFound,
                       "cannot execute " + path + ": " + std::strerror(errno)));
  }
  done(Status());
  spdlog::info("making way for {}", path);
  controller_.SayAway(kReplaceMs);
  process_->AwaitSuccessor(kReplaceMs);
  local_->AwaitSuccessor(kReplaceMs);
  stock_->AwaitSuccessor();
  const int64_t deadline = EventLoop::Now() + kGreetingsNs;
  const auto become = [this, path, deadline] {
    loop_.Defer([this, path, deadline] { Become(path, deadline); });
  };
  if (!overlay_) return become();
  overlay_->AnnounceAway(kReplaceMs, become);
}

void Agent::Impl::Become(const std::string& program, int64_t deadline) {
  if (!stock_->Settled() && EventLoop::Now() < deadline) {
    loop_.AddTimer(kMillisecond,
                   [this, program, deadline] { Become(program, deadline); });
    return;
  }
  local_->Quiesce();
  stock_->Quiesce();
  run_server_.Flush();
  // Whoever asked for this must have its answer.
  network_server_.LetAnswersLeave();
  control_server_.LetAnswersLeave();
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  files_.Restore();
  const std::string directory = dir_->path();
  execl(program.c_str(), "canopyd", "--continue", directory.c_str(), nullptr);
  spdlog::error("cannot become {}: {}", program, std::strerror(errno));
  // Everybody waits for a successor, so there must be one.
  execl("/proc/self/exe", "canopyd", "--continue", directory.c_str(), nullptr);
  End("it could not be replaced");
}

void Agent::Impl::LeaveAndStop() {
  // Embedded agents all end with their launcher: nobody is left to tell.
  if (!overlay_ || config_.embedded()) return loop_.Stop();
  overlay_->Leave([this] { loop_.Stop(); });
}

Agent::Agent(bootstrap::v1::Config config, bool restarted)
    : impl_(std::make_unique<Impl>(std::move(config), restarted)) {}

Agent::~Agent() = default;

Status Agent::Prepare(bootstrap::v1::NodeInfo* info) {
  return impl_->Prepare(info);
}

void Agent::Join(const bootstrap::v1::Members& members,
                 BootstrapChannel* channel, std::function<void()> detach) {
  impl_->Join(members, channel, std::move(detach));
}

void Agent::Run() { impl_->Run(); }

}  // namespace canopy::agent
