// Checks that a scheduler's ports over gRPC keep the contracts of their suites,
// with real calls to a service that the test controls.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/host_op.h"
#include "common/status.h"
#include "server/host/embedded_host.h"
#include "server/ports/host_contract_testing.h"
#include "server/ports/input_sink_testing.h"
#include "server/ports/placement_contract_testing.h"
#include "server/ports/remote_placement_contract_testing.h"
#include "server/scheduler/job_placement.h"
#include "server/scheduler/link.h"
#include "server/scheduler/played_scheduler.h"
#include "server/scheduler/scheduler_host.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {
namespace {

constexpr int kRounds = 1000;
constexpr int kRoundMs = 10;

const std::map<HostOp, v1::Feature> kFeatures = {
    {HostOp::kAllocate, v1::FEATURE_ALLOCATE},
    {HostOp::kControlSession, v1::FEATURE_CONTROL_SESSION},
    {HostOp::kBlockResources, v1::FEATURE_BLOCK_RESOURCES},
    {HostOp::kLog, v1::FEATURE_LOG},
    {HostOp::kMonitor, v1::FEATURE_MONITOR},
    {HostOp::kGetCredential, v1::FEATURE_GET_CREDENTIAL},
    {HostOp::kValidateCredential, v1::FEATURE_VALIDATE_CREDENTIAL},
};

// A scheduler and the agent's connection to it.
class Connection {
 public:
  Connection() {
    auto client = ServiceClient::Make(&loop_, scheduler_.address(), {});
    EXPECT_TRUE(client.ok());
    client_ = *std::move(client);
    link_ = std::make_unique<Link>(&loop_, client_.get(), v1::Overlay(),
                                   "there", [](const core::LogLine&) {});
  }

  // Runs until the agent knows the scheduler's features.
  void Start(std::vector<v1::Feature> features) {
    features_ = std::move(features);
    scheduler_.Start(features_);
    link_->Start();
    RunUntil([&] { return link_->up(); });
    ASSERT_TRUE(link_->up());
  }
  // Destroys the objects in the order in which an agent that ends destroys
  // them. `ports` destroys the ports.
  void Destroy(const std::function<void()>& ports) {
    link_->Stop();
    client_.reset();
    ports();
    link_.reset();
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < kRounds && !done(); ++i) loop_.RunOnce(kRoundMs);
  }
  void GoAway() { scheduler_.Stop(); }
  void ComeBack() { scheduler_.Start(features_); }

  EventLoop* loop() { return &loop_; }
  Link* link() { return link_.get(); }
  PlayedScheduler& scheduler() { return scheduler_; }

 private:
  EventLoop loop_;
  PlayedScheduler scheduler_;
  std::vector<v1::Feature> features_;
  std::unique_ptr<ServiceClient> client_;
  std::unique_ptr<Link> link_;
};

// ------------------------------------------------------------- host calls ---

// A host that is reached over gRPC. Either the scheduler gets all calls of a
// test, or the agent's own host gets them.
class GrpcHost : public RemotePlayedHost {
 public:
  GrpcHost(InputSink* sink, const std::set<HostOp>& implemented)
      : embedded_(std::make_unique<host::EmbeddedHost>(sink)) {
    std::vector<v1::Feature> features;
    for (const HostOp op : implemented) {
      const auto feature = kFeatures.find(op);
      if (feature != kFeatures.end()) {
        features.push_back(feature->second);
      } else {
        DecideHere(op);
      }
    }
    SchedulerHost::Options options;
    options.loop = connection_.loop();
    options.link = connection_.link();
    options.sink = sink;
    options.embedded = embedded_.get();
    host_ = std::make_unique<SchedulerHost>(std::move(options));
    connection_.Start(features);
  }
  ~GrpcHost() override {
    if (host_ != nullptr) Destroy();
  }

  HostPort* port() override { return host_.get(); }
  std::vector<HeardCall> Heard() override {
    std::vector<HeardCall> out = heard_here_;
    for (const auto& call : connection_.scheduler().calls()) {
      const v1::Caller& caller = call.call.caller();
      out.push_back({{caller.process().nspace(), caller.process().rank()},
                     caller.user().uid(),
                     caller.user().gid(),
                     call.call.call_id()});
    }
    return out;
  }
  void Answer(size_t call, int status, const std::string& result) override {
    v1::Info info;
    info.set_key("test.result");
    info.mutable_value()->set_text(result);
    if (heard_here_.empty()) {
      return connection_.scheduler().Reply(call, status, info);
    }
    InfoList results;
    results.Add("test.result", Value::String(result));
    std::string bytes;
    EXPECT_EQ(EncodeInfos(results.data(), results.size(), &bytes), kSuccess);
    answers_here_.at(call)(Status(status, ""), Bytes(std::move(bytes)));
  }
  void RunUntil(const std::function<bool()>& done) override {
    connection_.RunUntil(done);
  }
  void Destroy() override {
    connection_.Destroy([this] {
      host_.reset();
      embedded_.reset();
    });
  }

  bool Cancelled(size_t call) override {
    return connection_.scheduler().calls().at(call).cancelled;
  }
  void AnswerMalformed(size_t call) override {
    connection_.scheduler().Reply(call, 0, v1::Info());  // without a key
  }
  void Fail(size_t call) override { connection_.scheduler().Fail(call); }
  void GoAway() override { connection_.GoAway(); }
  void ComeBack() override { connection_.ComeBack(); }

 private:
  void DecideHere(HostOp op) {
    embedded_->Decide(op, [this](const core::AskHost& ask,
                                 host::EmbeddedHost::Answer answer) {
      heard_here_.push_back(
          {ask.source, ask.uid, ask.gid,
           ToString(ask.source) + "." + std::to_string(ask.request)});
      answers_here_.push_back(std::move(answer));
    });
  }

  Connection connection_;
  std::unique_ptr<host::EmbeddedHost> embedded_;
  std::vector<HeardCall> heard_here_;
  std::vector<host::EmbeddedHost::Answer> answers_here_;
  std::unique_ptr<SchedulerHost> host_;
};

template <typename Host>
const HostKind<Host> kGrpcHost{
    "Grpc", [](InputSink* sink, std::set<HostOp> implemented) {
      return std::make_unique<GrpcHost>(sink, implemented);
    }};

// ------------------------------------------------------------------ tools ---

// A scheduler that decides about tools, over a connection.
class GrpcTools : public testing::Test {
 protected:
  GrpcTools() : embedded_(&sink_) {
    SchedulerHost::Options options;
    options.loop = connection_.loop();
    options.link = connection_.link();
    options.sink = &sink_;
    options.embedded = &embedded_;
    host_ = std::make_unique<SchedulerHost>(std::move(options));
    connection_.Start({v1::FEATURE_CONNECT_TOOL});
  }
  ~GrpcTools() override {
    connection_.Destroy([this] { host_.reset(); });
  }
  void Connect() {
    host_->AskAboutTool({{"tool", 0}, 10, 20, false},
                        [this](const Status& s) { told_.push_back(s); });
  }
  void AwaitCalls(size_t count) {
    connection_.RunUntil(
        [&] { return connection_.scheduler().calls().size() >= count; });
    ASSERT_EQ(connection_.scheduler().calls().size(), count);
  }
  int Told(size_t count) {
    connection_.RunUntil([&] { return told_.size() >= count; });
    return told_.size() == count ? told_.back().code() : 1;
  }

  canopy::RecordingSink sink_;
  host::EmbeddedHost embedded_;
  Connection connection_;
  std::unique_ptr<SchedulerHost> host_;
  std::vector<Status> told_;
};

TEST_F(GrpcTools, TheSchedulerDecidesAboutTools) {
  Connect();
  AwaitCalls(1);
  const PlayedScheduler::Call heard = connection_.scheduler().calls()[0];
  EXPECT_EQ(heard.feature, v1::FEATURE_CONNECT_TOOL);
  EXPECT_EQ(heard.call.caller().process().nspace(), "tool");
  connection_.scheduler().Reply(0, 0, {});
  EXPECT_EQ(Told(1), kSuccess);
  Connect();
  AwaitCalls(2);
  connection_.scheduler().Reply(1, kErrNoPermissions, {});
  EXPECT_EQ(Told(2), kErrNoPermissions);
  Connect();
  AwaitCalls(3);
  connection_.scheduler().Fail(2);
  EXPECT_EQ(Told(3), kErrServerFailedRequest);
}

TEST_F(GrpcTools, ASchedulerThatReturnsGetsTheCallAgain) {
  Connect();
  AwaitCalls(1);
  connection_.GoAway();
  connection_.ComeBack();
  AwaitCalls(2);
  const auto calls = connection_.scheduler().calls();
  EXPECT_EQ(calls[0].call.call_id(), calls[1].call.call_id());
  connection_.scheduler().Reply(1, 0, {});
  EXPECT_EQ(Told(1), kSuccess);
}

// -------------------------------------------------------------- placement ---

class NoReports : public JobListener {
 public:
  void OnJob(const v1::JobReport&) override {}
  void OnRecord(const v1::JobRecord&) override {}
  void OnReleasing(const v1::JobReleasedRequest&) override {}
  void OnReleased(const v1::JobReleasedRequest&) override {}
};

PlacementId IdOf(const v1::Placement& placement) {
  return {placement.request_id(), placement.attempt()};
}

std::vector<PlacementId> IdsOf(const std::vector<v1::Placement>& placements) {
  std::vector<PlacementId> out;
  for (const v1::Placement& it : placements) out.push_back(IdOf(it));
  return out;
}

v1::PlaceJobResponse GrantOf(const std::string& host_job,
                             const std::vector<std::string>& nodes) {
  v1::PlaceJobResponse update;
  update.mutable_granted()->set_host_job_id(host_job);
  for (const std::string& name : nodes) {
    v1::GrantedNode* const node = update.mutable_granted()->add_nodes();
    node->set_name(name);
    node->set_slots(2);
  }
  return update;
}

class GrpcPlacement : public RemotePlayedPlacement {
 public:
  explicit GrpcPlacement(bool places) {
    JobPlacement::Options options;
    options.loop = connection_.loop();
    options.link = connection_.link();
    options.listener = &reports_;
    options.wall_clock_ms = [] { return int64_t{1000}; };
    placement_ = std::make_unique<JobPlacement>(std::move(options));
    std::vector<v1::Feature> features;
    if (places) features.push_back(v1::FEATURE_PLACE_JOB);
    connection_.Start(features);
  }
  ~GrpcPlacement() override {
    if (placement_ != nullptr) Destroy();
  }

  PlacementPort* port() override { return placement_.get(); }
  void GrantAll() override {
    for (size_t i = 0; i < Heard().size(); ++i) {
      Grant(i, std::to_string(i), {"node1"});
    }
  }
  std::vector<HeardPlacement> Heard() override {
    std::vector<HeardPlacement> out;
    for (const auto& place : connection_.scheduler().places()) {
      const v1::Caller& caller = place.request.caller();
      HeardPlacement heard;
      heard.id = IdOf(place.request.placement());
      heard.caller.uid = caller.user().uid();
      heard.caller.gid = caller.user().gid();
      heard.caller.process =
          ProcId{caller.process().nspace(), caller.process().rank()};
      heard.again = place.request.again();
      out.push_back(heard);
    }
    return out;
  }
  void Queue(size_t call, const std::string& reason) override {
    v1::PlaceJobResponse update;
    update.mutable_queued()->set_reason(reason);
    connection_.scheduler().Update(call, update);
  }
  void Grant(size_t call, const std::string& host_job,
             const std::vector<std::string>& nodes) override {
    connection_.scheduler().Update(call, GrantOf(host_job, nodes));
  }
  void GrantBadly(size_t call, BadGrant how) override {
    v1::PlaceJobResponse update = GrantOf("7", {"node1"});
    v1::Granted* const granted = update.mutable_granted();
    switch (how) {
      case BadGrant::kNoNodes:
        granted->clear_nodes();
        break;
      case BadGrant::kNodeTwice:
        *granted->add_nodes() = granted->nodes(0);
        break;
      case BadGrant::kNoSlots:
        granted->mutable_nodes(0)->set_slots(0);
        break;
      case BadGrant::kBadVariable:
        granted->add_env("no variable");
    }
    connection_.scheduler().Update(call, update);
  }
  void Refuse(size_t call, int status, const std::string& why) override {
    connection_.scheduler().Refuse(call, status, why);
  }
  void End(size_t call, bool fails) override {
    connection_.scheduler().EndPlace(call, fails);
  }
  bool Cancelled(size_t call) override {
    return connection_.scheduler().places().at(call).cancelled;
  }
  std::vector<PlacementId> LaunchedJobs() override {
    return IdsOf(connection_.scheduler().launched());
  }
  std::vector<PlacementId> ReleasedJobs() override {
    return IdsOf(connection_.scheduler().released());
  }
  void RunUntil(const std::function<bool()>& done) override {
    connection_.RunUntil(done);
  }
  void Destroy() override {
    connection_.Destroy([this] { placement_.reset(); });
  }
  void GoAway() override { connection_.GoAway(); }
  void ComeBack() override { connection_.ComeBack(); }

 private:
  Connection connection_;
  NoReports reports_;
  std::unique_ptr<JobPlacement> placement_;
};

template <typename Placement>
const PlacementKind<Placement> kGrpcPlacement{
    "Grpc",
    [](bool places) { return std::make_unique<GrpcPlacement>(places); }};

}  // namespace
}  // namespace canopy::scheduler

namespace canopy {

INSTANTIATE_TEST_SUITE_P(
    Grpc, HostContract,
    testing::Combine(testing::Values(scheduler::kGrpcHost<PlayedHost>),
                     testing::ValuesIn(AllHostOps())),
    HostContractName);
INSTANTIATE_TEST_SUITE_P(
    Grpc, IdentityContract,
    testing::Combine(testing::Values(scheduler::kGrpcHost<PlayedHost>),
                     testing::ValuesIn(AllHostOps())),
    HostContractName);
INSTANTIATE_TEST_SUITE_P(Grpc, LateHostContract,
                         testing::Values(scheduler::kGrpcHost<PlayedHost>));
INSTANTIATE_TEST_SUITE_P(
    Grpc, RemoteHostContract,
    testing::Values(scheduler::kGrpcHost<RemotePlayedHost>));
INSTANTIATE_TEST_SUITE_P(
    Grpc, PlacementContract,
    testing::Values(scheduler::kGrpcPlacement<PlayedPlacement>),
    PlacementContractName());
INSTANTIATE_TEST_SUITE_P(
    Grpc, RemotePlacementContract,
    testing::Values(scheduler::kGrpcPlacement<RemotePlayedPlacement>),
    PlacementContractName());

}  // namespace canopy
