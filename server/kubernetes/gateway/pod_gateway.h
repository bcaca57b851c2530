// The socket at which the pods of a node wait for their jobs.
#ifndef CANOPY_SERVER_KUBERNETES_GATEWAY_POD_GATEWAY_H_
#define CANOPY_SERVER_KUBERNETES_GATEWAY_POD_GATEWAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/job.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/endpoint/listener.h"
#include "server/kubernetes/api/pod.h"
#include "server/kubernetes/gangs/arrival.h"
#include "server/kubernetes/gateway/waiting_pod.h"

namespace canopy::kubernetes {

// Accepts the shims of pods (canopy-exec), finds out which pod each is in, and
// lets them wait for their gangs. The process adapter takes the connection when
// the job is launched. Loop thread only.
class PodGateway {
 public:
  // A process in a pod, as the kernel reports it.
  struct Peer {
    std::string pod_uid;
    std::string container_id;  // empty: unknown
  };
  struct Parts {
    EventLoop* loop = nullptr;
    std::string node;  // name of this agent's member
    std::function<Result<Peer>(int socket)> identify;
    // Returns the pod, or null if the API server has not reported it yet.
    std::function<const Pod*(const std::string& uid)> find_pod;
    // Adds the pod to its gang. `done` is called later. The result withdraws
    // the pod.
    std::function<std::function<void()>(Arrival arrival, Joined done)> join;
    // Returns true while this agent holds the job.
    std::function<bool(const std::string& nspace)> holds;
    std::function<void(const std::string& line)> log;
  };
  // Limits for the connections of one pod, and of all pods.
  static constexpr size_t kMaxOfPod = 4;
  static constexpr size_t kMax = 4096;

  explicit PodGateway(Parts parts);
  ~PodGateway();
  PodGateway(const PodGateway&) = delete;
  PodGateway& operator=(const PodGateway&) = delete;

  // Listens at `path`, to which every user may connect. Fails like ListenUnix.
  Status Start(const std::string& path);
  // Looks again for the pods that the API server had not reported. Called after
  // it has reported pods.
  void OnPods();

  // Implements ProcessOptions::pod_shim.
  std::optional<Result<UniqueFd>> TakeShim(const JobSpec& job);
  // Returns the pod in which the ranks of a job on this node run; empty: none.
  std::string PodOf(const std::string& nspace) const;

  size_t num_waiting() const { return waiting_.size(); }

 private:
  void OnConnection(UniqueFd fd);
  Status MayWait(const std::string& pod_uid) const;
  void OnJoin(uint64_t id);
  void Join(WaitingPod* waiting, const Pod& pod);
  void Tell(uint64_t id);
  void OnJoined(uint64_t id, const Status& status);
  void Refuse(uint64_t id, const Status& why);
  void Remove(uint64_t id);

  const Parts parts_;
  std::optional<endpoint::Listener> listener_;
  uint64_t next_ = 1;
  std::map<uint64_t, std::unique_ptr<WaitingPod>> waiting_;
  std::map<std::string, std::string> pods_;  // UIDs by namespace
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GATEWAY_POD_GATEWAY_H_
