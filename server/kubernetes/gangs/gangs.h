// Assembles the pods of Indexed Jobs and launches each Job as one PMIx job when
// all of its pods have arrived.
#ifndef CANOPY_SERVER_KUBERNETES_GANGS_GANGS_H_
#define CANOPY_SERVER_KUBERNETES_GANGS_GANGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/kubernetes/api/job.h"
#include "server/kubernetes/api/pod.h"
#include "server/kubernetes/gangs/arrival.h"
#include "server/ports/job_commands_port.h"

namespace canopy::kubernetes {

// Serves the agent that launches new jobs; the arrivals of all nodes reach it.
// Loop thread only.
//
// The API server may be away for as long as a gang may wait.
//
// A gang begins with its first pod and ends when it is launched, when it is out
// of time, or when its last pod has left. It is launched when there is a pod
// for each completion index. A pod that replaces one of a running job waits
// like any other: its gang cannot become complete before the job is over.
class Gangs {
 public:
  // The answers of the API server. Callbacks run later, on the loop's thread,
  // or not at all once the gangs are destroyed.
  struct Api {
    std::function<void(const std::string& nspace, const std::string& name,
                       std::function<void(Result<Job>)> done)>
        find_job;
    // All pods of the Job.
    std::function<void(const std::string& nspace, const std::string& name,
                       std::function<void(Result<std::vector<Pod>>)> done)>
        list_pods;
  };
  struct Parts {
    EventLoop* loop = nullptr;
    JobCommandsPort* commands = nullptr;
    Api api;
    // Returns the user as whom the jobs of a Kubernetes namespace run.
    std::function<HostOwner(const std::string& nspace)> owner;
    // The time in milliseconds for which a gang waits for its pods.
    int64_t deadline_ms = 300000;
    std::function<void(const std::string& line)> log;
  };
  // Limits for the arrivals that wait, in total and of one Job.
  static constexpr size_t kMaxArrivals = 1 << 20;
  static constexpr uint32_t kMaxPods = 1 << 17;

  explicit Gangs(Parts parts);
  ~Gangs();
  Gangs(const Gangs&) = delete;
  Gangs& operator=(const Gangs&) = delete;

  // Adds a pod. `done` is called later, or within the call if the pod is
  // refused at once. Returns a number for Leave.
  uint64_t Arrive(Arrival arrival, Joined done);
  // Sends all pods away, because another agent launches jobs now.
  void MoveAll();
  // Removes a pod that waits; `done` is not called. Has no effect on another.
  void Leave(uint64_t id);

  size_t num_gangs() const { return gangs_.size(); }

 private:
  struct Member {
    uint64_t id = 0;
    Arrival arrival;
    Joined done;
  };
  struct Gang {
    std::map<uint32_t, Member> members;  // by completion index
    uint32_t completions = 0;            // 0: the API server has not answered
    bool launches = false;
    EventLoop::TimerId deadline = 0;
    EventLoop::TimerId retry = 0;
  };

  Status MayJoin(const Gang& gang, const Arrival& arrival) const;
  Gang& FindOrBegin(const std::string& name, const Arrival& first);
  void FindJob(const std::string& name, const std::string& nspace,
               const std::string& job);
  void OnJob(const std::string& name, const Result<Job>& job);
  // Calls `again` with the gang's name after the pause, if the gang exists
  // then.
  void Retry(const std::string& name, int64_t pause_ns,
             void (Gangs::*again)(const std::string& name));
  void FindJobAgain(const std::string& name);
  void LaunchIfComplete(const std::string& name);
  void Launch(const std::string& name, Gang* gang);
  void OnLaunched(const std::string& name, const Result<std::string>& nspace);
  void OnDeadline(const std::string& name);
  void OnPods(const std::string& name, const Result<std::vector<Pod>>& pods);
  // Ends the gang and answers its members.
  void End(const std::string& name, const Status& status);
  void Release(Gang* gang);

  const Parts parts_;
  uint64_t next_ = 1;
  std::map<std::string, Gang> gangs_;      // by GangName
  std::map<uint64_t, std::string> by_id_;  // name of each member's gang
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GANGS_GANGS_H_
