#include "server/kubernetes/gangs/gangs.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace canopy::kubernetes {
namespace {

// Records launches; a launch is answered at once.
class FakeCommands : public JobCommandsPort {
 public:
  void LaunchHostJob(const HostLaunch& launch, Launched done) override {
    launches.push_back(launch);
    if (!failure.ok()) return done(failure);
    running = launch.id.request;
    done(Result<std::string>("canopy-1-1"));
  }
  std::string HostLaunched(const PlacementId& id) const override {
    return id.request == running ? "canopy-1-1" : "";
  }
  Status KillHostJob(const std::string&, const std::string&, bool) override {
    return {};
  }
  Status SignalHostJob(const std::string&, int) override { return {}; }
  Status SuspendHostJob(const std::string&, bool) override { return {}; }
  Status SetHostTimeLimit(const std::string&, uint32_t, uint32_t) override {
    return {};
  }
  Status RequeueHostJob(const std::string&, const std::string&) override {
    return {};
  }
  Status DrainNode(const std::string&, const std::string&) override {
    return {};
  }
  Status ResumeNode(const std::string&) override { return {}; }

  std::vector<HostLaunch> launches;
  Status failure;
  std::string running;  // the request of the job that runs
};

Arrival PodOf(uint32_t index) {
  Arrival arrival;
  arrival.nspace = "physics";
  arrival.job = "solver";
  arrival.job_uid = "u1";
  arrival.index = index;
  arrival.ranks = 8;
  arrival.pod = "solver-" + std::to_string(index);
  arrival.pod_uid = "pod-" + std::to_string(index);
  arrival.node = "node" + std::to_string(index);
  arrival.argv = {"./solver"};
  return arrival;
}

class GangsTest : public testing::Test {
 protected:
  GangsTest() {
    job_.nspace = "physics";
    job_.name = "solver";
    job_.uid = "u1";
    job_.completions = job_.parallelism = 3;
    job_.indexed = true;
  }

  Gangs& gangs() {
    if (!gangs_) gangs_.emplace(MakeParts());
    return *gangs_;
  }

  Gangs::Parts MakeParts() {
    Gangs::Parts parts;
    parts.loop = &loop_;
    parts.commands = &commands_;
    parts.api.find_job = [this](const auto&, const auto&, auto done) {
      ++job_requests_;
      found_ = std::move(done);
    };
    parts.api.list_pods = [this](const auto&, const auto&, auto done) {
      ++list_requests_;
      done(pods_);
    };
    parts.owner = [](const std::string& nspace) {
      return HostOwner{77, nspace};
    };
    parts.deadline_ms = deadline_ms_;
    parts.log = [](const std::string&) {};
    return parts;
  }

  uint64_t Arrive(Arrival arrival) {
    const std::string pod = arrival.pod;
    return gangs().Arrive(
        std::move(arrival),
        [this, pod](const Status& status) { answers_[pod] = status; });
  }

  // Lets the API server answer the request for the Job.
  void AnswerJob() { std::exchange(found_, nullptr)(job_); }

  bool IsWaiting(uint32_t index) const {
    return !answers_.contains("solver-" + std::to_string(index));
  }

  Status AnswerOf(uint32_t index) const {
    return answers_.at("solver-" + std::to_string(index));
  }

  void RunUntilAnswered(uint32_t index) {
    const int64_t end = EventLoop::Now() + int64_t{20} * 1000000000;
    while (IsWaiting(index) && EventLoop::Now() < end) loop_.RunOnce(50);
  }

  EventLoop loop_;
  FakeCommands commands_;
  Job job_;
  std::vector<Pod> pods_;
  int64_t deadline_ms_ = 60000;
  int job_requests_ = 0;
  int list_requests_ = 0;
  std::function<void(Result<Job>)> found_;
  std::map<std::string, Status> answers_;
  std::optional<Gangs> gangs_;
};

TEST_F(GangsTest, AJobIsLaunchedWhenItsLastPodArrives) {
  Arrive(PodOf(2));
  AnswerJob();
  Arrive(PodOf(0));
  EXPECT_TRUE(commands_.launches.empty());
  EXPECT_TRUE(IsWaiting(0));
  Arrive(PodOf(1));
  ASSERT_EQ(commands_.launches.size(), 1u);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(AnswerOf(i).ok());
  EXPECT_EQ(gangs().num_gangs(), 0u);
}

TEST_F(GangsTest, TheOrderOfTheIndexesIsThatOfTheRanks) {
  for (const uint32_t index : {1u, 2u, 0u}) Arrive(PodOf(index));
  AnswerJob();
  ASSERT_EQ(commands_.launches.size(), 1u);
  const HostLaunch& launch = commands_.launches[0];
  ASSERT_EQ(launch.grant.nodes.size(), 3u);
  EXPECT_EQ(launch.grant.nodes[0].name, "node0");
  EXPECT_EQ(launch.grant.nodes[2].name, "node2");
  EXPECT_EQ(launch.grant.nodes[1].slots, 8u);
  ASSERT_EQ(launch.job.apps.size(), 1u);
  EXPECT_EQ(launch.job.apps[0].num_procs, 24u);
  EXPECT_EQ(launch.job.name, "physics/solver");
  ASSERT_TRUE(launch.owner.has_value());
  EXPECT_EQ(launch.owner->name, "physics");
}

TEST_F(GangsTest, AJobCostsOneRequestOfTheApiServer) {
  for (uint32_t i = 0; i < 3; ++i) Arrive(PodOf(i));
  AnswerJob();
  EXPECT_EQ(job_requests_, 1);
  EXPECT_EQ(list_requests_, 0);
}

TEST_F(GangsTest, TheDeadlineNamesThePodsThatAreMissing) {
  deadline_ms_ = 50;
  Pod pending;
  pending.name = "solver-2";
  pending.phase = "Pending";
  pending.scheduling = {"Unschedulable", "0/2 nodes are available"};
  pending.labels["batch.kubernetes.io/job-completion-index"] = "2";
  pods_.push_back(pending);
  Arrive(PodOf(0));
  AnswerJob();
  RunUntilAnswered(0);
  EXPECT_EQ(AnswerOf(0).code(), kErrTimeout);
  EXPECT_NE(AnswerOf(0).message().find("2 of 3 pods missing: index 1: no pod; "
                                       "solver-2: Pending (Unschedulable"),
            std::string::npos)
      << AnswerOf(0).message();
}

TEST_F(GangsTest, AJobThatCannotRunAtOnceIsRefused) {
  job_.parallelism = 2;
  Arrive(PodOf(0));
  AnswerJob();
  EXPECT_EQ(AnswerOf(0).code(), kErrBadParam);
}

TEST_F(GangsTest, AJobWithoutIndexesIsRefused) {
  job_.indexed = false;
  Arrive(PodOf(0));
  AnswerJob();
  EXPECT_EQ(AnswerOf(0).code(), kErrBadParam);
}

TEST_F(GangsTest, APodOfAJobThatWasReplacedIsRefused) {
  job_.uid = "u2";
  Arrive(PodOf(0));
  AnswerJob();
  EXPECT_EQ(AnswerOf(0).code(), kErrNotFound);
}

TEST_F(GangsTest, AJobThatTheApiServerRefusesToShowIsTheAnswer) {
  Arrive(PodOf(0));
  std::exchange(found_, nullptr)(Status(kErrNoPermissions, "forbidden"));
  EXPECT_EQ(AnswerOf(0).code(), kErrNoPermissions);
}

TEST_F(GangsTest, TheApiServerMayBeAwayForAWhile) {
  for (uint32_t i = 0; i < 3; ++i) Arrive(PodOf(i));
  std::exchange(found_, nullptr)(Status(kErrUnreach, "no route"));
  EXPECT_TRUE(IsWaiting(0));
  const int64_t end = EventLoop::Now() + int64_t{20} * 1000000000;
  while (!found_ && EventLoop::Now() < end) loop_.RunOnce(50);
  ASSERT_TRUE(found_);
  AnswerJob();
  EXPECT_EQ(commands_.launches.size(), 1u);
}

TEST_F(GangsTest, AllPodsAreSentToAnotherLeader) {
  Arrive(PodOf(0));
  Arrive(PodOf(1));
  gangs().MoveAll();
  EXPECT_EQ(AnswerOf(0).code(), kErrUnreach);
  EXPECT_EQ(AnswerOf(1).code(), kErrUnreach);
  EXPECT_EQ(gangs().num_gangs(), 0u);
}

TEST_F(GangsTest, TwoPodsOfAJobOnOneNodeAreRefused) {
  Arrive(PodOf(0));
  Arrival second = PodOf(1);
  second.node = "node0";
  Arrive(second);
  EXPECT_EQ(AnswerOf(1).code(), kErrNotSupported);
  EXPECT_TRUE(IsWaiting(0));
}

TEST_F(GangsTest, AnotherPodWithTheSameIndexIsRefused) {
  Arrive(PodOf(0));
  Arrival other = PodOf(0);
  other.pod = "solver-other";
  other.pod_uid = "pod-other";
  other.node = "node9";
  Arrive(other);
  EXPECT_EQ(answers_.at("solver-other").code(), kErrExists);
}

TEST_F(GangsTest, APodThatArrivesAgainTakesItsOwnPlace) {
  Arrive(PodOf(0));
  Arrive(PodOf(0));
  Arrive(PodOf(1));
  Arrive(PodOf(2));
  AnswerJob();
  EXPECT_EQ(commands_.launches.size(), 1u);
  EXPECT_TRUE(AnswerOf(0).ok());
}

TEST_F(GangsTest, PodsWithDifferentNumbersOfRanksAreRefused) {
  Arrive(PodOf(0));
  Arrival other = PodOf(1);
  other.ranks = 4;
  Arrive(other);
  EXPECT_EQ(AnswerOf(1).code(), kErrBadParam);
}

TEST_F(GangsTest, APodThatLeavesIsMissing) {
  const uint64_t left = Arrive(PodOf(0));
  AnswerJob();
  Arrive(PodOf(1));
  gangs().Leave(left);
  Arrive(PodOf(2));
  EXPECT_TRUE(commands_.launches.empty());
  Arrive(PodOf(0));
  EXPECT_EQ(commands_.launches.size(), 1u);
}

TEST_F(GangsTest, TheGangEndsWithItsLastPod) {
  const uint64_t only = Arrive(PodOf(0));
  gangs().Leave(only);
  EXPECT_EQ(gangs().num_gangs(), 0u);
  // The late answer has no effect.
  AnswerJob();
}

TEST_F(GangsTest, NewPodsWaitUntilTheFormerJobIsOver) {
  commands_.running = GangName("physics", "solver", "u1");
  for (uint32_t i = 0; i < 3; ++i) Arrive(PodOf(i));
  AnswerJob();
  EXPECT_TRUE(commands_.launches.empty());
  commands_.running.clear();
  RunUntilAnswered(0);
  EXPECT_EQ(commands_.launches.size(), 1u);
  EXPECT_TRUE(AnswerOf(2).ok());
}

TEST_F(GangsTest, AFailedLaunchIsTheAnswerToAllPods) {
  commands_.failure = Status(kErrJobAllocFailed, "node1 is down");
  for (uint32_t i = 0; i < 3; ++i) Arrive(PodOf(i));
  AnswerJob();
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(AnswerOf(i).code(), kErrJobAllocFailed);
  }
  EXPECT_EQ(gangs().num_gangs(), 0u);
}

TEST_F(GangsTest, JobsOfTwoNamespacesAreDifferentGangs) {
  Arrive(PodOf(0));
  Arrival other = PodOf(1);
  other.nspace = "biology";
  Arrive(other);
  EXPECT_EQ(gangs().num_gangs(), 2u);
}

}  // namespace
}  // namespace canopy::kubernetes
