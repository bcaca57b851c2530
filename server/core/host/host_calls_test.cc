#include "server/core/host/host_calls.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

class HostCallsTest : public testing::Test {
 protected:
  HostCallsTest() {
    auto job = std::make_shared<JobSpec>(*JobOn("job", {0, 1}));
    job->uid = 17;
    job->gid = 18;
    jobs_.Add(std::move(job));
    jobs_.Connect(5, {"job", 0});
  }

  Actions Arrive(ClientId client, RequestId request) {
    Actions actions;
    calls_.OnArrived({client, request, HostOp::kLog, {}, Bytes("call")},
                     &actions);
    return actions;
  }

  JobTable jobs_{0};
  HostCalls calls_{jobs_};
};

TEST_F(HostCallsTest, TheHostIsToldWhoAsksAndItsAnswerReachesTheCaller) {
  const Actions asked = Arrive(5, 9);
  ASSERT_EQ(All<AskHost>(asked).size(), 1u);
  const AskHost ask = All<AskHost>(asked)[0];
  EXPECT_EQ(ask.op, HostOp::kLog);
  EXPECT_EQ(ask.source, (ProcId{"job", 0}));
  EXPECT_EQ(ask.uid, 17u);
  EXPECT_EQ(ask.gid, 18u);
  EXPECT_EQ(ask.call.view(), "call");
  Actions answered;
  calls_.OnAnswered({ask.number, kErrNotFound, Bytes("results")}, &answered);
  ASSERT_EQ(All<ReplyClient>(answered).size(), 1u);
  const ReplyClient reply = All<ReplyClient>(answered)[0];
  EXPECT_EQ(reply.client, 5u);
  EXPECT_EQ(reply.request, 9u);
  EXPECT_EQ(reply.status, kErrNotFound);
  EXPECT_EQ(reply.payload.view(), "results");
  EXPECT_EQ(calls_.size(), 0u);
}

TEST_F(HostCallsTest, OfNobodyKnownAreRefused) {
  const Actions actions = Arrive(6, 1);
  EXPECT_TRUE(All<AskHost>(actions).empty());
  EXPECT_EQ(All<ReplyClient>(actions).at(0).status, kErrInit);
}

TEST_F(HostCallsTest, OneProcessHasSoManyAtATime) {
  for (size_t i = 0; i < kMaxHostCalls; ++i) {
    EXPECT_EQ(All<AskHost>(Arrive(5, i + 1)).size(), 1u);
  }
  const Actions refused = Arrive(5, 1000);
  EXPECT_EQ(All<ReplyClient>(refused).at(0).status, kErrOutOfResource);
  calls_.OnClientGone(5);
  EXPECT_EQ(calls_.size(), 0u);
}

}  // namespace
}  // namespace canopy::core
