#include "server/kubernetes/gangs/gangs.h"

#include <set>
#include <utility>

#include "server/kubernetes/gangs/gang_launch.h"
#include "server/kubernetes/gangs/missing_pods.h"

namespace canopy::kubernetes {
namespace {

constexpr int64_t kMillisecond = 1000000;
// The pause after which a complete gang looks again whether the former job of
// its Job is over.
constexpr int64_t kRetryNs = 500 * kMillisecond;

// The pause before the API server is asked again for a Job.
constexpr int64_t kFindAgainNs = 2000 * kMillisecond;

// Returns true if another attempt would have the same answer.
bool IsFinal(int code) {
  return code == kErrNotFound || code == kErrNoPermissions ||
         code == kErrBadParam || code == kErrUnpackFailure;
}

Status CheckJob(const Job& job) {
  const std::string name = "Job " + job.nspace + "/" + job.name;
  if (!job.indexed) {
    return {
        kErrBadParam,
        name + " has no completionMode: Indexed, so its pods have no ranks"};
  }
  if (job.completions == 0 || job.completions > Gangs::kMaxPods) {
    return {kErrBadParam, name + " has " + std::to_string(job.completions) +
                              " completions; 1 to " +
                              std::to_string(Gangs::kMaxPods) +
                              " are possible"};
  }
  if (job.parallelism < job.completions) {
    return {kErrBadParam, name + " has parallelism " +
                              std::to_string(job.parallelism) + ", but its " +
                              std::to_string(job.completions) +
                              " pods have to run at the same time"};
  }
  return {};
}

}  // namespace

Gangs::Gangs(Parts parts) : parts_(std::move(parts)) {}

Gangs::~Gangs() {
  *alive_ = false;
  for (auto& [name, gang] : gangs_) Release(&gang);
}

uint64_t Gangs::Arrive(Arrival arrival, Joined done) {
  parts_.loop->AssertOnThread();
  const uint64_t id = next_++;
  const std::string name =
      GangName(arrival.nspace, arrival.job, arrival.job_uid);
  Gang& gang = FindOrBegin(name, arrival);
  if (Status may = MayJoin(gang, arrival); !may.ok()) {
    if (gang.members.empty()) {
      Release(&gang);
      gangs_.erase(name);
    }
    done(may);
    return id;
  }
  const uint32_t index = arrival.index;
  const auto former = gang.members.find(index);
  if (former != gang.members.end()) by_id_.erase(former->second.id);
  gang.members[index] = {id, std::move(arrival), std::move(done)};
  by_id_[id] = name;
  LaunchIfComplete(name);
  return id;
}

Gangs::Gang& Gangs::FindOrBegin(const std::string& name, const Arrival& first) {
  const auto [it, is_new] = gangs_.try_emplace(name);
  Gang& gang = it->second;
  if (!is_new) return gang;
  gang.deadline = parts_.loop->AddTimer(parts_.deadline_ms * kMillisecond,
                                        [this, name, alive = alive_] {
                                          if (*alive) OnDeadline(name);
                                        });
  FindJob(name, first.nspace, first.job);
  return gang;
}

// A pod whose agent was restarted arrives again, and takes its own place.
Status Gangs::MayJoin(const Gang& gang, const Arrival& arrival) const {
  if (by_id_.size() >= kMaxArrivals) {
    return {kErrOutOfResource, "too many pods wait for their jobs"};
  }
  if (gang.launches) {
    return {kErrResourceBusy, "the job is being launched with another pod"};
  }
  for (const auto& [index, member] : gang.members) {
    const Arrival& other = member.arrival;
    if (other.pod_uid == arrival.pod_uid) continue;
    if (index == arrival.index) {
      return {kErrExists,
              "pod " + other.pod + " has the same completion index"};
    }
    if (other.ranks != arrival.ranks) {
      return {kErrBadParam,
              "pod " + other.pod + " has " + std::to_string(other.ranks) +
                  " ranks, and this pod " + std::to_string(arrival.ranks) +
                  "; all pods of a Job need the same number"};
    }
    if (other.node == arrival.node) {
      return {kErrNotSupported,
              "pod " + other.pod +
                  " of the same Job is on the same node; each "
                  "pod of a Job needs a node of its own"};
    }
  }
  return {};
}

void Gangs::MoveAll() {
  while (!gangs_.empty()) {
    End(std::string(gangs_.begin()->first),
        {kErrUnreach, "another agent launches jobs now"});
  }
}

void Gangs::Leave(uint64_t id) {
  const auto name = by_id_.find(id);
  if (name == by_id_.end()) return;
  const auto gang = gangs_.find(name->second);
  std::erase_if(gang->second.members,
                [id](const auto& entry) { return entry.second.id == id; });
  by_id_.erase(name);
  if (!gang->second.members.empty() || gang->second.launches) return;
  Release(&gang->second);
  gangs_.erase(gang);
}

void Gangs::FindJob(const std::string& name, const std::string& nspace,
                    const std::string& job) {
  parts_.api.find_job(nspace, job,
                      [this, name, alive = alive_](const Result<Job>& found) {
                        if (*alive) OnJob(name, found);
                      });
}

void Gangs::OnJob(const std::string& name, const Result<Job>& job) {
  const auto gang = gangs_.find(name);
  if (gang == gangs_.end() || gang->second.completions != 0) return;
  if (!job.ok() && !IsFinal(job.code())) {
    parts_.log("Job " + name + " is not known yet: " + job.status().message());
    return Retry(name, kFindAgainNs, &Gangs::FindJobAgain);
  }
  const Status status = job.ok() ? CheckJob(*job) : job.status();
  if (!status.ok()) return End(name, status);
  if (!name.ends_with("/" + job->uid)) {
    return End(name, {kErrNotFound, "the pod's Job was replaced by another"});
  }
  gang->second.completions = job->completions;
  LaunchIfComplete(name);
}

void Gangs::Retry(const std::string& name, int64_t pause_ns,
                  void (Gangs::*again)(const std::string& name)) {
  gangs_.at(name).retry =
      parts_.loop->AddTimer(pause_ns, [this, name, again, alive = alive_] {
        if (!*alive) return;
        const auto gang = gangs_.find(name);
        if (gang == gangs_.end()) return;
        gang->second.retry = 0;
        (this->*again)(name);
      });
}

void Gangs::FindJobAgain(const std::string& name) {
  const Gang& gang = gangs_.at(name);
  if (gang.members.empty()) return;
  const Arrival& pod = gang.members.begin()->second.arrival;
  FindJob(name, pod.nspace, pod.job);
}

void Gangs::LaunchIfComplete(const std::string& name) {
  const auto it = gangs_.find(name);
  if (it == gangs_.end()) return;
  Gang& gang = it->second;
  if (gang.completions == 0 || gang.launches || gang.retry != 0 ||
      gang.members.size() < gang.completions) {
    return;
  }
  if (parts_.commands->HostLaunched({name}).empty()) return Launch(name, &gang);
  Retry(name, kRetryNs, &Gangs::LaunchIfComplete);
}

void Gangs::Launch(const std::string& name, Gang* gang) {
  gang->launches = true;
  std::vector<const Arrival*> pods;
  for (const auto& [index, member] : gang->members) {
    pods.push_back(&member.arrival);
  }
  HostLaunch launch = LaunchOf(name, pods);
  launch.owner = parts_.owner(pods.front()->nspace);
  parts_.commands->LaunchHostJob(
      launch, [this, name, alive = alive_](const Result<std::string>& nspace) {
        if (*alive) OnLaunched(name, nspace);
      });
}

void Gangs::OnLaunched(const std::string& name,
                       const Result<std::string>& nspace) {
  if (nspace.ok()) parts_.log("Job " + name + " is job " + *nspace);
  End(name, nspace.status());
}

// The pods are read only when something is wrong, so that a job costs one
// request of the API server.
void Gangs::OnDeadline(const std::string& name) {
  const auto gang = gangs_.find(name);
  if (gang == gangs_.end()) return;
  gang->second.deadline = 0;
  if (gang->second.launches || gang->second.members.empty()) return;
  const Arrival& pod = gang->second.members.begin()->second.arrival;
  parts_.api.list_pods(
      pod.nspace, pod.job,
      [this, name, alive = alive_](const Result<std::vector<Pod>>& pods) {
        if (*alive) OnPods(name, pods);
      });
}

void Gangs::OnPods(const std::string& name,
                   const Result<std::vector<Pod>>& pods) {
  const auto it = gangs_.find(name);
  if (it == gangs_.end() || it->second.launches) return;
  const Gang& gang = it->second;
  std::set<uint32_t> present;
  for (const auto& [index, member] : gang.members) present.insert(index);
  const std::string seconds = std::to_string(parts_.deadline_ms / 1000);
  const std::string text =
      pods.ok() ? MissingPodsText(gang.completions, present, *pods)
                : "the API server does not report which pods are missing: " +
                      pods.status().message();
  End(name, {kErrTimeout, text + " (waited " + seconds + " s)"});
}

void Gangs::End(const std::string& name, const Status& status) {
  auto node = gangs_.extract(name);
  if (node.empty()) return;
  Gang& gang = node.mapped();
  Release(&gang);
  if (!status.ok()) parts_.log("Job " + name + ": " + status.message());
  for (const auto& [index, member] : gang.members) by_id_.erase(member.id);
  for (const auto& [index, member] : gang.members) member.done(status);
}

void Gangs::Release(Gang* gang) {
  for (EventLoop::TimerId* timer : {&gang->deadline, &gang->retry}) {
    if (*timer != 0) parts_.loop->CancelTimer(std::exchange(*timer, 0));
  }
}

}  // namespace canopy::kubernetes
