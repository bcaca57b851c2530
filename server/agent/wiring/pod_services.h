// The service of an agent for the pods of Kubernetes on its node.
#ifndef CANOPY_SERVER_AGENT_WIRING_POD_SERVICES_H_
#define CANOPY_SERVER_AGENT_WIRING_POD_SERVICES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/agent/membership/membership.h"
#include "server/control/job_manager.h"
#include "server/kubernetes/api/api_client.h"
#include "server/kubernetes/api/watch.h"
#include "server/kubernetes/device_plugin/device_plugin.h"
#include "server/kubernetes/gangs/gangs.h"
#include "server/kubernetes/gateway/pod_gateway.h"
#include "server/kubernetes/identity/peer_pod.h"
#include "server/kubernetes/join/join_client.h"
#include "server/kubernetes/join/join_service.h"
#include "server/security/credentials.h"

namespace grpc {
class Channel;
class Service;
}  // namespace grpc

namespace canopy::agent {

// Loop thread only. The order of the members is that of their construction.
class PodServices {
 public:
  // The objects outlive this one.
  struct Parts {
    EventLoop* loop = nullptr;
    const bootstrap::v1::Config* config = nullptr;  // with `kubernetes`
    const Membership* membership = nullptr;
    control::JobManager* job_manager = nullptr;
    const security::SecurityConfig* security = nullptr;
    // Returns true while this agent holds the job.
    std::function<bool(const std::string& nspace)> holds;
  };

  explicit PodServices(Parts parts);
  PodServices(const PodServices&) = delete;
  PodServices& operator=(const PodServices&) = delete;

  // Finds the API server and makes the directory for the pods' sockets. Called
  // before all other functions. kErrNotFound: the process does not run in a
  // pod of Kubernetes.
  Status Prepare();
  // Creates the socket for pods, begins to watch the node's pods, and registers
  // with the kubelet.
  Status Start();
  // Returns the path of the socket for the clients of libpmix in pods.
  std::string ClientSocket() const;

  // Called when another agent launches jobs than before.
  void OnLeaderChanged() {
    if (!Leads()) gangs_.MoveAll();
  }

  kubernetes::PodGateway& gateway() { return gateway_; }
  // Returns the UID of the pod of the process that made a connection.
  Result<std::string> PodOfPeer(int socket) const;
  // Returns the service at which other agents' pods arrive.
  grpc::Service* service() { return join_service_.service(); }

 private:
  kubernetes::PodGateway::Parts GatewayParts();
  kubernetes::Gangs::Parts GangParts();
  kubernetes::JoinClient::Parts ClientParts();
  HostOwner OwnerOf(const std::string& nspace) const;
  bool Leads() const;
  std::function<void()> Arrive(kubernetes::Arrival arrival,
                               kubernetes::Joined done);
  Result<std::shared_ptr<grpc::Channel>> LeaderChannel();
  void FindJob(const std::string& nspace, const std::string& name,
               std::function<void(Result<kubernetes::Job>)> done);
  void ListPods(const std::string& nspace, const std::string& name,
                std::function<void(Result<std::vector<kubernetes::Pod>>)> done);
  void WatchPods();
  void OnPod(kubernetes::Change change, const kubernetes::Json& object);
  Status StartPlugin();
  std::string Directory() const;

  const Parts parts_;
  const kubernetes::PeerPods peers_;
  std::optional<kubernetes::ApiClient> api_;
  std::map<std::string, kubernetes::Pod> pods_;  // of this node, by UID
  kubernetes::Gangs gangs_;
  kubernetes::JoinClient join_client_;
  kubernetes::JoinService join_service_;
  kubernetes::PodGateway gateway_;
  std::optional<kubernetes::Watch> watch_;
  std::unique_ptr<kubernetes::DevicePlugin> plugin_;  // null: none
  std::string leader_address_;
  std::shared_ptr<grpc::Channel> leader_channel_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_POD_SERVICES_H_
