#include "server/agent/wiring/pod_services.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <utility>

#include "common/hex.h"
#include "common/posix/private_dir.h"
#include "server/agent/bring_up/log.h"
#include "server/control/agent_channel.h"
#include "server/kubernetes/api/api_server.h"
#include "server/kubernetes/api/url.h"
#include "server/security/cluster_key.h"
#include "server/shim/pod/pod_paths.h"

namespace canopy::agent {
namespace {

// The name of the variable with the directory of the service account, for
// agents that are tried outside of a cluster.
constexpr char kAccountVariable[] = "CANOPY_SERVICE_ACCOUNT";
// Users of the system have lower numbers.
constexpr uint32_t kFirstOwner = 1u << 31;

void Warn(const std::string& line) { spdlog::warn("kubernetes: {}", line); }

std::string AccountDirectory() {
  const char* const directory = getenv(kAccountVariable);
  return directory == nullptr ? kubernetes::kServiceAccountDirectory
                              : directory;
}

std::string NamespacePath(const char* api, const std::string& nspace,
                          const char* collection) {
  return std::string(api) + "/namespaces/" + kubernetes::UrlEscaped(nspace) +
         "/" + collection;
}

std::vector<kubernetes::Pod> PodsOf(const kubernetes::Json& list,
                                    const std::string& resource) {
  std::vector<kubernetes::Pod> pods;
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return pods;
  for (const kubernetes::Json& item : *items) {
    std::optional<kubernetes::Pod> pod = kubernetes::ParsePod(item, resource);
    if (pod) pods.push_back(*std::move(pod));
  }
  return pods;
}

bool HasRanks(const kubernetes::Pod& pod) {
  for (const kubernetes::Container& container : pod.containers) {
    if (container.ranks > 0) return true;
  }
  return false;
}

}  // namespace

PodServices::PodServices(Parts parts)
    : parts_(std::move(parts)),
      peers_(parts_.config->kubernetes().host_proc()),
      gangs_(GangParts()),
      join_client_(ClientParts()),
      join_service_(
          parts_.loop,
          [this](kubernetes::Arrival arrival, kubernetes::Joined done) {
            return Arrive(std::move(arrival), std::move(done));
          }),
      gateway_(GatewayParts()) {}

std::string PodServices::Directory() const {
  return parts_.config->kubernetes().host_run() + "/pods";
}

std::string PodServices::ClientSocket() const {
  return Directory() + "/" + process::kPodClientSocket;
}

Status PodServices::Prepare() {
  Result<kubernetes::ApiServer> server =
      kubernetes::InClusterServer(getenv, AccountDirectory());
  if (!server.ok()) return server.status();
  api_.emplace(parts_.loop, *std::move(server));
  const Status parent =
      MakeSearchableDir(parts_.config->kubernetes().host_run());
  return parent.ok() ? MakeSearchableDir(Directory()) : parent;
}

Status PodServices::Start() {
  WatchPods();
  const Status status =
      gateway_.Start(Directory() + "/" + process::kPodShimSocket);
  return status.ok() ? StartPlugin() : status;
}

// Containers get the paths of pod_paths.h, wherever the node has the files.
Status PodServices::StartPlugin() {
  const bootstrap::v1::Kubernetes& config = parts_.config->kubernetes();
  if (config.device_plugins().empty()) return Status();
  kubernetes::DevicePluginOptions options;
  options.plugin_dir = config.device_plugins();
  options.resource = config.resource();
  options.devices.mounts = {{Directory(), process::kPodRunDirectory},
                            {config.host_files(), process::kPodFilesDirectory}};
  options.devices.environment = {std::string("LD_PRELOAD=") +
                                 process::kPodFilesDirectory +
                                 "/lib/canopy-entry.so"};
  options.log = [](const std::string& line) {
    spdlog::info("kubernetes: {}", line);
  };
  auto plugin =
      kubernetes::DevicePlugin::Start(parts_.loop, std::move(options));
  if (!plugin.ok()) return plugin.status();
  plugin_ = *std::move(plugin);
  return Status();
}

Result<std::string> PodServices::PodOfPeer(int socket) const {
  Result<kubernetes::PeerPod> peer = peers_.Identify(socket);
  if (!peer.ok()) return peer.status();
  return std::move(peer->pod_uid);
}

// ------------------------------------------------------------- this node ---

kubernetes::PodGateway::Parts PodServices::GatewayParts() {
  kubernetes::PodGateway::Parts parts;
  parts.loop = parts_.loop;
  parts.node = parts_.config->node_name();
  parts.identify = [this](int socket) -> Result<kubernetes::PodGateway::Peer> {
    Result<kubernetes::PeerPod> peer = peers_.Identify(socket);
    if (!peer.ok()) return peer.status();
    return kubernetes::PodGateway::Peer{std::move(peer->pod_uid),
                                        std::move(peer->container_id)};
  };
  parts.find_pod = [this](const std::string& uid) {
    const auto pod = pods_.find(uid);
    return pod == pods_.end() ? nullptr : &pod->second;
  };
  parts.join = [this](kubernetes::Arrival arrival, kubernetes::Joined done) {
    return join_client_.Join(std::move(arrival), std::move(done));
  };
  parts.holds = parts_.holds;
  parts.log = Warn;
  return parts;
}

void PodServices::WatchPods() {
  kubernetes::WatchOptions options;
  options.path = "/api/v1/pods";
  options.field_selector = "spec.nodeName=" + parts_.config->node_name();
  options.on_object = [this](kubernetes::Change change,
                             const kubernetes::Json& object) {
    OnPod(change, object);
  };
  options.on_synced = [this] { gateway_.OnPods(); };
  options.on_problem = [](const Status& problem) {
    Warn(problem.ok() ? "the API server reports this node's pods again"
                      : "the API server does not report this node's pods: " +
                            problem.message());
  };
  watch_.emplace(&*api_, std::move(options));
}

void PodServices::OnPod(kubernetes::Change change,
                        const kubernetes::Json& object) {
  std::optional<kubernetes::Pod> pod =
      kubernetes::ParsePod(object, parts_.config->kubernetes().resource());
  if (!pod) return;
  if (change == kubernetes::Change::kDeleted || !HasRanks(*pod)) {
    pods_.erase(pod->uid);
    return;
  }
  pods_[pod->uid] = *std::move(pod);
  gateway_.OnPods();
}

// ------------------------------------------------------------ the leader ---

kubernetes::Gangs::Parts PodServices::GangParts() {
  kubernetes::Gangs::Parts parts;
  parts.loop = parts_.loop;
  parts.commands = &parts_.job_manager->commands();
  parts.api.find_job = [this](const auto& nspace, const auto& name, auto done) {
    FindJob(nspace, name, std::move(done));
  };
  parts.api.list_pods = [this](const auto& nspace, const auto& name,
                               auto done) {
    ListPods(nspace, name, std::move(done));
  };
  parts.owner = [this](const std::string& nspace) { return OwnerOf(nspace); };
  parts.deadline_ms = parts_.config->kubernetes().start_deadline_ms();
  parts.log = Warn;
  return parts;
}

// Derives the number with the cluster key, so that no user can find a
// namespace with the number of another.
HostOwner PodServices::OwnerOf(const std::string& nspace) const {
  HostOwner owner;
  owner.name = "kubernetes/" + nspace;
  const Result<security::ClusterKey> key =
      security::ClusterKey::FromHex(ToHex(parts_.config->cluster_key()));
  const std::string digest = key.ok() ? key->Hmac(owner.name) : owner.name;
  for (const char byte : digest.substr(0, sizeof owner.uid)) {
    owner.uid = owner.uid << 8 | static_cast<unsigned char>(byte);
  }
  owner.uid = kFirstOwner | (owner.uid & ~(kFirstOwner | 1));
  return owner;
}

bool PodServices::Leads() const {
  return parts_.membership->IsLeader(parts_.config->self());
}

std::function<void()> PodServices::Arrive(kubernetes::Arrival arrival,
                                          kubernetes::Joined done) {
  if (!Leads()) {
    done(Status(kErrUnreach, "this agent does not launch jobs"));
    return [] {};
  }
  const uint64_t id = gangs_.Arrive(std::move(arrival), std::move(done));
  return [this, id] { gangs_.Leave(id); };
}

void PodServices::FindJob(const std::string& nspace, const std::string& name,
                          std::function<void(Result<kubernetes::Job>)> done) {
  const std::string path = NamespacePath("/apis/batch/v1", nspace, "jobs/") +
                           kubernetes::UrlEscaped(name);
  api_->Get(
      path, [done = std::move(done)](const Result<kubernetes::Json>& object) {
        if (!object.ok()) return done(object.status());
        std::optional<kubernetes::Job> job = kubernetes::ParseJob(*object);
        if (!job)
          return done(Status(kErrUnpackFailure, "the Job is malformed"));
        done(*std::move(job));
      });
}

// Reads from the API server's cache, which is recent enough for a text.
void PodServices::ListPods(
    const std::string& nspace, const std::string& name,
    std::function<void(Result<std::vector<kubernetes::Pod>>)> done) {
  const std::string path =
      NamespacePath("/api/v1", nspace, "pods") +
      "?labelSelector=" + kubernetes::UrlEscaped("job-name=" + name) +
      "&resourceVersion=0";
  api_->Get(path, [done = std::move(done),
                   resource = parts_.config->kubernetes().resource()](
                      const Result<kubernetes::Json>& list) {
    if (!list.ok()) return done(list.status());
    done(PodsOf(*list, resource));
  });
}

// ------------------------------------------------------ way to the leader ---

kubernetes::JoinClient::Parts PodServices::ClientParts() {
  kubernetes::JoinClient::Parts parts;
  parts.loop = parts_.loop;
  parts.here = [this](kubernetes::Arrival arrival,
                      kubernetes::Joined done) -> std::function<void()> {
    if (!Leads()) return nullptr;
    return Arrive(std::move(arrival), std::move(done));
  };
  parts.channel = [this] { return LeaderChannel(); };
  return parts;
}

Result<std::shared_ptr<grpc::Channel>> PodServices::LeaderChannel() {
  const Membership& membership = *parts_.membership;
  std::string address;
  for (NodeId node = 0; node < membership.size(); ++node) {
    if (!membership.IsLeader(node)) continue;
    address = membership.info(node).control_address();
  }
  if (address.empty()) {
    return Status(kErrUnreach, "the agent that launches jobs is not known");
  }
  if (address == leader_address_) return leader_channel_;
  auto channel = control::MakeAgentChannel(address, *parts_.security);
  if (!channel.ok()) return channel;
  leader_address_ = address;
  leader_channel_ = *channel;
  return channel;
}

}  // namespace canopy::agent
