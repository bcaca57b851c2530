#include "server/scheduler/job_placement.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "server/scheduler/fake_service_client.h"

namespace canopy::scheduler {
namespace {

const CallEnd kGone{14, "connection refused"};
const CallEnd kUnimplemented{12, "unknown method"};

class Heard : public PlacementListener, public JobListener {
 public:
  void OnQueued(const PlacementId&, const PlacementQueued& it) override {
    queued.push_back(it);
  }
  void OnGranted(const PlacementId& id, const PlacementGrant& grant) override {
    granted.push_back(id);
    grants.push_back(grant);
  }
  void OnRefused(const PlacementId&, const Status& why) override {
    refused.push_back(why);
  }
  void OnJob(const v1::JobReport& report) override { jobs.push_back(report); }
  void OnRecord(const v1::JobRecord& record) override {
    records.push_back(record);
  }
  void OnReleasing(const v1::JobReleasedRequest& release) override {
    EXPECT_TRUE(records.empty()) << "the record is told first";
    releasing.push_back(release.placement().request_id());
  }
  void OnReleased(const v1::JobReleasedRequest& release) override {
    released.push_back(release.placement().request_id());
  }

  std::vector<PlacementQueued> queued;
  std::vector<PlacementId> granted;
  std::vector<PlacementGrant> grants;
  std::vector<Status> refused;
  std::vector<v1::JobReport> jobs;
  std::vector<v1::JobRecord> records;
  std::vector<std::string> releasing;
  std::vector<std::string> released;
};

v1::PlaceJobResponse Grant(const std::vector<std::string>& nodes,
                           uint32_t slots = 1) {
  v1::PlaceJobResponse update;
  update.mutable_granted()->set_host_job_id("7");
  for (const std::string& name : nodes) {
    v1::GrantedNode* const node = update.mutable_granted()->add_nodes();
    node->set_name(name);
    node->set_slots(slots);
  }
  return update;
}

v1::Overlay Here() {
  v1::Overlay overlay;
  overlay.set_agent("here");
  return overlay;
}

PlacementRequest Request(uint32_t attempt = 1) {
  PlacementRequest request;
  request.id = {"job", attempt};
  request.job.apps.push_back({"", {"program", "a\xff"}, {}, "", 2});
  request.num_slots = 2;
  return request;
}

class JobPlacementTest : public testing::Test {
 protected:
  JobPlacementTest() { Make(false); }

  void Make(bool fallback) {
    placement_.reset();
    link_ = std::make_unique<Link>(
        &loop_, &client_, Here(), "there",
        [this](const core::LogLine& line) { lines_.push_back(line.text); });
    JobPlacement::Options options;
    options.loop = &loop_;
    options.link = link_.get();
    options.listener = &heard_;
    options.fallback = fallback;
    options.wall_clock_ms = [] { return int64_t{1000}; };
    placement_ = std::make_unique<JobPlacement>(std::move(options));
    placement_->set_listener(&heard_);
    link_->Start();
  }
  void Up() { client_.Up({v1::FEATURE_PLACE_JOB}); }
  // Simulates that the connection is lost, and with it this call.
  void Lose(const std::function<void(const CallEnd&)>& on_end) {
    client_.is_connected = false;
    on_end(kGone);
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 300 && !done(); ++i) loop_.RunOnce(10);
  }
  // Runs the loop until the link has requested the capabilities again.
  void Reconnect() {
    const size_t before = client_.capabilities.size();
    for (int i = 0; i < 300 && client_.capabilities.size() == before; ++i) {
      loop_.RunOnce(10);
    }
    Up();
  }

  EventLoop loop_;
  FakeServiceClient client_;
  std::vector<std::string> lines_;
  Heard heard_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<JobPlacement> placement_;
};

TEST_F(JobPlacementTest, AJobIsRequestedOnceTheSchedulerIsReachable) {
  placement_->Place(Request());
  EXPECT_TRUE(client_.places.empty());
  EXPECT_EQ(heard_.queued.at(0).reason,
            "the scheduler at there has not answered yet");
  Up();
  ASSERT_EQ(client_.places.size(), 1u);
  const v1::PlaceJobRequest& asked = client_.places[0].request;
  EXPECT_EQ(asked.placement().request_id(), "job");
  EXPECT_EQ(asked.placement().attempt(), 1u);
  EXPECT_EQ(asked.applications(0).argv(1), "a\xff");
  EXPECT_FALSE(asked.again());
  client_.places[0].on_update(Grant({"node2", "node1"}, 3));
  ASSERT_EQ(heard_.grants.size(), 1u);
  EXPECT_EQ(heard_.grants[0].host_job, "7");
  EXPECT_EQ(heard_.grants[0].nodes.at(0).name, "node2");
  EXPECT_EQ(heard_.grants[0].nodes.at(0).slots, 3u);
}

TEST_F(JobPlacementTest, AWaitingJobIsRequestedAgainWithTheSameName) {
  Up();
  placement_->Place(Request());
  Lose(client_.places[0].on_end);
  EXPECT_NE(heard_.queued.back().reason.find("connection refused"),
            std::string::npos);
  EXPECT_TRUE(heard_.refused.empty());
  Reconnect();
  ASSERT_EQ(client_.places.size(), 2u);
  EXPECT_EQ(client_.places[1].request.placement().request_id(), "job");
  EXPECT_EQ(client_.places[1].request.placement().attempt(), 1u);
  EXPECT_TRUE(client_.places[1].request.again());
  client_.places[0].on_update(Grant({"node1"}));
  EXPECT_TRUE(heard_.granted.empty()) << "of a call that is over";
  client_.places[1].on_update(Grant({"node1"}));
  EXPECT_EQ(heard_.granted.size(), 1u);
}

TEST_F(JobPlacementTest, ACallThatEndsWithoutADecisionIsRepeated) {
  Up();
  placement_->Place(Request());
  client_.places[0].on_end({});
  RunUntil([&] { return client_.places.size() == 2; });
  EXPECT_EQ(client_.places.size(), 2u);
}

TEST_F(JobPlacementTest, DecisionsAfterTheFirstAreDropped) {
  Up();
  placement_->Place(Request());
  client_.places[0].on_update(Grant({"node1"}));
  client_.places[0].on_update(Grant({"node1"}));
  client_.places[0].on_end({9, "refused"});
  EXPECT_EQ(heard_.granted.size(), 1u);
  EXPECT_TRUE(heard_.refused.empty());
  EXPECT_NE(lines_.back().find("late or twice"), std::string::npos);
}

TEST_F(JobPlacementTest, AMalformedGrantIsRefusedAndReleased) {
  Up();
  const v1::PlaceJobResponse bad[] = {
      Grant({}), Grant({"node1", "node1"}), Grant({"node1"}, 0), [] {
        v1::PlaceJobResponse update = Grant({"node1"});
        update.mutable_granted()->add_env("no variable");
        return update;
      }()};
  for (const v1::PlaceJobResponse& update : bad) {
    placement_->Place(Request());
    client_.places.back().on_update(update);
    EXPECT_EQ(heard_.refused.back().code(), kErrJobAllocFailed);
    client_.released.back().done({}, {});
  }
  EXPECT_EQ(client_.released.size(), 4u);
  EXPECT_TRUE(heard_.granted.empty());
}

TEST_F(JobPlacementTest, ARefusalIsReportedWithItsReason) {
  Up();
  placement_->Place(Request());
  client_.places[0].on_end({8, "too much\n", kErrJobInsufficientResources});
  EXPECT_EQ(heard_.refused.at(0).code(), kErrJobInsufficientResources);
  EXPECT_EQ(heard_.refused.at(0).message().find('\n'), std::string::npos);
  placement_->Place(Request());
  client_.places[1].on_end({9, ""});
  EXPECT_EQ(heard_.refused.at(1).code(), kErrJobAllocFailed);
  EXPECT_EQ(heard_.refused.at(1).message(),
            "the scheduler has refused the job");
  placement_->Place(Request());
  client_.places[2].on_end({7, "not you"});
  EXPECT_EQ(heard_.refused.at(2).code(), kErrNoPermissions);
}

// The call is not repeated at once, because a scheduler that fails all calls
// would keep the agent busy.
TEST_F(JobPlacementTest, AFailureOfTheSchedulerKeepsThePlaceInTheQueue) {
  Up();
  placement_->Place(Request());
  size_t calls = 1;
  for (const int code : {2, 4, 8, 13, 14}) {
    client_.places.back().on_end({code, "database is locked"});
    EXPECT_EQ(client_.places.size(), calls) << "at once";
    v1::PlaceJobResponse queued;
    RunUntil([&] { return client_.places.size() > calls; });
    ASSERT_EQ(client_.places.size(), ++calls) << code;
    EXPECT_TRUE(client_.places.back().request.again());
    queued.mutable_queued()->set_reason("waits");
    client_.places.back().on_update(queued);  // the next pause is short again
  }
  EXPECT_TRUE(heard_.refused.empty());
  EXPECT_EQ(client_.capabilities.size(), 1u) << "the connection is there";
  client_.places.back().on_update(Grant({"node1"}));
  EXPECT_EQ(heard_.granted.size(), 1u);
}

TEST_F(JobPlacementTest, ADelayIsReportedAfterAnErrorAndNotAfterADeadline) {
  Up();
  placement_->Place(Request());
  client_.places[0].on_end({4, "Deadline Exceeded"});
  EXPECT_TRUE(heard_.queued.empty());
  RunUntil([&] { return client_.places.size() == 2; });
  client_.places.at(1).on_end({13, "database is locked"});
  EXPECT_NE(heard_.queued.back().reason.find("database is locked"),
            std::string::npos);
}

TEST_F(JobPlacementTest, ARequestIsNotRepeatedBeforeTheRequestedPauseEnds) {
  Up();
  placement_->Place(Request());
  client_.places[0].on_end(
      {8, "busy", std::nullopt, int64_t{3600} * 1'000'000'000});
  const int64_t until = EventLoop::Now() + 300'000'000;
  while (EventLoop::Now() < until) loop_.RunOnce(10);
  EXPECT_EQ(client_.places.size(), 1u);
  placement_->Cancel({"job", 1});
  EXPECT_EQ(client_.released.size(), 1u);
}

TEST_F(JobPlacementTest, ACookieIsReturnedToTheScheduler) {
  Up();
  placement_->Place(Request());
  v1::PlaceJobResponse update;
  update.mutable_queued()->set_cookie("mine");
  client_.places[0].on_update(update);
  update.mutable_queued()->set_cookie(std::string(4097, 'x'));
  client_.places[0].on_update(update);
  EXPECT_NE(lines_.back().find("4096"), std::string::npos);
  Lose(client_.places[0].on_end);
  Reconnect();
  EXPECT_EQ(client_.places.at(1).request.cookie(), "mine");
}

TEST_F(JobPlacementTest, ARequestDetectsALostConnectionBeforeItIsSent) {
  client_.Up({});
  client_.is_connected = false;
  placement_->Place(Request());
  EXPECT_TRUE(heard_.refused.empty()) << "by what an older one said";
  EXPECT_FALSE(heard_.queued.empty());
  ASSERT_EQ(client_.capabilities.size(), 2u);
  Up();
  EXPECT_EQ(client_.places.size(), 1u);
}

TEST_F(JobPlacementTest, ARequestContainsTheResourcesThatTheJobNeeds) {
  Up();
  PlacementRequest request = Request();
  request.job.places.map_by = "slot:pe=2:nolocal";
  request.job.places.hosts.resize(2);
  request.job.places.hosts[0].name = "node1";
  request.job.places.hosts[1].name = "node2";
  request.job.places.hosts[1].slots = 3;
  request.job.places.hosts[1].slots_given = true;
  placement_->Place(request);
  const v1::PlaceJobRequest& pe = client_.places.back().request;
  EXPECT_EQ(pe.num_slots(), 4u);
  EXPECT_EQ(pe.applications(0).num_procs(), 2u);
  EXPECT_EQ(pe.applications(0).slots_per_process(), 2u);
  EXPECT_EQ(pe.applications(0).cpus_per_process(), 2u);
  EXPECT_EQ(pe.mapping().policy(), v1::MAP_POLICY_SLOT);
  EXPECT_EQ(pe.refused_nodes(0), "here");
  EXPECT_FALSE(pe.hosts(0).has_slots());
  EXPECT_EQ(pe.hosts(1).slots(), 3u);
  request = Request(2);
  request.job.places.map_by = "ppr:1:node";
  request.num_slots = 0;
  request.job.apps[0].num_procs = 0;
  placement_->Place(request);
  const v1::PlaceJobRequest& ppr = client_.places.back().request;
  EXPECT_FALSE(ppr.has_num_slots());
  EXPECT_FALSE(ppr.applications(0).has_num_procs());
  EXPECT_EQ(ppr.applications(0).max_procs_per_node(), 1u);
  EXPECT_EQ(ppr.refused_nodes_size(), 0);
}

TEST_F(JobPlacementTest, LongCommandsAreTruncated) {
  Up();
  PlacementRequest request = Request();
  JobApp& large = request.job.apps.emplace_back();
  large.argv = {std::string(65'530, 'x'), "more"};
  large.num_procs = 1;
  placement_->Place(request);
  const v1::PlaceJobRequest& asked = client_.places.back().request;
  EXPECT_EQ(asked.applications(0).argv_size(), 2);
  EXPECT_FALSE(asked.applications(0).argv_cut());
  EXPECT_EQ(asked.applications(1).argv_size(), 0);
  EXPECT_TRUE(asked.applications(1).argv_cut());
}

TEST_F(JobPlacementTest, AGrantBeyondTheLimitsIsRejected) {
  Up();
  v1::PlaceJobResponse many = Grant({"node1"});
  for (int i = 0; i < 4097; ++i) many.mutable_granted()->add_env("A=b");
  v1::PlaceJobResponse large = Grant({"node1"});
  large.mutable_granted()->add_env("A=" + std::string(1 << 20, 'x'));
  v1::PlaceJobResponse name = Grant({"node1"});
  name.mutable_granted()->set_host_job_id("\x1b[31m");
  for (const v1::PlaceJobResponse& update :
       {many, large, name, Grant({"node1"}, 4097)}) {
    placement_->Place(Request());
    client_.places.back().on_update(update);
    EXPECT_EQ(heard_.refused.back().code(), kErrJobAllocFailed);
    client_.released.back().done({}, {});
  }
  EXPECT_NE(heard_.refused.back().message().find("4096"), std::string::npos);
  EXPECT_TRUE(heard_.granted.empty());
}

TEST_F(JobPlacementTest, ACancelledJobIsReleasedAtTheScheduler) {
  Up();
  placement_->Place(Request());
  placement_->Cancel({"job", 2});
  EXPECT_FALSE(client_.places[0].call->cancelled) << "another attempt";
  placement_->Cancel({"job", 1});
  EXPECT_TRUE(client_.places[0].call->cancelled);
  ASSERT_EQ(client_.released.size(), 1u);
  EXPECT_EQ(client_.released[0].request.placement().request_id(), "job");
  client_.places[0].on_update(Grant({"node1"}));
  EXPECT_TRUE(heard_.granted.empty());
}

TEST_F(JobPlacementTest,
       ASchedulerWithoutPlacementRefusesJobsOrGrantsThemNoNodes) {
  client_.Up({});
  placement_->Place(Request());
  EXPECT_EQ(heard_.refused.at(0).code(), kErrNotSupported);
  Make(true);
  client_.Up({});
  placement_->Place(Request());
  EXPECT_TRUE(heard_.grants.at(0).nodes.empty());
}

TEST_F(JobPlacementTest, ASchedulerMayLeaveOutTheReportsOfLaunches) {
  Up();
  PlacedJob job;
  job.id = {"job", 1};
  job.nspace = "job";
  const auto run = [&] {
    placement_->Launched(job, false);
    placement_->Released(job, {0, kSuccess, "", 0, true});
    heard_.records.clear();
  };
  run();
  const size_t lines = lines_.size();
  client_.launched.at(0).done(kUnimplemented, {});
  EXPECT_EQ(lines_.size(), lines) << "it is no error";
  client_.released.at(0).done({}, {});
  run();
  EXPECT_EQ(client_.launched.size(), 1u);
  Lose([&](const CallEnd& end) { client_.released.at(1).done(end, {}); });
  Reconnect();
  client_.released.at(2).done({}, {});
  run();
  EXPECT_EQ(client_.launched.size(), 2u) << "this may be another scheduler";
}

TEST_F(JobPlacementTest, ARefusedReportOfALaunchIsAnError) {
  Up();
  PlacedJob job;
  job.id = {"job", 1};
  job.nspace = "job";
  placement_->Launched(job, false);
  CallEnd refused = kUnimplemented;
  refused.pmix_status = kErrNotSupported;
  const size_t lines = lines_.size();
  client_.launched.at(0).done(refused, {});
  EXPECT_GT(lines_.size(), lines);
  placement_->Launched(job, false);
  EXPECT_EQ(client_.launched.size(), 2u);
}

TEST_F(JobPlacementTest, EventsOfAJobAreSentInOrderAndRepeated) {
  Up();
  PlacedJob job;
  job.id = {"job", 1};
  job.host_job = "7";
  job.nspace = "job";
  job.nodes = {{"node1", 2}};
  placement_->Launched(job, false);
  placement_->Changed("job", core::JobPhase::kRunning, 0);
  placement_->Released(job, {3, kErrJobNonZeroTerm, "it failed", 50, true});
  ASSERT_EQ(client_.launched.size(), 1u);
  EXPECT_EQ(client_.launched[0].request.nodes(0).procs(), 2u);
  EXPECT_TRUE(client_.released.empty()) << "the other is not answered yet";
  Lose([&](const CallEnd& end) { client_.launched[0].done(end, {}); });
  Reconnect();
  ASSERT_EQ(client_.launched.size(), 2u);
  client_.launched[1].done({}, {});
  ASSERT_EQ(client_.released.size(), 1u);
  EXPECT_EQ(client_.released[0].request.pmix_status(), kErrJobNonZeroTerm);
  EXPECT_EQ(heard_.releasing, std::vector<std::string>{"job"});
  EXPECT_TRUE(heard_.released.empty());
  Lose([&](const CallEnd& end) { client_.released[0].done(end, {}); });
  EXPECT_TRUE(heard_.released.empty());
  Reconnect();
  client_.released.at(1).done({}, {});
  EXPECT_EQ(heard_.released, std::vector<std::string>{"job"});
  EXPECT_EQ(heard_.jobs.size(), 2u);
  EXPECT_EQ(heard_.jobs[1].state(), v1::JOB_STATE_RUNNING);
  ASSERT_EQ(heard_.records.size(), 1u);
  EXPECT_EQ(heard_.records[0].exit_code(), 3);
  EXPECT_FALSE(heard_.records[0].has_cpu_time());
  EXPECT_FALSE(heard_.records[0].has_peak_memory_bytes());
  EXPECT_TRUE(placement_->Jobs().empty());
}

TEST_F(JobPlacementTest, ASuspendedJobIsReportedAsSuspended) {
  Up();
  PlacedJob job;
  job.id = {"job", 1};
  job.nspace = "job";
  placement_->Launched(job, false);
  placement_->Suspended("job", true);
  EXPECT_EQ(heard_.jobs.back().state(), v1::JOB_STATE_SUSPENDED);
  placement_->Changed("job", core::JobPhase::kRunning, 0);
  EXPECT_EQ(heard_.jobs.back().state(), v1::JOB_STATE_SUSPENDED);
  placement_->Suspended("job", false);
  EXPECT_EQ(placement_->Jobs().at(0).state(), v1::JOB_STATE_RUNNING);
  placement_->Suspended("job", true);
  placement_->Changed("job", core::JobPhase::kEnding, 0);
  EXPECT_EQ(heard_.jobs.back().state(), v1::JOB_STATE_ENDING);
}

TEST_F(JobPlacementTest, TheRecordContainsTheUsageOfTheJob) {
  Up();
  PlacedEnd end;
  end.used = {{2'500'999, 8192}, 3};
  placement_->Released(PlacedJob(), end);
  const v1::JobRecord& record = heard_.records.at(0);
  EXPECT_EQ(record.cpu_time().seconds(), 2);
  EXPECT_EQ(record.cpu_time().nanos(), 500'000'000);
  EXPECT_EQ(record.peak_memory_bytes(), 8192u);
  EXPECT_EQ(record.procs_measured(), 3u);
}

TEST_F(JobPlacementTest, AReleaseOfThePredecessorIsRepeated) {
  Up();
  v1::JobReleasedRequest release;
  release.mutable_placement()->set_request_id("job");
  release.mutable_placement()->set_attempt(2);
  release.set_host_job_id("7");
  release.set_nspace("spawned");
  PlacedJob job;
  job.id = {"job", 2};
  job.nspace = "job";
  placement_->Launched(job, /*recovered=*/true);
  placement_->ReleaseAgain(release);
  EXPECT_TRUE(client_.released.empty()) << "another job has it";
  EXPECT_EQ(heard_.released.size(), 1u) << "it is told when that ends";
  placement_->Released(job, {0, 0, "", 50, false});
  placement_->ReleaseAgain(release);
  ASSERT_EQ(client_.released.size(), 1u);
  EXPECT_EQ(client_.released[0].request.host_job_id(), "7");
  EXPECT_EQ(client_.released[0].request.placement().attempt(), 2u);
  client_.released[0].done({}, {});
  EXPECT_EQ(heard_.released.size(), 2u);
}

TEST_F(JobPlacementTest, AReleaseThatFailsIsRepeatedAndFinallyDropped) {
  Up();
  v1::JobReleasedRequest release;
  release.mutable_placement()->set_request_id("job");
  placement_->ReleaseAgain(release);
  client_.released.back().done({13, "exception"}, {});
  EXPECT_EQ(client_.released.size(), 1u) << "at once";
  EXPECT_TRUE(heard_.released.empty());
  RunUntil([&] { return client_.released.size() == 2; });
  client_.released.at(1).done({3, "nonsense"}, {});
  EXPECT_EQ(heard_.released.size(), 1u);
  EXPECT_NE(lines_.back().find("nonsense"), std::string::npos);
}

TEST_F(JobPlacementTest, AReleaseThatKeepsFailingDoesNotDelayOthers) {
  Up();
  for (const char* const name : {"fails", "other"}) {
    v1::JobReleasedRequest release;
    release.mutable_placement()->set_request_id(name);
    placement_->ReleaseAgain(release);
  }
  for (size_t i = 0; i < 10; ++i) {
    RunUntil([&] { return client_.released.size() == i + 1; });
    EXPECT_EQ(client_.released.at(i).request.placement().request_id(), "fails");
    CallEnd failure{13, "exception"};
    failure.retry_ns = 1;
    client_.released.at(i).done(failure, {});
  }
  RunUntil([&] { return client_.released.size() == 11; });
  EXPECT_EQ(client_.released.at(10).request.placement().request_id(), "other");
  client_.released.at(10).done({}, {});
  RunUntil([&] { return client_.released.size() == 12; });
  EXPECT_EQ(client_.released.at(11).request.placement().request_id(), "fails");
}

// If the release were sent after the new request, it would free the new grant.
TEST_F(JobPlacementTest, AJobIsRequestedAfterItsPendingRelease) {
  Up();
  v1::JobReleasedRequest release;
  release.mutable_placement()->set_request_id("job");
  release.mutable_placement()->set_attempt(1);
  placement_->ReleaseAgain(release);
  placement_->Place(Request());
  EXPECT_TRUE(client_.places.empty());
  placement_->Place(Request(2));
  EXPECT_EQ(client_.places.size(), 1u) << "another attempt";
  placement_->Place(Request());
  client_.released.at(0).done({}, {});
  ASSERT_EQ(client_.places.size(), 2u);
  EXPECT_EQ(client_.places[1].request.placement().attempt(), 1u);
}

// A successor need not release the placement. The successor's snapshot does not
// contain the placement, so the scheduler takes back a grant that was on its
// way.
TEST_F(JobPlacementTest, ACancellationIsNotStoredForASuccessor) {
  Up();
  placement_->Place(Request());
  placement_->Cancel({"job", 1});
  client_.released.at(0).done({}, {});
  EXPECT_TRUE(heard_.releasing.empty());
  EXPECT_TRUE(heard_.released.empty());
}

TEST_F(JobPlacementTest, TheEndOfAJobThatSharesItsGrantDoesNotReleaseTheGrant) {
  Up();
  PlacedJob job;
  job.id = {"job", 1};
  placement_->Released(job, {0, 0, "", 50, false});
  EXPECT_TRUE(client_.released.empty());
  EXPECT_EQ(heard_.records.size(), 1u);
}

}  // namespace
}  // namespace canopy::scheduler
