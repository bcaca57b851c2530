#include "server/scheduler/reports.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "server/scheduler/fake_report_store.h"
#include "server/scheduler/fake_service_client.h"

namespace canopy::scheduler {
namespace {

class Commands : public JobCommandsPort {
 public:
  Status KillHostJob(const std::string& job, const std::string& reason,
                     bool) override {
    said.push_back("kill " + job + " " + reason);
    return {};
  }
  Status SignalHostJob(const std::string& job, int signal) override {
    said.push_back("signal " + job + " " + std::to_string(signal));
    return {kErrNotFound, "no such job runs"};
  }
  Status SuspendHostJob(const std::string& job, bool suspended) override {
    said.push_back((suspended ? "suspend " : "resume ") + job);
    return {kErrNotFound, "no such job runs"};
  }
  Status SetHostTimeLimit(const std::string& job, uint32_t seconds,
                          uint32_t warn_seconds) override {
    said.push_back("limit " + job + " " + std::to_string(seconds) + " " +
                   std::to_string(warn_seconds));
    return {};
  }
  Status RequeueHostJob(const std::string& job,
                        const std::string& reason) override {
    said.push_back("requeue " + job + " " + reason);
    return {kErrUnreach, "its launcher is not there"};
  }
  void LaunchHostJob(const HostLaunch& launch, Launched done) override {
    said.push_back("launch " + launch.id.request + " " +
                   launch.job.apps.at(0).argv.at(0) + launch.output.output +
                   launch.output.error);
    if (keeps) return launching.push_back(std::move(done));
    done(std::string("canopy-1-1"));
  }
  std::string HostLaunched(const PlacementId& id) const override {
    return id.request == there ? "canopy-1-7" : "";
  }
  Status DrainNode(const std::string& name, const std::string&) override {
    said.push_back("drain " + name);
    return {};
  }
  Status ResumeNode(const std::string& name) override {
    said.push_back("resume " + name);
    return {};
  }
  std::vector<std::string> said;
  bool keeps = false;  // launches are not answered at once
  std::vector<Launched> launching;
  std::string there;  // the request of a running job
};

class ReportsTest : public testing::Test {
 protected:
  explicit ReportsTest(ReportStore* store = nullptr)
      : link_(&loop_, &client_, v1::Overlay(), "there",
              [](const core::LogLine&) {}) {
    Reports::Options options;
    options.loop = &loop_;
    options.link = &link_;
    options.commands = &commands_;
    options.incarnation = 5;
    options.store = store;
    options.settle_ms = 70;
    options.nodes = [] { return std::vector<v1::NodeReport>(2); };
    options.jobs = [this] { return jobs_; };
    options.release_again = [this](const v1::JobReleasedRequest& release) {
      released_.push_back(release.nspace());
    };
    options.wall_clock_ms = [] { return int64_t{1'000'000}; };
    reports_ = std::make_unique<Reports>(std::move(options));
    link_.Start();
  }

  void Attach() {
    reports_->SetRoot(true);
    client_.Up({v1::FEATURE_ATTACH});
  }
  FakeServiceClient::Stream& Stream() { return client_.streams.back(); }
  std::vector<v1::AttachRequest>& Written() { return Stream().call->written; }
  void Greet(uint64_t incarnation = 0, uint64_t acknowledged = 0) {
    v1::AttachResponse message;
    message.mutable_hello()->set_incarnation(incarnation);
    message.mutable_hello()->set_acknowledged(acknowledged);
    Stream().on_message(message);
  }
  void Acknowledge(uint64_t sequence) {
    v1::AttachResponse message;
    message.mutable_acknowledge()->set_sequence(sequence);
    Stream().on_message(message);
  }
  void Record(const std::string& name) {
    v1::JobRecord record;
    record.set_nspace(name);
    reports_->OnRecord(record);
  }
  v1::CommandResult Tell(const v1::Command& command) {
    v1::AttachResponse message;
    *message.mutable_command() = command;
    Stream().on_message(message);
    return Written().back().result();
  }
  void Reconnect() {
    client_.is_connected = false;
    Stream().on_end({14, "gone"});
    const size_t before = client_.capabilities.size();
    for (int i = 0; i < 300 && client_.capabilities.size() == before; ++i) {
      loop_.RunOnce(10);
    }
    client_.Up({v1::FEATURE_ATTACH});
  }

  EventLoop loop_;
  FakeServiceClient client_;
  Commands commands_;
  Link link_;
  std::vector<v1::JobReport> jobs_ = std::vector<v1::JobReport>(3);
  std::vector<std::string> released_;
  std::unique_ptr<Reports> reports_;
};

TEST_F(ReportsTest, OnlyTheRootOpensTheReportStream) {
  client_.Up({v1::FEATURE_ATTACH});
  EXPECT_TRUE(client_.streams.empty());
  reports_->SetRoot(true);
  EXPECT_EQ(client_.streams.size(), 1u);
  reports_->SetRoot(false);
  EXPECT_TRUE(Stream().call->cancelled);
}

TEST_F(ReportsTest, NoReportStreamIsOpenedWithoutTheFeature) {
  reports_->SetRoot(true);
  client_.Up({v1::FEATURE_PLACE_JOB});
  EXPECT_TRUE(client_.streams.empty());
}

TEST_F(ReportsTest, TheSnapshotIsSentAfterTheSchedulersGreeting) {
  Record("early");
  Attach();
  ASSERT_EQ(Written().size(), 1u);
  EXPECT_EQ(Written()[0].hello().incarnation(), 5u);
  EXPECT_EQ(Written()[0].hello().first_report(), 1u);
  EXPECT_EQ(Written()[0].hello().last_report(), 1u);
  Record("between");
  EXPECT_EQ(Written().size(), 1u);
  Greet();
  ASSERT_EQ(Written().size(), 4u);
  EXPECT_EQ(Written()[1].snapshot().nodes_size(), 2);
  EXPECT_EQ(Written()[1].snapshot().jobs_size(), 3);
  EXPECT_EQ(Written()[1].snapshot().settle_time().nanos(), 70'000'000);
  EXPECT_EQ(Written()[2].report().record().nspace(), "early");
  EXPECT_EQ(Written()[3].report().sequence(), 2u);
}

TEST_F(ReportsTest, ALargeSnapshotHasSeveralPages) {
  jobs_.resize(1000);
  for (v1::JobReport& job : jobs_) job.set_nspace(std::string(1000, 'x'));
  Attach();
  Greet();
  int jobs = 0;
  for (size_t i = 1; i < Written().size(); ++i) {
    const v1::SnapshotPage& page = Written()[i].snapshot();
    EXPECT_LT(page.ByteSizeLong(), size_t{1} << 20);
    EXPECT_EQ(page.last(), i + 1 == Written().size());
    EXPECT_EQ(page.settle_time().nanos(), 70'000'000);
    jobs += page.jobs_size();
  }
  EXPECT_GT(Written().size(), 3u);
  EXPECT_EQ(jobs, 1000);
}

TEST_F(ReportsTest, OnlyRequestedStatesOfJobsAreReported) {
  Attach();
  v1::AttachResponse message;
  message.mutable_hello()->mutable_filter()->add_job_states(
      v1::JOB_STATE_RUNNING);
  Stream().on_message(message);
  const size_t before = Written().size();
  v1::JobReport job;
  job.set_state(v1::JOB_STATE_STARTING);
  reports_->OnJob(job);
  EXPECT_EQ(Written().size(), before);
  job.set_state(v1::JOB_STATE_RUNNING);
  reports_->OnJob(job);
  Record("ended");
  EXPECT_EQ(Written().size(), before + 2);
}

// Without a pause, the end of each stream would lead to a new stream at once.
TEST_F(ReportsTest, ARefusedStreamIsOpenedAgainAfterAPause) {
  Attach();
  const size_t asked = client_.capabilities.size();
  for (size_t streams = 1; streams < 3; ++streams) {
    Stream().on_end({13, "exception"});
    EXPECT_EQ(client_.streams.size(), streams);
    for (int i = 0; i < 300 && client_.streams.size() == streams; ++i) {
      loop_.RunOnce(10);
    }
    ASSERT_EQ(client_.streams.size(), streams + 1);
  }
  EXPECT_EQ(client_.capabilities.size(), asked) << "the connection is there";
}

TEST_F(ReportsTest, AnOverlayThatEndsSendsAGoodbye) {
  Attach();
  const size_t before = Written().size();
  reports_->SayGoodbye();
  EXPECT_EQ(Written().size(), before) << "to a host that has not greeted";
  Greet();
  reports_->SayGoodbye();
  EXPECT_TRUE(Written().back().has_goodbye());
}

TEST_F(ReportsTest, AcknowledgedReportsAreNotSentAgain) {
  Attach();
  Greet();
  Record("a");
  Record("b");
  Record("c");
  Acknowledge(1);
  Reconnect();
  EXPECT_EQ(Written()[0].hello().first_report(), 2u);
  Greet(5, 2);
  ASSERT_EQ(Written().size(), 3u);
  EXPECT_EQ(Written()[2].report().record().nspace(), "c");
}

TEST_F(ReportsTest, AcknowledgementsOfAnotherSeriesAreIgnored) {
  Attach();
  Record("a");
  Greet(4, 100);
  EXPECT_EQ(Written().back().report().record().nspace(), "a");
}

// The reports of a predecessor that was killed.
class LeftReports : public FakeReportStore {
 public:
  LeftReports() {
    series = 4;
    reserved = 100;
    lost = 3;
    v1::JobRecord record;
    record.set_nspace("left");
    records[90] = record.SerializeAsString();
    v1::JobReleasedRequest release;
    release.set_nspace("free");
    releases[1] = release.SerializeAsString();
    CommandHistory history([](const std::string&) {});
    history.SetStore(this, {}, 0);
    history.Begin("launched", "batch 1", 1'000'000);
    history.Begin("not launched", "batch 2", 1'000'000);
    history.Begin("signal", "", 1'000'000);
    v1::CommandResult result;
    result.set_command_id("killed");
    history.End(result, /*keep=*/true, 1'000'000);
  }
};

class SuccessorTest : public ReportsTest {
 protected:
  SuccessorTest() : ReportsTest(&store_) { commands_.there = "batch 1"; }

  LeftReports store_;
};

TEST_F(SuccessorTest, ASuccessorSendsTheRecordsOfItsPredecessor) {
  Attach();
  EXPECT_EQ(released_, std::vector<std::string>{"free"});
  EXPECT_EQ(Written()[0].hello().incarnation(), 4u);
  EXPECT_EQ(Written()[0].hello().first_report(), 90u);
  EXPECT_EQ(Written()[0].hello().records_lost(), 3u);
  Greet(4, 89);
  Record("own");
  ASSERT_EQ(Written().size(), 4u);
  EXPECT_EQ(Written()[2].report().record().nspace(), "left");
  EXPECT_EQ(Written()[3].report().sequence(), 101u);
  EXPECT_EQ(Written()[3].report().records_lost(), 3u);
  EXPECT_TRUE(reports_->AwaitsRecords());
  Acknowledge(101);
  EXPECT_FALSE(reports_->AwaitsRecords());
}

v1::Command LaunchOf(const std::string& id, const std::string& request) {
  v1::Command command;
  command.set_command_id(id);
  v1::LaunchJob* const launch = command.mutable_launch();
  launch->set_request_id(request);
  launch->mutable_granted()->add_nodes()->set_name("node1");
  launch->mutable_granted()->mutable_nodes(0)->set_slots(2);
  launch->add_applications()->add_argv("program");
  return command;
}

TEST_F(SuccessorTest, ASuccessorExecutesNoCommandAgain) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("killed");
  command.mutable_kill()->set_host_job_id("7");
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  command.set_command_id("signal");
  command.mutable_signal()->set_signal(SIGUSR1);
  EXPECT_EQ(Tell(command).pmix_status(), kErrLostConnection);
  EXPECT_EQ(Tell(LaunchOf("launched", "batch 1")).nspace(), "canopy-1-7");
  EXPECT_TRUE(commands_.said.empty());
  EXPECT_EQ(Tell(LaunchOf("not launched", "batch 2")).nspace(), "canopy-1-1");
  EXPECT_EQ(commands_.said, std::vector<std::string>{"launch batch 2 program"});
}

// Commands whose effect ends with the agent are executed again.
TEST_F(SuccessorTest, CommandsThatDrainANodeAreNotStored) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  command.mutable_drain_node()->set_name("node1");
  const size_t noted = store_.commands.size();
  Tell(command);
  EXPECT_EQ(store_.commands.size(), noted);
  command.set_command_id("2");
  command.mutable_kill();
  Tell(command);
  EXPECT_EQ(store_.commands.size(), noted + 1);
}

TEST_F(SuccessorTest, ReleasesAreStoredUntilTheyAreSent) {
  Attach();
  v1::JobReleasedRequest release;
  release.mutable_placement()->set_request_id("a");
  reports_->OnReleasing(release);
  EXPECT_EQ(store_.releases.size(), 2u);
  reports_->OnReleased(release);
  EXPECT_EQ(store_.releases.size(), 1u);
}

TEST_F(ReportsTest, ALaunchIsAnsweredWhenTheJobHasItsName) {
  Attach();
  Greet();
  commands_.keeps = true;
  v1::AttachResponse message;
  *message.mutable_command() = LaunchOf("1", "batch 1");
  const size_t before = Written().size();
  Stream().on_message(message);
  Stream().on_message(message);
  EXPECT_EQ(Written().size(), before);
  ASSERT_EQ(commands_.launching.size(), 1u);
  commands_.launching[0](std::string("canopy-1-1"));
  ASSERT_EQ(Written().size(), before + 1);
  EXPECT_EQ(Written().back().result().nspace(), "canopy-1-1");
  Stream().on_message(message);
  EXPECT_EQ(Written().back().result().nspace(), "canopy-1-1");
  EXPECT_EQ(commands_.said.size(), 1u);
}

TEST_F(ReportsTest, ALaunchMayEndAfterTheDestructionOfTheReports) {
  Attach();
  Greet();
  commands_.keeps = true;
  v1::AttachResponse message;
  *message.mutable_command() = LaunchOf("1", "batch 1");
  Stream().on_message(message);
  reports_.reset();
  commands_.launching.at(0)(Status(kErrTimeout, "late"));
}

TEST_F(ReportsTest, StatesAreDroppedBeforeRecords) {
  Record("kept");
  for (size_t i = 0; i < ReportQueue::kMaxReports + 5; ++i) {
    reports_->OnJob(v1::JobReport());
  }
  Attach();
  Greet();
  EXPECT_EQ(Written().size(), 2 + ReportQueue::kMaxReports);
  EXPECT_EQ(Written()[2].report().record().nspace(), "kept");
}

TEST_F(ReportsTest, AStreamWithoutAGreetingIsEnded) {
  Attach();
  Acknowledge(1);
  EXPECT_TRUE(Stream().call->cancelled);
}

TEST_F(ReportsTest, ACommandIsExecutedOnceAndAnsweredEachTime) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  command.mutable_kill()->set_host_job_id("7");
  command.mutable_kill()->set_reason("why");
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  Reconnect();
  Greet();
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  EXPECT_EQ(commands_.said, std::vector<std::string>{"kill 7 why"});
}

TEST_F(ReportsTest, CommandsApplyToTheNamedJobOrNode) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  command.mutable_suspend()->set_host_job_id("7");
  EXPECT_EQ(Tell(command).pmix_status(), kErrNotFound);
  command.set_command_id("2");
  command.mutable_signal()->set_signal(65);
  EXPECT_EQ(Tell(command).pmix_status(), kErrBadParam);
  command.set_command_id("3");
  command.mutable_drain_node()->set_name("node1");
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  EXPECT_EQ(commands_.said,
            (std::vector<std::string>{"suspend 7", "drain node1"}));
}

TEST_F(ReportsTest, TheSchedulerCanLaunchAJob) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  v1::LaunchJob* const launch = command.mutable_launch();
  launch->set_request_id("batch 1");
  EXPECT_EQ(Tell(command).pmix_status(), kErrUnpackFailure) << "without nodes";
  v1::GrantedNode* const node = launch->mutable_granted()->add_nodes();
  node->set_name("node1");
  node->set_slots(2);
  command.set_command_id("2");
  EXPECT_EQ(Tell(command).pmix_status(), kErrBadParam) << "without a program";
  launch->add_applications()->add_argv("program");
  launch->add_env("no variable");
  command.set_command_id("3");
  EXPECT_EQ(Tell(command).pmix_status(), kErrBadParam);
  launch->set_env(0, "A=b");
  command.set_command_id("4");
  const v1::CommandResult result = Tell(command);
  EXPECT_EQ(result.pmix_status(), kSuccess);
  EXPECT_EQ(result.nspace(), "canopy-1-1");
  launch->set_cwd("/home");
  launch->set_output("out");
  launch->set_error("/tmp/err");
  command.set_command_id("5");
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  EXPECT_EQ(commands_.said, (std::vector<std::string>{
                                "launch batch 1 program",
                                "launch batch 1 program/home/out/tmp/err"}));
}

TEST_F(ReportsTest, AnUnknownCommandIsNotSupported) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  EXPECT_EQ(Tell(command).pmix_status(), kErrNotSupported);
}

TEST_F(ReportsTest, CommandsForTimeLimitsAndRequeuesAreExecuted) {
  Attach();
  Greet();
  v1::Command command;
  command.set_command_id("1");
  command.mutable_time_limit()->set_host_job_id("7");
  command.mutable_time_limit()->mutable_limit()->set_seconds(60);
  command.mutable_time_limit()->mutable_warning()->set_seconds(5);
  EXPECT_EQ(Tell(command).pmix_status(), kSuccess);
  command.set_command_id("2");
  command.mutable_requeue()->set_host_job_id("7");
  command.mutable_requeue()->set_reason("for others");
  const v1::CommandResult result = Tell(command);
  EXPECT_EQ(result.pmix_status(), kErrUnreach);
  EXPECT_EQ(result.message(), "its launcher is not there");
  EXPECT_EQ(commands_.said,
            (std::vector<std::string>{"limit 7 60 5", "requeue 7 for others"}));
}

}  // namespace
}  // namespace canopy::scheduler
