// Hosts that are added to the overlay because a process spawns a job on them
// (PMIX_ADD_HOST and PMIX_ADD_HOSTFILE; PMIx Standard, chapter "Process
// Management").
//
// The launcher of the spawner's family starts the agents, because it has the
// means to reach other hosts. The exchange with it is an order:
// 1. AddHosts, to the launcher.
// 2. OrderedNodes, twice: the hosts become members, and the new agents are
//    described.
// 3. HostsAdded, when the agents are ready. The order ends when this agent
//    sees all of them as up.
// An order that fails removes the members that it has made.
#ifndef CANOPY_SERVER_CONTROL_HOST_ADDITIONS_H_
#define CANOPY_SERVER_CONTROL_HOST_ADDITIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/hosts.h"
#include "common/ids.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/families.h"
#include "server/control/job_record.h"

namespace canopy::control {

// Executes one order at a time, so that two spawns that name the same host add
// it once. Loop thread only. The arguments of the constructor outlive this
// object.
class HostAdditions {
 public:
  struct Request {
    std::string nspace;  // the spawner's job
    // Returns the hosts that are to be added. Called when the request has its
    // turn, because earlier orders may have added some of them.
    std::function<Result<std::vector<Host>>()> missing;
    int64_t give_up = 0;  // EventLoop::Now(); 0: the limit of an order alone
    // Called once. The status is kErrNotSupported if no launcher can add the
    // hosts, kErrOutOfResource if there are too many hosts or requests,
    // kErrJobAllocFailed if a host could not be added, or an error of
    // `missing`.
    std::function<void(const Status& status)> done;
  };

  HostAdditions(EventLoop* loop, Families* families, const JobPlanner* planner)
      : loop_(loop), families_(families), planner_(planner) {}
  ~HostAdditions();
  HostAdditions(const HostAdditions&) = delete;
  HostAdditions& operator=(const HostAdditions&) = delete;

  // Adds the missing hosts of a request, now or later.
  void Add(Request request);
  // Messages of launchers about the order in progress. Those about other orders
  // are refused or ignored.
  void OnNodes(uint64_t launcher, const v1::OrderedNodes& nodes);
  void OnAdded(uint64_t launcher, const v1::HostsAdded& added);
  void OnLauncherGone(uint64_t launcher);

 private:
  struct Order {
    uint64_t number = 0;
    uint64_t launcher = 0;
    size_t num_hosts = 0;
    Request request;
    std::vector<NodeId> nodes;  // the members of the hosts
    std::vector<NodeId> made;   // those of `nodes` that this order has made
    EventLoop::TimerId limit = 0;
    EventLoop::TimerId poll = 0;  // waits until the nodes are up
  };

  void Next();
  void Begin(Request request);
  // Returns the launcher for the spawner's job, or null if none can add hosts.
  Launcher* LauncherFor(const std::string& nspace);
  void SendOrder(Launcher* launcher, const std::vector<Host>& hosts,
                 int64_t limit_ns);
  bool IsCurrent(uint64_t launcher, uint64_t order) const;
  Result<v1::AddNodesReply> AddNodes(const v1::OrderedNodes& nodes);
  void AwaitUp();
  void End(const Status& status);

  EventLoop* const loop_;
  Families* const families_;
  const JobPlanner* const planner_;
  std::deque<Request> waiting_;
  std::optional<Order> order_;  // in progress
  uint64_t next_order_ = 1;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOST_ADDITIONS_H_
