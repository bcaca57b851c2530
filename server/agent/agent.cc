#include "server/agent/agent.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/run_protocol.h"
#include "common/topology.h"
#include "common/version.h"
#include "server/agent/addresses.h"
#include "server/agent/agent_impl.h"
#include "server/agent/agent_state.h"
#include "server/agent/log.h"
#include "server/agent/settings.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/peer_inputs.h"
#include "server/hwinfo/hwinfo.h"
#include "server/ports/client_port.h"

namespace canopy::agent {
namespace {

constexpr char kControlSocket[] = "/control.sock";
// How long the agent's own end waits for shims that are ending.
constexpr int64_t kShimsEndNs = int64_t{3} * 1000 * 1000 * 1000;
// And control calls that it has not answered.
constexpr int64_t kCallsEndNs = int64_t{2} * 1000 * 1000 * 1000;

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

}  // namespace

Agent::Impl::Impl(bootstrap::v1::Config config, bool restarted)
    : config_(std::move(config)),
      restarted_(restarted),
      started_(WallClockNs()),
      membership_(config_),
      job_manager_(&loop_,
                   [this](const control::v1::Launch& launch) {
                     return planner_->Plan(launch, job_manager_.jobs(),
                                           membership_);
                   }),
      control_(&loop_, &job_manager_, MakeView()),
      remote_control_(&loop_, &job_manager_, MakeView()) {}

Agent::Impl::~Impl() {
  if (overlay_) overlay_->Stop();
  if (signal_fd_ >= 0) close(signal_fd_);
}

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
  if (restarted_) FindRecoverableJobs();
  status = Listen();
  if (!status.ok()) return status;
  status = run_server_.Start(RunSocketBeside(dir_->path() + kControlSocket));
  if (!status.ok()) return status;
  status =
      control_server_.Start(dir_->path() + kControlSocket, control_.service());
  if (!status.ok()) return status;
  Describe();
  *info = info_;
  return Status();
}

void Agent::Impl::Describe() {
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
}

void Agent::Impl::Run() {
  loop_.Run();
  LetShimsEnd();
  if (config_.embedded()) return;
  EndControl();
  RemoveState(dir_->path());
  if (persistent_state_) persistent_state_->DropAllControl();
}

void Agent::Impl::OnInput(core::Input input) {
  if (const auto* change = std::get_if<core::NodeStateChanged>(&input)) {
    membership_.OnChange(*change);
  }
  if (runtime_) runtime_->OnInput(std::move(input));
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
  RecoverJobs();
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

void Agent::Impl::MakeRuntime() {
  core::CoreConfig core;
  core.self = config_.self();
  for (const std::string& name : config_.member_names()) {
    core.node_names.push_back(name);
  }
  core.radix = config_.radix();
  core.persists = persistent_state_ != nullptr;
  core.began_at = EventLoop::Now();
  RuntimePorts ports;
  ports.overlay = &null_overlay_;
  if (overlay_) ports.overlay = overlay_.get();
  ports.datastore = datastore_.get();
  ports.process = process_.get();
  ports.job_control = &cleanup_;
  ports.persistence = persistent_state_.get();
  ports.clients = {{ClientKind::kLocal, local_.get()},
                   {ClientKind::kPmi1, pmi1_.get()},
                   {ClientKind::kOpenPmix, openpmix_.get()}};
  ports.observer = &job_manager_;
  ports.log = Log;
  ports.end = [this](const std::string& reason) {
    spdlog::info("ending: {}", reason);
    ending_ = true;
    LeaveAndStop();
  };
  runtime_ =
      std::make_unique<AgentRuntime>(&loop_, std::move(core), std::move(ports));
  job_manager_.set_sink(this);
}

void Agent::Impl::OnReady(BootstrapChannel* channel,
                          const std::function<void()>& detach) {
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
    control::v1::StatusReply reply = membership_.Describe(job_manager_.jobs());
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
  view.replace = [this](const std::string& program, const auto& done) {
    HandOver(program, done);
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
  job_manager_.KillAll(reason, [this] { LeaveAndStop(); });
}

void Agent::Impl::LeaveAndStop() {
  // Embedded agents all end with their launcher: no member needs an
  // announcement.
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
