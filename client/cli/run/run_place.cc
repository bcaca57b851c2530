#include "client/cli/run/run_place.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/agents/allocation_sites.h"
#include "client/cli/agents/overlay_context.h"
#include "client/cli/base/command.h"
#include "client/cli/base/progress_line.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/config/the_config.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/context_store.h"
#include "client/cli/context/run_choice.h"
#include "client/cli/options/agent_config.h"
#include "client/cli/options/agent_options.h"
#include "client/cli/run/run_record.h"
#include "common/posix/private_dir.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

// For this time the launcher tries to reach an agent that does not answer,
// because the agent may be restarting.
constexpr std::chrono::seconds kRestartTime{3};
constexpr std::chrono::milliseconds kBetweenDials{50};
constexpr int kBringUpMs = 60000;
constexpr int kStopMs = 10000;
constexpr int kGreetingMs = 3000;

std::vector<Host> HostsOf(const RunOptions& options) {
  std::vector<Host> hosts;
  for (const JobApp& app : options.job.apps) {
    hosts.insert(hosts.end(), app.hosts.begin(), app.hosts.end());
  }
  return hosts;
}

// Returns the command that starts agents on other machines if --launch-agent is
// not given.
std::string RemoteAgentCommand() {
  return TheConfig().ok() ? TheConfig()->at("launch-agent").text
                          : kDefaultLaunchAgent;
}

// Returns the allocation of the batch system from which the job takes its
// nodes, or no value if there is none.
Result<std::optional<Allocation>> UsedAllocation(
    const RunOptions& options, const std::vector<Host>& hosts) {
  // A user who names hosts and a launch agent does not use the allocation.
  if (!hosts.empty() && !options.agents.launch_agent.empty()) {
    return std::optional<Allocation>();
  }
  return FindAllocation(&getenv);
}

// Checks that the options fit the running agents, which cannot adopt other
// options for one job. Options that the context does not record cannot be
// compared.
Status CheckFits(const AgentOptions& asked, const v1::Context& overlay) {
  struct Pair {
    const char* name;
    const std::string& asked;
    const std::string& there;
  };
  const Pair pairs[] = {
      {"--security", asked.security, overlay.security()},
      {"--tls-ca", asked.tls_ca, overlay.tls_ca()},
      {"--tls-cert", asked.tls_cert, overlay.tls_cert()},
      {"--tls-key", asked.tls_key, overlay.tls_key()},
  };
  for (const Pair& pair : pairs) {
    if (pair.asked.empty() || pair.asked == pair.there) continue;
    return Status(kErrBadParam,
                  std::string(pair.name) + " " + pair.asked +
                      ": the agents of context '" + overlay.name() +
                      "' are up with " + pair.there +
                      "; leave the option out, or end them with 'canopy down'");
  }
  return Status();
}

// Returns the command of the first program as text for people.
std::string CommandOf(const RunOptions& options) {
  const std::vector<JobApp>& apps = options.job.apps;
  return apps.empty() ? std::string() : CommandText(apps[0].argv);
}

}  // namespace

RunPlace::~RunPlace() { End(); }

Status RunPlace::Find(const RunOptions& options) {
  if (options.emulate == 0) {
    Result<std::optional<v1::Context>> context = FindContext(options.context);
    if (!context.ok()) return context.status();
    if (context->has_value()) {
      Status status = CheckFits(options.agents, **context);
      if (!status.ok()) return status;
      overlay_ = **std::move(context);
      persistent_ = true;
      if (overlay_.members_size() > 0) {
        socket_ = RunSocket::Connect(overlay_.members(0).control_socket());
      }
      return Status();
    }
  }
  return FindSites(options);
}

// Sets the nodes that the options or a batch system name, if there are any.
Status RunPlace::FindNamedSites(const RunOptions& options,
                                const std::vector<Host>& hosts) {
  launch_agent_ = options.agents.launch_agent;
  remote_agent_ = RemoteAgentCommand();
  Result<std::optional<Allocation>> allocation = UsedAllocation(options, hosts);
  if (!allocation.ok()) return allocation.status();
  if (allocation->has_value()) {
    remote_agent_ = LaunchAgentOf(**allocation);
    launches_all_ = (*allocation)->launches_all;
  }
  Result<std::vector<AgentSite>> sites =
      allocation->has_value() ? AllocationSites(**allocation, launch_agent_)
                              : HostSites(hosts, launch_agent_, remote_agent_);
  if (sites.ok() && allocation->has_value()) {
    sites = FirstSites(*std::move(sites), options.nodes, (*allocation)->job);
  }
  if (!sites.ok()) return sites.status();
  sites_ = *std::move(sites);
  return Status();
}

// If there is no overlay and no allocation and no host is named, a number of
// nodes can only mean emulated nodes.
Status RunPlace::FindSites(const RunOptions& options) {
  const std::vector<Host> hosts = HostsOf(options);
  if (options.emulate == 0) {
    if (Status s = FindNamedSites(options, hosts); !s.ok()) return s;
    if (!sites_.empty()) return Status();
  }
  const uint32_t count = std::max({options.emulate, options.nodes, 1u});
  if (count == 1 && options.emulate == 0) {
    sites_ = OwnSite(hosts);
    return Status();
  }
  Result<std::vector<AgentSite>> sites = EmulatedSites(count, hosts);
  if (!sites.ok()) return sites.status();
  sites_ = *std::move(sites);
  emulated_ = true;
  return Status();
}

bool RunPlace::NeedsRemoteAgents() {
  if (remote_ != nullptr) return false;
  if (!persistent()) return !sites_[0].remote_command.empty();
  return !CanLaunchBySocket();
}

// An agent that does not greet may hang, and the other agents may have lost it.
bool RunPlace::CanLaunchBySocket() {
  return socket_ != nullptr && socket_->WaitGreeting(kGreetingMs) &&
         socket_->at_leader();
}

std::vector<std::string> RunPlace::runtime_dirs() const {
  std::vector<std::string> directories;
  for (const auto& member : overlay_.members()) {
    directories.push_back(member.runtime_dir());
  }
  return directories;
}

Status RunPlace::Begin(const RunOptions& options, const Timeline& timeline) {
  if (persistent()) {
    timeline.Note("using context " + overlay_.name());
    return Status();
  }
  timeline.Note("no overlay is used; starting agents for this job");
  if (emulated_ && options.emulate == 0 && !options.quiet) {
    PrintError(EmulationWarning("no overlay is up and no hosts are named",
                                sites_.size()));
  }
  return StartAgents(options);
}

// Another user may own the path of this user's runtime directory. The job then
// runs anyway, with a hidden directory.
Status RunPlace::MakeDirectory() {
  Result<RunDirectory> own = RunDirectory::Make(UserRuntimeDir());
  if (own.ok()) {
    directory_.emplace(*std::move(own));
    return Status();
  }
  Result<std::string> hidden = MakePrivateDirectory();
  if (!hidden.ok()) return hidden.status();
  hidden_directory_ = *std::move(hidden);
  PrintError("warning: other commands and tools do not find this job: " +
             own.status().message());
  return Status();
}

Status RunPlace::StartAgents(const RunOptions& options) {
  OverlayPlan plan;
  plan.sites = sites_;
  AgentOptions agent_options = options.agents;
  if (TheConfig().ok()) UseConfig(*TheConfig(), &agent_options);
  UseAgentOptions(agent_options, &plan);
  plan.embedded = true;
  plan.emulated = emulated_;
  if (options.verbose && plan.log_level.empty()) plan.log_level = "info";
  MakeIdentity(&plan);
  if (Status status = MakeDirectory(); !status.ok()) return status;
  plan.context = directory_ ? directory_->name() : "";
  plan.runtime_dir = directory_ ? directory_->path() : hidden_directory_;
  std::vector<AgentPlan> agents = MakeAgentPlans(plan);
  overlay_ = MakeContext(plan, agents[0].config, options.agents.launch_agent);
  *overlay_.mutable_launcher() = DescribeLauncher(CommandOf(options));
  const bool root_is_near = plan.sites[0].remote_command.empty();
  if (options.allow_missing) group_.AllowMissing();
  Status status = group_.Start(std::move(agents));
  if (status.ok() && !root_is_near) remote_->WarmUp();
  return status;
}

Status RunPlace::WaitForAgents(const RunOptions& options,
                               const SignalSource& signals) {
  ProgressLine line(STDERR_FILENO, !options.quiet);
  Status status = group_.WaitReady(kBringUpMs, signals.fd(),
                                   [&line](const std::string& text) {
                                     line.Set(text);
                                     line.Tick();
                                   });
  if (!status.ok()) return status;
  line.Clear();
  if (!group_.missing().empty()) PrintError(group_.missing());
  AddMembers(group_.nodes(), &overlay_);
  socket_ = RunSocket::Connect(group_.nodes()[0].control_socket());
  MakeKnown();
  return Status();
}

Status RunPlace::LeaveOutMissing(JobRequest* job) const {
  if (group_.missing().empty()) return Status();
  std::vector<AgentSite> missing = sites_;
  std::erase_if(missing, [this](const AgentSite& site) {
    return std::ranges::any_of(group_.nodes(), [&site](const auto& node) {
      return node.name() == site.name;
    });
  });
  const auto is_missing = [&missing](const Host& host) {
    return std::ranges::any_of(missing, [&host](const AgentSite& site) {
      return IsCalled(site, host.name);
    });
  };
  std::erase_if(job->places.hosts, is_missing);
  for (JobApp& app : job->apps) {
    if (std::erase_if(app.hosts, is_missing) == 0 || !app.hosts.empty()) {
      continue;
    }
    return Status(kErrUnreach, "no host of '" + app.argv[0] + "' has answered");
  }
  return Status();
}

// Publishes the context of the agents. If this fails, the job continues, but
// other commands cannot find it.
void RunPlace::MakeKnown() const {
  if (!directory_) return;
  const auto here = std::ranges::find_if(
      overlay_.members(),
      [](const auto& member) { return IsThisMachineNow(member.machine()); });
  if (here != overlay_.members().end()) {
    (void)directory_->OfferToTools(here->runtime_dir());
  }
  const Status status = directory_->Publish(overlay_);
  if (status.ok()) return;
  PrintError("warning: other commands do not find this job: " +
             status.message());
}

Result<std::unique_ptr<RunConnection>> RunPlace::Connect(
    const RunOptions& options, const SignalSource& signals,
    const Timeline& timeline) {
  if (!persistent()) {
    Status status = WaitForAgents(options, signals);
    if (!status.ok()) return status;
    timeline.Note("agents up");
  }
  if (CanLaunchBySocket()) {
    by_socket_ = true;
    return std::unique_ptr<RunConnection>(std::move(socket_));
  }
  return Dial();
}

Result<std::unique_ptr<RunConnection>> RunPlace::Dial() {
  if (remote_ == nullptr) {
    return Status(kErrUnreach,
                  "the agent that was started for this job does "
                  "not accept it");
  }
  if (!persistent()) return remote_->DialMember(overlay_, 0);
  const auto give_up = Clock::now() + kRestartTime;
  // The first attempt may have waited for a successor for all of this time
  // although the agent is back, so at least two attempts are made.
  for (int attempt = 1;; ++attempt) {
    auto connection = remote_->DialRoot(overlay_, &member_);
    const bool is_last = attempt > 1 && Clock::now() >= give_up;
    if (connection.code() != kErrUnreach || is_last) return connection;
    std::this_thread::sleep_for(kBetweenDials);
  }
}

std::function<std::unique_ptr<RunConnection>()> RunPlace::Redial() const {
  if (!persistent()) return nullptr;
  return [this]() -> std::unique_ptr<RunConnection> {
    if (!by_socket_) {
      auto connection = remote_->DialMember(overlay_, member_);
      return connection.ok() ? *std::move(connection) : nullptr;
    }
    std::unique_ptr<RunSocket> next =
        RunSocket::Connect(overlay_.members(member_).control_socket());
    if (next == nullptr || !next->WaitGreeting(kGreetingMs)) return nullptr;
    return next;
  };
}

void RunPlace::SetLaunchAgent(NodeStartOptions* options) const {
  options->remote_agent = remote_agent_;
  options->launch_agent = launch_agent_;
  options->launches_all = launches_all_;
  if (!persistent()) return;
  options->launch_agent = overlay_.launch_agent();
  options->remote_agent = RemoteAgentCommand();
}

Status RunPlace::AddHosts(OverlayRoot* root, NodeStartOptions options) {
  SetLaunchAgent(&options);
  options.keeps_agents = !persistent();
  if (!persistent()) {
    options.runtime_dir = directory_ ? directory_->path() : hidden_directory_;
  }
  auto group = std::make_unique<AgentGroup>();
  Result<StartedNodes> started =
      NodeStart(overlay_, root, std::move(options)).Run(group.get());
  if (!started.ok()) return started.status();
  if (!persistent()) added_.push_back(std::move(group));
  if (!started->nodes.empty()) return KeepStarted(started->nodes);
  return Status();
}

// Lets commands find the new agents.
Status RunPlace::KeepStarted(
    const std::vector<bootstrap::v1::NodeInfo>& nodes) {
  if (!persistent()) {
    ReplaceMembers(nodes, &overlay_);
    return directory_ ? directory_->Update(overlay_) : Status();
  }
  // Another command may have changed the file meanwhile.
  const ContextStore store;
  Result<v1::Context> now = store.Load(overlay_.name());
  if (!now.ok()) return now.status();
  ReplaceMembers(nodes, &*now);
  return store.Update(*now);
}

std::function<std::unique_ptr<RunConnection>()> RunPlace::DialLeader() {
  if (!persistent()) return nullptr;
  return [this]() -> std::unique_ptr<RunConnection> {
    if (auto connection = DialLeaderBySocket()) return connection;
    if (remote_ == nullptr) return nullptr;
    int member = 0;
    auto connection = remote_->DialRoot(overlay_, &member);
    if (!connection.ok()) return nullptr;
    member_ = member;
    by_socket_ = false;
    return *std::move(connection);
  };
}

std::unique_ptr<RunConnection> RunPlace::DialLeaderBySocket() {
  for (int i = 0; i < overlay_.members_size(); ++i) {
    auto socket = RunSocket::Connect(overlay_.members(i).control_socket());
    if (socket == nullptr || !socket->WaitGreeting(kGreetingMs) ||
        !socket->at_leader()) {
      continue;
    }
    member_ = i;
    by_socket_ = true;
    return socket;
  }
  return nullptr;
}

void RunPlace::End() {
  if (directory_) directory_->Withdraw();
  added_.clear();
  group_.Stop(kStopMs);
  directory_.reset();
  if (hidden_directory_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(hidden_directory_, ignored);
  hidden_directory_.clear();
}

}  // namespace canopy::cli
