#include "server/scheduler/scheduler_host.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "pmix_common.h"
#include "server/core/step/host_services.h"
#include "server/ports/fake_sink.h"
#include "server/scheduler/fake_service_client.h"

namespace canopy::scheduler {
namespace {

// A host that stores the requests.
class Embedded : public HostPort {
 public:
  void Ask(const core::AskHost& request) override { asked.push_back(request); }
  void DropJob(const std::string& nspace) override { dropped = nspace; }

  std::vector<core::AskHost> asked;
  std::string dropped;
};

Results One(const std::string& key, const std::string& text) {
  Results results;
  v1::Info* const info = results.Add();
  info->set_key(key);
  info->mutable_value()->set_text(text);
  return results;
}

std::string Infos(const InfoList& infos) {
  std::string bytes;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &bytes), kSuccess);
  return bytes;
}

core::AskHost Allocation(uint64_t number, uint32_t timeout = 0) {
  InfoList infos;
  infos.Add(PMIX_ALLOC_NUM_NODES, Value::Uint64(3), PMIX_INFO_REQD);
  if (timeout != 0) infos.Add(PMIX_TIMEOUT, Value::Uint32(timeout));
  core::AskHost ask;
  ask.number = number;
  ask.op = HostOp::kAllocate;
  ask.source = {"job", 2};
  ask.request = 7;
  ask.uid = 10;
  ask.gid = 20;
  ask.call =
      Bytes(wire::Encode(host_call::Allocate{PMIX_ALLOC_NEW, Infos(infos)}));
  ask.host_job = "job's";
  return ask;
}

core::AskHost QueueQuery(uint64_t number, uint32_t timeout = 0) {
  InfoList qualifiers;
  qualifiers.Add(PMIX_ALLOC_QUEUE, Value::String("fast"));
  if (timeout != 0) qualifiers.Add(PMIX_TIMEOUT, Value::Uint32(timeout));
  core::AskHost ask;
  ask.number = number;
  ask.op = HostOp::kQuery;
  ask.source = {"tool", 0};
  ask.uid = core::kAgentsUser;
  ask.gid = core::kAgentsUser;
  ask.call = Bytes(wire::Encode(host_call::Query{
      {PMIX_QUERY_QUEUE_LIST, PMIX_QUERY_QUEUE_STATUS}, Infos(qualifiers)}));
  return ask;
}

class SchedulerHostTest : public testing::Test {
 protected:
  SchedulerHostTest() { Make(false); }

  void Make(bool fallback) {
    host_.reset();
    v1::Overlay overlay;
    overlay.set_agent("node1");
    link_ = std::make_unique<Link>(&loop_, &client_, overlay, "there",
                                   [](const core::LogLine&) {});
    SchedulerHost::Options options;
    options.loop = &loop_;
    options.link = link_.get();
    options.sink = &sink_;
    options.embedded = &embedded_;
    options.fallback = fallback;
    options.uid = 77;
    options.gid = 78;
    options.incarnation = 9;
    options.tool_ms = tool_ms_;
    host_ = std::make_unique<SchedulerHost>(std::move(options));
    link_->Start();
  }
  void Up() { client_.Up({v1::FEATURE_ALLOCATE}); }
  void ToolsUp() { client_.Up({v1::FEATURE_CONNECT_TOOL}); }
  void Connect(const ArrivingTool& tool = {{"tool", 3}, 77, 78, false}) {
    host_->AskAboutTool(tool, [this](const Status& s) { told_.push_back(s); });
  }
  // Simulates that the link finds the scheduler unreachable.
  void GoAway() {
    link_->Lost("gone");
    ASSERT_FALSE(link_->up());
  }
  std::vector<core::HostAnswered> Answers() const {
    return sink_.All<core::HostAnswered>();
  }
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 300 && !done(); ++i) loop_.RunOnce(10);
  }

  int64_t tool_ms_ = 10'000;
  std::vector<Status> told_;  // the answers about tools
  EventLoop loop_;
  FakeServiceClient client_;
  FakeSink sink_;
  Embedded embedded_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<SchedulerHost> host_;
};

TEST_F(SchedulerHostTest, TheSchedulerDecidesAllocations) {
  Up();
  host_->Ask(Allocation(5));
  ASSERT_EQ(client_.allocations.size(), 1u);
  const v1::AllocateRequest& asked = client_.allocations[0].request;
  EXPECT_EQ(asked.directive(), v1::ALLOCATION_DIRECTIVE_NEW);
  EXPECT_EQ(asked.infos(0).key(), PMIX_ALLOC_NUM_NODES);
  EXPECT_TRUE(asked.infos(0).required());
  EXPECT_EQ(asked.infos(0).value().unsigned_integer(), 3u);
  EXPECT_EQ(asked.call().caller().user().uid(), 10u);
  EXPECT_EQ(asked.call().caller().user().gid(), 20u);
  EXPECT_EQ(asked.call().caller().process().rank(), 2u);
  EXPECT_EQ(asked.call().caller().host_job_id(), "job's");
  EXPECT_EQ(asked.call().call_id(), "job.2.7");

  client_.allocations[0].done({}, One("result", "why"));
  ASSERT_EQ(Answers().size(), 1u);
  EXPECT_EQ(Answers()[0].number, 5u);
  EXPECT_EQ(Answers()[0].status, kSuccess);
  InfoList results;
  EXPECT_TRUE(DecodeInfos(Answers()[0].results.view(), &results));
  EXPECT_EQ(results.FindString("result"), "why");
}

TEST_F(SchedulerHostTest, TheSchedulerAnswersQueries) {
  client_.Up({v1::FEATURE_QUERY});
  host_->Ask(QueueQuery(7));
  ASSERT_EQ(client_.queries.size(), 1u);
  const v1::QueryRequest& asked = client_.queries[0].request;
  EXPECT_EQ(asked.keys(0), PMIX_QUERY_QUEUE_LIST);
  EXPECT_EQ(asked.keys(1), PMIX_QUERY_QUEUE_STATUS);
  EXPECT_EQ(asked.qualifiers(0).key(), PMIX_ALLOC_QUEUE);
  EXPECT_EQ(asked.qualifiers(0).value().text(), "fast");
  EXPECT_EQ(asked.call().caller().user().uid(), 77u)
      << "the agent's, of a tool";
  EXPECT_EQ(asked.call().caller().user().gid(), 78u);
  EXPECT_EQ(asked.call().caller().process().nspace(), "tool");
  client_.queries[0].done({}, One(PMIX_QUERY_QUEUE_LIST, "fast,slow"));
  ASSERT_EQ(Answers().size(), 1u);
  EXPECT_EQ(Answers()[0].number, 7u);
  EXPECT_EQ(Answers()[0].status, kErrPartialSuccess);
  InfoList results;
  EXPECT_TRUE(DecodeInfos(Answers()[0].results.view(), &results));
  EXPECT_EQ(results.FindString(PMIX_QUERY_QUEUE_LIST), "fast,slow");
}

TEST_F(SchedulerHostTest, TheStatusOfAQueryFollowsFromItsAnswers) {
  client_.Up({v1::FEATURE_QUERY});
  const auto status = [&](const Results& results) {
    host_->Ask(QueueQuery(7));
    client_.queries.back().done({}, results);
    return Answers().back().status;
  };
  EXPECT_EQ(status({}), kErrNotFound);
  EXPECT_EQ(status(One(PMIX_JOB_SIZE, "of no key")), kErrNotFound);
  Results both = One(PMIX_QUERY_QUEUE_LIST, "a");
  EXPECT_EQ(status(both), kErrPartialSuccess);
  both.MergeFrom(One(PMIX_QUERY_QUEUE_STATUS, "b"));
  EXPECT_EQ(status(both), kSuccess);
}

TEST_F(SchedulerHostTest, AQueryEndsAtTheTimeoutOfItsCaller) {
  client_.Up({v1::FEATURE_QUERY});
  host_->Ask(QueueQuery(7, 1));
  RunUntil([this] { return !Answers().empty(); });
  EXPECT_EQ(Answers().at(0).status, kErrTimeout);
  EXPECT_TRUE(client_.queries[0].call->cancelled);
  // A late answer is ignored.
  client_.queries[0].done({}, {});
  EXPECT_EQ(Answers().size(), 1u);
}

TEST_F(SchedulerHostTest,
       RequestsThatTheSchedulerDoesNotImplementAreNotSupported) {
  client_.Up({});
  host_->Ask(Allocation(5));
  EXPECT_EQ(Answers().at(0).status, kErrNotSupported);
  EXPECT_TRUE(embedded_.asked.empty());
}

TEST_F(SchedulerHostTest,
       WithFallbackTheAgentsHostDecidesUnimplementedRequests) {
  Make(true);
  client_.Up({});
  host_->Ask(Allocation(5));
  EXPECT_EQ(embedded_.asked.at(0).number, 5u);
  Up();
  host_->Ask(Allocation(6));
  client_.allocations.at(0).done({12, "unimplemented"}, {});
  EXPECT_EQ(embedded_.asked.at(1).number, 6u);
  EXPECT_TRUE(Answers().empty());
}

TEST_F(SchedulerHostTest, TheAgentsHostDecidesJobControl) {
  Up();
  core::AskHost ask = Allocation(5);
  ask.op = HostOp::kJobControl;
  host_->Ask(ask);
  EXPECT_EQ(embedded_.asked.size(), 1u);
}

TEST_F(SchedulerHostTest, ACallIsRepeatedWithTheSameName) {
  host_->Ask(Allocation(5));
  EXPECT_TRUE(client_.allocations.empty());
  Up();
  client_.is_connected = false;
  client_.allocations.at(0).done({14, "gone"}, {});
  const size_t before = client_.capabilities.size();
  RunUntil([&] { return client_.capabilities.size() > before; });
  Up();
  ASSERT_EQ(client_.allocations.size(), 2u);
  EXPECT_EQ(client_.allocations[1].request.call().call_id(), "job.2.7");
  client_.allocations[0].done({}, {});
  EXPECT_TRUE(Answers().empty()) << "of a call that is over";
  client_.allocations[1].done({}, {});
  EXPECT_EQ(Answers().at(0).status, kSuccess);
  client_.allocations[1].done({}, {});
  EXPECT_EQ(Answers().size(), 1u) << "once";
}

// The connection exists, so the capabilities are not requested again.
TEST_F(SchedulerHostTest, ACallIsRepeatedAfterAPause) {
  Up();
  host_->Ask(Allocation(5));
  const size_t asked = client_.capabilities.size();
  client_.allocations.at(0).done({14, "busy"}, {});
  EXPECT_EQ(client_.allocations.size(), 1u);
  RunUntil([&] { return client_.allocations.size() == 2; });
  ASSERT_EQ(client_.allocations.size(), 2u);
  EXPECT_EQ(client_.capabilities.size(), asked);
  client_.allocations[1].done({5, "none"}, {});
  EXPECT_EQ(Answers().at(0).status, kErrNotFound);
}

// Another scheduler may serve the address now, and may have other features.
TEST_F(SchedulerHostTest, TheFeaturesAreRequestedOnEachNewConnection) {
  client_.Up({});
  client_.is_connected = false;
  const size_t before = client_.capabilities.size();
  host_->Ask(Allocation(5));
  EXPECT_TRUE(Answers().empty());
  ASSERT_EQ(client_.capabilities.size(), before + 1);
  Up();
  EXPECT_EQ(client_.allocations.size(), 1u);
}

TEST_F(SchedulerHostTest, ACallTimesOutIfTheSchedulerDoesNotAnswer) {
  Up();
  host_->Ask(Allocation(5, 1));
  RunUntil([&] { return !Answers().empty(); });
  EXPECT_EQ(Answers().at(0).status, kErrTimeout);
  EXPECT_TRUE(client_.allocations[0].call->cancelled);
  client_.allocations[0].done({}, {});
  EXPECT_EQ(Answers().size(), 1u);
}

TEST_F(SchedulerHostTest, ACallTimesOutIfTheSchedulerIsUnreachable) {
  host_->Ask(Allocation(5, 1));
  RunUntil([&] { return !Answers().empty(); });
  EXPECT_EQ(Answers().at(0).status, kErrUnreach);
}

TEST_F(SchedulerHostTest, AMalformedAnswerIsAnError) {
  Up();
  host_->Ask(Allocation(5));
  Results results;
  results.Add();  // without a key
  client_.allocations[0].done({}, results);
  EXPECT_EQ(Answers().at(0).status, kErrUnpackFailure);
}

TEST_F(SchedulerHostTest, AMalformedCallIsAnError) {
  Up();
  core::AskHost ask = Allocation(5);
  ask.call = Bytes("\xff\xff");
  host_->Ask(ask);
  EXPECT_EQ(Answers().at(0).status, kErrUnpackFailure);
  EXPECT_TRUE(client_.allocations.empty());
}

TEST_F(SchedulerHostTest, AFailureOfTheSchedulerIsAnswered) {
  Up();
  host_->Ask(Allocation(5));
  client_.allocations[0].done({2, "exception"}, {});
  EXPECT_EQ(Answers().at(0).status, kErrServerFailedRequest);
}

TEST_F(SchedulerHostTest, DropJobCancelsTheCallsOfTheJob) {
  Up();
  host_->Ask(Allocation(5));
  host_->DropJob("other");
  EXPECT_FALSE(client_.allocations[0].call->cancelled);
  host_->DropJob("job");
  EXPECT_TRUE(client_.allocations[0].call->cancelled);
  EXPECT_EQ(embedded_.dropped, "job");
  client_.allocations[0].done({}, {});
  EXPECT_TRUE(Answers().empty());
}

// Agents themselves query the keys that the scheduler supports.
TEST_F(SchedulerHostTest, AQueryOfSupportedKeysReturnsTheSchedulersServices) {
  core::AskHost ask;
  ask.number = 1;
  ask.op = HostOp::kQuery;
  ask.call =
      Bytes(wire::Encode(host_call::Query{{PMIX_QUERY_SUPPORTED_KEYS}, {}}));
  const auto services = [&] {
    host_->Ask(ask);
    InfoList infos;
    EXPECT_TRUE(DecodeInfos(Answers().back().results.view(), &infos));
    return infos.FindUint(PMIX_QUERY_SUPPORTED_KEYS);
  };
  EXPECT_EQ(services(), 0u) << "it is not there yet";
  client_.Up({v1::FEATURE_QUERY, v1::FEATURE_PLACE_JOB, v1::FEATURE_LOG});
  EXPECT_EQ(services(), core::kHostAnswersQueries | core::kHostPlacesJobs);
  EXPECT_EQ(Answers().size(), 2u);
}

// ------------------------------------------------------------------ tools ---

TEST_F(SchedulerHostTest, TheSchedulerDecidesAboutTools) {
  ToolsUp();
  Connect();
  ASSERT_EQ(client_.tools.size(), 1u);
  const v1::ConnectToolRequest asked = client_.tools[0].request;
  EXPECT_FALSE(asked.elsewhere());
  EXPECT_EQ(asked.call().caller().user().uid(), 77u);
  EXPECT_EQ(asked.call().caller().user().gid(), 78u);
  EXPECT_EQ(asked.call().caller().process().nspace(), "tool");
  EXPECT_EQ(asked.call().caller().process().rank(), 3u);
  EXPECT_TRUE(told_.empty());
  client_.tools[0].done({}, {});
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_TRUE(told_[0].ok());
  client_.tools[0].done({}, {});
  EXPECT_EQ(told_.size(), 1u) << "once";
  EXPECT_TRUE(Answers().empty()) << "it is nothing that a process has asked";

  Connect({{}, 77, 78, true});
  ASSERT_EQ(client_.tools.size(), 2u);
  EXPECT_TRUE(client_.tools[1].request.elsewhere());
  EXPECT_FALSE(client_.tools[1].request.call().caller().has_process());
  EXPECT_NE(client_.tools[1].request.call().call_id(), asked.call().call_id());
}

TEST_F(SchedulerHostTest, ARefusedToolGetsTheSchedulersReason) {
  ToolsUp();
  Connect();
  client_.tools[0].done({7, "not in the group"}, {});
  EXPECT_EQ(told_.at(0).code(), kErrNoPermissions);
  EXPECT_EQ(told_[0].message(), "not in the group");
  Connect();
  client_.tools[1].done({2, "exception"}, {});
  EXPECT_EQ(told_.at(1).code(), kErrServerFailedRequest);
}

TEST_F(SchedulerHostTest,
       WithoutTheFeatureToolsAreAcceptedWithoutTheScheduler) {
  Up();
  Connect();
  EXPECT_TRUE(told_.at(0).ok());
  EXPECT_TRUE(client_.tools.empty());
  GoAway();
  Connect();
  EXPECT_EQ(told_.size(), 2u) << "nor while it is away";
  ToolsUp();
  Connect();
  client_.tools.at(0).done({12, "unimplemented"}, {});
  EXPECT_TRUE(told_.at(2).ok());
}

TEST_F(SchedulerHostTest, AToolWaitsForAnUnreachableSchedulerForALimitedTime) {
  tool_ms_ = 50;
  Make(false);
  Connect();
  EXPECT_TRUE(told_.empty()) << "nobody knows what it decides";
  RunUntil([this] { return !told_.empty(); });
  EXPECT_EQ(told_.at(0).code(), kErrUnreach);
  Connect();
  ToolsUp();
  ASSERT_EQ(client_.tools.size(), 1u) << "it has come in time";
  GoAway();
  RunUntil([this] { return told_.size() == 2; });
  EXPECT_EQ(told_.at(1).code(), kErrUnreach);
}

TEST_F(SchedulerHostTest, AToolIsRejectedIfTheSchedulerNeverAnswers) {
  tool_ms_ = 50;
  Make(false);
  ToolsUp();
  Connect();
  RunUntil([this] { return !told_.empty(); });
  EXPECT_EQ(told_.at(0).code(), kErrTimeout);
  EXPECT_TRUE(client_.tools[0].call->cancelled);
  client_.tools[0].done({}, {});
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(SchedulerHostTest, TheNumberOfWaitingToolsIsLimited) {
  ToolsUp();
  for (size_t i = 0; i < SchedulerHost::kMaxTools; ++i) Connect();
  EXPECT_TRUE(told_.empty());
  Connect();
  EXPECT_EQ(told_.at(0).code(), kErrResourceBusy);
  client_.tools[0].done({}, {});
  Connect();
  EXPECT_EQ(told_.size(), 2u) << "there is room again";
}

TEST_F(SchedulerHostTest, DropJobDoesNotDropPendingTools) {
  ToolsUp();
  Connect();
  host_->DropJob("tool");
  client_.tools[0].done({}, {});
  EXPECT_EQ(told_.size(), 1u);
}

}  // namespace
}  // namespace canopy::scheduler
