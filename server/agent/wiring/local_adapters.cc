#include "server/agent/wiring/local_adapters.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/hex.h"
#include "common/posix/host_name.h"
#include "common/posix/private_dir.h"
#include "server/agent/bring_up/log.h"
#include "server/agent/bring_up/settings.h"
#include "server/agent/wiring/node_facts.h"
#include "server/hwinfo/hwinfo.h"
#include "server/local/environment.h"
#include "server/openpmix/environment.h"
#include "server/ports/client_port.h"

namespace canopy::agent {
namespace {

constexpr char kClientSocket[] = "/clients.sock";
constexpr mode_t kEveryUser = 0666;
constexpr int64_t kShimsEndNs = int64_t{3} * 1000 * 1000 * 1000;

ProcId ServerOf(const bootstrap::v1::Config& config) {
  return {"canopy-agent-" + ToHex(config.overlay_id()).substr(0, 8),
          config.self()};
}

}  // namespace

LocalAdapters::LocalAdapters(EventLoop* loop, InputSink* sink,
                             const bootstrap::v1::Config& config,
                             std::string directory, uint64_t open_files,
                             PodServices* pods)
    : loop_(loop),
      sink_(sink),
      config_(config),
      pods_(pods),
      directory_(std::move(directory)),
      server_(ServerOf(config)),
      tools_(std::make_shared<endpoint::ToolRegistry>(server_,
                                                      endpoint::kMaxTools)),
      facts_(MakeNodeFacts(server_, directory_, hwinfo::ThisMachine())),
      host_(sink) {
  const Result<security::ClusterKey> key =
      security::ClusterKey::FromHex(ToHex(config_.cluster_key()));
  if (key.ok()) key_ = *key;
  MakeProcesses(open_files);
  MakeDatastore();
  MakeLocal();
  MakePmi();
  MakeServices();
  MakeOpenPmix();
  MakeFactsReader();
  MakeHost();
  process_->set_environments(
      {local_.get(), pmi_.get(), openpmix_.get(), &emulation_});
}

FdStorePort* LocalAdapters::fd_store() {
  return config_.embedded() ? nullptr : process_.get();
}

void LocalAdapters::MakeProcesses(uint64_t open_files) {
  process::ProcessOptions options;
  options.shim_path = Beside("CANOPY_SHIM", "canopy-shim");
  options.runtime_dir = directory_;
  options.self = config_.self();
  options.job_directory = [this](const std::string& nspace) {
    return datastore::JobDirectory(facts_, nspace);
  };
  options.open_files = open_files;
  options.environment.unset = local::UnsetNames();
  options.environment.unset.insert(options.environment.unset.end(),
                                   openpmix::UnsetNames().begin(),
                                   openpmix::UnsetNames().end());
  options.environment.library_dir =
      config_.library_dir().empty()
          ? Beside("CANOPY_LIBRARY_DIR", "../lib/canopy")
          : config_.library_dir();
  options.orphan_ms = config_.embedded() ? 0
                                         : std::max(config_.orphan_grace_ms(),
                                                    config_.restart_grace_ms());
  if (pods_ != nullptr) {
    options.pod_shim = [this](const JobSpec& job) {
      return pods_->gateway().TakeShim(job);
    };
  }
  process_ = std::make_unique<process::ProcessAdapter>(loop_, sink_,
                                                       std::move(options));
}

void LocalAdapters::MakeDatastore() {
  datastore::DatastoreOptions options;
  options.facts = facts_;
  options.facts.uri = [this] { return openpmix_->uri(); };
  options.on_scarce = [this](const std::string& nspace) {
    local_->CloseMailboxes(nspace);
  };
  options.log = Log;
  options.is_elsewhere = [](const JobSpec& job) {
    return kubernetes::IsGangName(job.host_job);
  };
  datastore_ = std::make_unique<datastore::Datastore>(std::move(options));
}

// Returns the function that consults the scheduler about tools. The scheduler
// is not consulted about ranks, because they belong to the agent.
endpoint::AskAboutNewcomer LocalAdapters::AskAboutTools() {
  if (config_.host_module().empty()) return nullptr;
  return [this](const endpoint::Newcomer& who,
                std::function<void(endpoint::Verdict)> done) {
    if (!who.is_tool) return done({});
    if (tool_host_ == nullptr) {
      return done({kErrUnreach, {}, "the agent ends"});
    }
    tool_host_->AskAboutTool({who.proc, who.uid, who.gid, who.elsewhere},
                             [done = std::move(done)](const Status& status) {
                               done({status.code(), {}, status.message()});
                             });
  };
}

void LocalAdapters::MakeLocal() {
  local::LocalOptions options;
  options.environment.self = config_.self();
  options.environment.socket_path = directory_ + kClientSocket;
  options.environment.runtime_dir = directory_;
  options.serves_all_users = config_.serves_all_users();
  if (options.serves_all_users) options.socket_mode = kEveryUser;
  options.environment.reattach_ms = config_.restart_grace_ms();
  options.server = server_;
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
  options.fd_store = fd_store();
  options.tools = tools_;
  options.ask = AskAboutTools();
  options.log = Log;
  if (pods_ != nullptr) {
    options.pod_of_peer = [this](int socket) {
      return pods_->PodOfPeer(socket);
    };
    options.pod_of_job = [this](const std::string& nspace) {
      return pods_->gateway().PodOf(nspace);
    };
  }
  local_ =
      std::make_unique<local::LocalEndpoint>(loop_, sink_, std::move(options));
}

void LocalAdapters::MakePmi() {
  pmi::PmiOptions options;
  options.self = config_.self();
  options.find_key = [this](const std::string& nspace, std::string_view key) {
    return datastore_->FindKey(nspace, key);
  };
  options.find_job_key = [this](const std::string& nspace,
                                std::string_view key) {
    return datastore_->FindJobKey(nspace, key);
  };
  options.log = Log;
  options.fd_store = fd_store();
  pmi_ = std::make_unique<pmi::PmiEndpoint>(loop_, sink_, std::move(options));
}

void LocalAdapters::MakeServices() {
  HostServices::Parts parts;
  parts.loop = loop_;
  parts.sink = sink_;
  parts.config = &config_;
  parts.key = key_;
  parts.put_text = [this](ProcessText text, TextDone done) {
    process_->Put(std::move(text), std::move(done));
  };
  services_ = std::make_unique<HostServices>(parts);
}

void LocalAdapters::MakeOpenPmix() {
  openpmix::OpenPmixOptions options;
  options.self = config_.self();
  options.server = server_;
  options.host = config_.node_name();
  options.serves_all_users = config_.serves_all_users();
  options.tool_files.own_directory = directory_;
  options.tool_files.for_all_users = config_.serves_all_users();
  if (config_.system_server()) {
    options.tool_files.system_directory = TemporaryBase();
  }
  options.tool_socket = directory_ + kClientSocket;
  options.tools = tools_;
  options.ask = AskAboutTools();
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
  options.put_syslog = [this](const log::SyslogText& text) {
    return services_->syslog().Put(text);
  };
  options.on_heartbeat = [this](const ProcId& proc) {
    services_->monitors().Beat(proc);
  };
  options.port = static_cast<uint16_t>(config_.pmix_port());
  options.fd_store = fd_store();
  openpmix_ = std::make_unique<openpmix::OpenPmixEndpoint>(loop_, sink_,
                                                           std::move(options));
}

void LocalAdapters::MakeFactsReader() {
  facts::FactsOptions options;
  options.server = server_;
  options.host = config_.node_name();
  options.uri = [this] { return openpmix_->uri(); };
  options.job_data = [this](const std::string& nspace) {
    return datastore_->FindReader(nspace);
  };
  options.make_directory = [this](const ProcId& proc) {
    datastore_->MakeRankDirectory(proc);
  };
  facts_reader_ =
      std::make_unique<facts::FactsReader>(loop_, sink_, std::move(options));
}

// Returns the secret of a client. With a cluster key, the secret is derived
// from that key, so that this agent's successor gets the same one. Without a
// cluster key, it is random.
std::string LocalAdapters::Token(const ProcId& proc) const {
  if (!key_) return local::MakeToken();
  const std::string text = "client " + std::to_string(config_.self()) + " " +
                           std::to_string(proc.rank) + " " + proc.nspace;
  return ToHex(key_->Hmac(text).substr(0, 16));
}

Status LocalAdapters::Listen(UniqueFd openpmix_listener) {
  Status status = local_->Start();
  if (status.ok()) status = openpmix_->Start(std::move(openpmix_listener));
  if (status.ok() && pods_ != nullptr) {
    status = local_->ListenForPods(pods_->ClientSocket());
  }
  if (status.ok() && pods_ != nullptr) status = pods_->Start();
  return status;
}

void LocalAdapters::MakeHost() {
  host_.Decide(HostOp::kJobControl,
               [this](const core::AskHost& request,
                      const host::EmbeddedHost::Answer& answer) {
                 answer(cleanup_.Control(request), {});
               });
  host_.OnDrop([this](const std::string& nspace) { cleanup_.DropJob(nspace); });
  services_->AddTo(&host_);
}

void LocalAdapters::ShareMachine(bool loopback_only) {
  emulation_.Enable(loopback_only, [this](const std::string& nspace) {
    return datastore::JobDirectory(facts_, nspace);
  });
}

void LocalAdapters::AddTo(RuntimePorts* ports) {
  ports->datastore = datastore_.get();
  ports->process = process_.get();
  ports->host = &host_;
  ports->facts = facts_reader_.get();
  ports->clients = {{ClientKind::kLocal, local_.get()},
                    {ClientKind::kPmi, pmi_.get()},
                    {ClientKind::kOpenPmix, openpmix_.get()}};
  ports->observers.push_back(&cleanup_);
  ports->observers.push_back(&services_->monitors());
  ports->usage = [this](const core::UsageTaken& taken) {
    services_->monitors().OnUsage(taken);
  };
}

relay::RelayOptions LocalAdapters::ForRelayedTools() {
  relay::RelayOptions options;
  options.server = server_;
  options.host = LocalHostName();
  options.adopt_libpmix = [this](UniqueFd fd) { local_->Adopt(std::move(fd)); };
  options.adopt_openpmix = [this](UniqueFd fd) {
    openpmix_->Adopt(std::move(fd));
  };
  return options;
}

void LocalAdapters::EndShims(bool forget) {
  // Waits until the shims have ended, because their sockets are in the agent's
  // directory, which is removed afterwards.
  if (forget) process_->ForgetAll();
  const int64_t deadline = EventLoop::Now() + kShimsEndNs;
  while (process_->ending() > 0 && EventLoop::Now() < deadline) {
    loop_->RunOnce(50);
  }
}

}  // namespace canopy::agent
