#include "server/kubernetes/gateway/pod_gateway.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"
#include "common/text.h"
#include "server/kubernetes/gateway/pod_arrival.h"

namespace canopy::kubernetes {
namespace {

constexpr int kBacklog = 1024;
constexpr mode_t kEveryUser = 0666;
constexpr int64_t kSecondNs = int64_t{1000} * 1000 * 1000;
// How long the API server may take to report a pod that runs already.
constexpr int64_t kUnknownPodNs = 30 * kSecondNs;
constexpr int64_t kNewsNs = 30 * kSecondNs;

process::Notice NoticeOf(const Status& status) {
  return {status.code(), Printable(status.message())};
}

}  // namespace

PodGateway::PodGateway(Parts parts) : parts_(std::move(parts)) {}

PodGateway::~PodGateway() {
  *alive_ = false;
  for (auto& [id, waiting] : waiting_) {
    if (waiting->withdraw) waiting->withdraw();
  }
}

Status PodGateway::Start(const std::string& path) {
  Result<UniqueFd> listener = ListenUnix(path, kBacklog, kEveryUser);
  if (!listener.ok()) return listener.status();
  listener_.emplace(
      parts_.loop, std::move(*listener),
      [this](UniqueFd fd) { OnConnection(std::move(fd)); },
      [this] { parts_.log("no descriptor left: refusing pods"); });
  return {};
}

Status PodGateway::MayWait(const std::string& pod_uid) const {
  const auto of_pod =
      std::ranges::count_if(waiting_, [&pod_uid](const auto& entry) {
        return entry.second->pod_uid == pod_uid;
      });
  if (waiting_.size() < kMax && static_cast<size_t>(of_pod) < kMaxOfPod) {
    return {};
  }
  return {kErrOutOfResource, "too many shims wait on this node"};
}

// A peer without an identity gets the reason too, because it may be a pod of an
// operator who tries out an installation.
void PodGateway::OnConnection(UniqueFd fd) {
  const Result<Peer> peer = parts_.identify(fd.get());
  const Status may = peer.ok() ? MayWait(peer->pod_uid) : peer.status();
  const uint64_t id = next_++;
  auto waiting = std::make_unique<WaitingPod>(
      parts_.loop, std::move(fd),
      WaitingPod::Events{[this, id] { OnJoin(id); },
                         [this, id](const std::string&) { Remove(id); }});
  if (!may.ok()) {
    parts_.log("refusing a connection at the socket for pods: " +
               may.message());
    return waiting->Send(NoticeOf(may));
  }
  waiting->pod_uid = peer->pod_uid;
  waiting->container_id = peer->container_id;
  waiting_[id] = std::move(waiting);
}

void PodGateway::OnJoin(uint64_t id) {
  WaitingPod& waiting = *waiting_.at(id);
  if (waiting.join().version != process::kShimProtocolVersion) {
    return Refuse(id, {kErrNotSupported,
                       "canopy-exec is of another release than the agent"});
  }
  if (const Pod* const pod = parts_.find_pod(waiting.pod_uid)) {
    return Join(&waiting, *pod);
  }
  waiting.timer = parts_.loop->AddTimer(kUnknownPodNs, [this, id] {
    waiting_.at(id)->timer = 0;
    Refuse(id, {kErrTimeout,
                "the API server has not reported this pod to the agent"});
  });
}

void PodGateway::OnPods() {
  std::vector<uint64_t> unknown;
  for (const auto& [id, waiting] : waiting_) {
    if (waiting->joined() && waiting->gang.empty()) unknown.push_back(id);
  }
  for (const uint64_t id : unknown) {
    const auto it = waiting_.find(id);
    if (it == waiting_.end()) continue;
    const Pod* const pod = parts_.find_pod(it->second->pod_uid);
    if (pod != nullptr) Join(it->second.get(), *pod);
  }
}

void PodGateway::Join(WaitingPod* waiting, const Pod& pod) {
  const auto id = std::ranges::find_if(waiting_, [waiting](const auto& entry) {
                    return entry.second.get() == waiting;
                  })->first;
  Result<Arrival> arrival = ArrivalOf(pod, waiting->container_id);
  if (!arrival.ok()) return Refuse(id, arrival.status());
  arrival->node = parts_.node;
  arrival->argv = waiting->join().argv;
  if (waiting->timer != 0) parts_.loop->CancelTimer(waiting->timer);
  waiting->gang = GangName(arrival->nspace, arrival->job, arrival->job_uid);
  waiting->timer = parts_.loop->AddTimer(kNewsNs, [this, id] { Tell(id); });
  waiting->withdraw = parts_.join(
      *std::move(arrival), [this, id, alive = alive_](const Status& status) {
        if (*alive) OnJoined(id, status);
      });
}

void PodGateway::Tell(uint64_t id) {
  WaitingPod& waiting = *waiting_.at(id);
  waiting.Send({kSuccess, "waiting for the other pods of " + waiting.gang});
  waiting.timer = parts_.loop->AddTimer(kNewsNs, [this, id] { Tell(id); });
}

// After a success, the connection is taken when the job arrives.
void PodGateway::OnJoined(uint64_t id, const Status& status) {
  const auto it = waiting_.find(id);
  if (it == waiting_.end()) return;
  it->second->withdraw = nullptr;
  if (!status.ok()) Refuse(id, status);
}

void PodGateway::Refuse(uint64_t id, const Status& why) {
  waiting_.at(id)->Send(NoticeOf(why));
  Remove(id);
}

void PodGateway::Remove(uint64_t id) {
  const auto node = waiting_.extract(id);
  if (!node.empty() && node.mapped()->withdraw) node.mapped()->withdraw();
}

std::optional<Result<UniqueFd>> PodGateway::TakeShim(const JobSpec& job) {
  if (!IsGangName(job.host_job)) return std::nullopt;
  const auto it = std::ranges::find_if(waiting_, [&job](const auto& entry) {
    return entry.second->gang == job.host_job;
  });
  if (it == waiting_.end()) {
    return Result<UniqueFd>(
        Status(kErrJobFailedToLaunch,
               "the pod of " + job.name + " on " + parts_.node + " has left"));
  }
  std::erase_if(pods_,
                [this](const auto& pod) { return !parts_.holds(pod.first); });
  pods_[job.nspace] = it->second->pod_uid;
  UniqueFd connection = it->second->Take();
  waiting_.erase(it);
  return Result<UniqueFd>(std::move(connection));
}

std::string PodGateway::PodOf(const std::string& nspace) const {
  const auto pod = pods_.find(nspace);
  return pod == pods_.end() ? "" : pod->second;
}

}  // namespace canopy::kubernetes
