#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/agent/agent_impl.h"
#include "server/agent/log.h"
#include "server/agent/node_facts.h"
#include "server/agent/settings.h"
#include "server/hwinfo/hwinfo.h"
#include "server/local/environment.h"
#include "server/openpmix/environment.h"

namespace canopy::agent {
namespace {

constexpr char kClientSocket[] = "/clients.sock";

}  // namespace

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
  // A silent link is broken; a member that does not reconnect is lost.
  config.detect_ms = LossMs(config_) - LossMs(config_) / 5 * 2;
  config.grace_ms = GraceMs(config_);
  config.recovered = restarted_;
  if (config_.overlay_protocol() != 0) {
    config.version = config_.overlay_protocol();
  }
  overlay::OverlayEvents events;
  events.link_error = [this](NodeId node, const Status& status) {
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

void Agent::Impl::MakeEndpoints() {
  const ProcId server = {
      "canopy-agent-" + Hex(config_.overlay_id()).substr(0, 8), config_.self()};
  datastore::DatastoreOptions store;
  facts_ = MakeNodeFacts(server, dir_->path(), hwinfo::ThisMachine());
  store.facts = facts_;
  store.on_scarce = [this](const std::string& nspace) {
    local_->CloseMailboxes(nspace);
  };
  store.log = Log;
  datastore_ = std::make_unique<datastore::Datastore>(std::move(store));
  MakeLocal(server);
  MakePmi1();
  MakeOpenPmix(server);
}

void Agent::Impl::MakeLocal(const ProcId& server) {
  local::LocalOptions options;
  options.environment.self = config_.self();
  options.environment.socket_path = dir_->path() + kClientSocket;
  options.environment.runtime_dir = dir_->path();
  options.server = server;
  options.reattach_ms = config_.restart_grace_ms();
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
  options.persist_mailboxes = [this](const std::string& nspace,
                                     UniqueFd mailboxes) {
    if (persistent_state_ != nullptr)
      persistent_state_->HoldMailboxes(nspace, std::move(mailboxes));
  };
  options.log = Log;
  local_ =
      std::make_unique<local::LocalEndpoint>(&loop_, this, std::move(options));
}

void Agent::Impl::MakePmi1() {
  pmi1::Pmi1Options options;
  options.self = config_.self();
  options.find_key = [this](const std::string& nspace, std::string_view key) {
    return datastore_->FindKey(nspace, key);
  };
  options.find_job_key = [this](const std::string& nspace,
                                std::string_view key) {
    return datastore_->FindJobKey(nspace, key);
  };
  options.log = Log;
  if (!config_.embedded()) PersistPmi1Connections(&options);
  pmi1_ =
      std::make_unique<pmi1::Pmi1Endpoint>(&loop_, this, std::move(options));
}

void Agent::Impl::MakeOpenPmix(const ProcId& server) {
  openpmix::OpenPmixOptions options;
  options.self = config_.self();
  options.server = server;
  options.host = config_.node_name();
  options.tool_dir = dir_->path();
  if (!config_.pmix_listen().empty()) options.address = config_.pmix_listen();
  options.job_data = [this](const std::string& nspace) {
    return datastore_->FindReader(nspace);
  };
  options.make_directory = [this](const ProcId& proc) {
    datastore_->MakeRankDirectory(proc);
  };
  options.log = Log;
  options.put_text = [this](ProcessText text, TextDone done) {
    process_->Put(std::move(text), std::move(done));
  };
  options.port = static_cast<uint16_t>(config_.pmix_port());
  if (!config_.embedded()) PersistOpenPmixConnections(&options);
  openpmix_ = std::make_unique<openpmix::OpenPmixEndpoint>(&loop_, this,
                                                           std::move(options));
}

void Agent::Impl::MakeProcesses() {
  const std::vector<ProcessEnvironment*> environments = {
      local_.get(), pmi1_.get(), openpmix_.get(), &emulation_};
  process::ProcessOptions processes;
  processes.shim_path = Beside("CANOPY_SHIM", "canopy-shim");
  processes.runtime_dir = dir_->path();
  processes.self = config_.self();
  processes.open_files = files_.original();
  processes.environment.unset = local::UnsetNames();
  processes.environment.unset.insert(processes.environment.unset.end(),
                                     openpmix::UnsetNames().begin(),
                                     openpmix::UnsetNames().end());
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
  persistent_state_ = std::make_unique<PersistentState>(
      process_.get(), datastore_.get(), dir_->path(),
      [this] { return openpmix_->listener(); }, Log);
  job_manager_.set_persistence(
      persistent_state_.get(), config_.restart_grace_ms(),
      std::max(config_.restart_grace_ms(), kHandoverMs));
}

// A secret that a successor must be able to derive, and no other process.
std::string Agent::Impl::Token(const ProcId& proc) const {
  if (!key_) return local::MakeToken();
  const std::string text = "client " + std::to_string(config_.self()) + " " +
                           std::to_string(proc.rank) + " " + proc.nspace;
  return Hex(key_->Hmac(text).substr(0, 16));
}

Status Agent::Impl::Listen() {
  Status status;
  if (overlay_) status = overlay_->Listen();
  if (overlay_ && status.ok()) status = ListenForControl();
  if (status.ok()) status = local_->Start();
  if (status.ok()) status = openpmix_->Start(RecoveredListener());
  return status;
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
  // Without TLS the peers on that port are not authenticated: control is on the
  // Unix socket alone.
  if (security_->mode != security::SecurityMode::kPlaintext) {
    options.services.push_back(remote_control_.service());
  } else {
    spdlog::warn(
        "plaintext: what agents send to each other can be read and changed by "
        "whoever is on the network between them, and {} takes no control "
        "requests from other machines",
        config_.node_name());
  }
  Status status = network_server_.Start(options);
  if (status.ok()) info_.set_control_address(network_server_.address());
  return status;
}

}  // namespace canopy::agent
