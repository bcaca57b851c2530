#include <gtest/gtest.h>

#include <set>
#include <string>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/local/calls.h"
#include "common/log_call.h"

namespace canopy::client {
namespace {

using local::FrameType;

class LogTest : public ClientTest {
 protected:
  // Returns the directives of the last call and checks its data.
  InfoList Sent(const InfoList& data, size_t count = 1) {
    const Request frame = agent_->Await(FrameType::kHostCall, count);
    const auto host = frame.As<local::HostCall>();
    EXPECT_EQ(host.op, HostOp::kLog);
    EXPECT_TRUE(host.targets.empty());
    host_call::Log call;
    EXPECT_TRUE(wire::Decode(host.call, &call));
    InfoList sent;
    InfoList directives;
    EXPECT_TRUE(DecodeInfos(call.data, &sent));
    EXPECT_TRUE(DecodeInfos(call.infos, &directives));
    EXPECT_EQ(sent, data);
    return directives;
  }

  const InfoList text_ = {{PMIX_LOG_STDERR, Value::String("text")}};
};

TEST_F(LogTest, Job21DataAndDirectivesGoToTheAgent) {
  const InfoList with = Flags({PMIX_LOG_ONCE});
  EXPECT_EQ(PMIx_Log(text_.data(), 1, with.data(), 1), PMIX_SUCCESS);
  const InfoList directives = Sent(text_);
  EXPECT_TRUE(directives.Has(PMIX_LOG_ONCE));
  EXPECT_FALSE(directives.Has(PMIX_LOG_TIMESTAMP));
}

TEST_F(LogTest, EachCallHasADifferentNumber) {
  std::set<uint64_t> numbers;
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(PMIx_Log(text_.data(), 1, nullptr, 0), PMIX_SUCCESS);
    numbers.insert(Sent(text_, i).FindUint(kLogNumber).value());
  }
  EXPECT_EQ(numbers.size(), 3u);
}

TEST_F(LogTest, TheLibraryAddsTheTimeOfTheCall) {
  const InfoList with = Flags({PMIX_LOG_GENERATE_TIMESTAMP});
  EXPECT_EQ(PMIx_Log(text_.data(), 1, with.data(), 1), PMIX_SUCCESS);
  EXPECT_TRUE(Sent(text_).Has(PMIX_LOG_TIMESTAMP));
}

TEST_F(LogTest, ANonBlockingCallPassesItsStatusToItsCallback) {
  agent_->On(FrameType::kHostCall,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, kErrPartialSuccess);
             });
  OpResult result;
  ASSERT_EQ(PMIx_Log_nb(text_.data(), 1, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_PARTIAL_SUCCESS);
  EXPECT_EQ(PMIx_Log_nb(text_.data(), 1, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
}

TEST_F(LogTest, Job26MalformedCallsAreRefusedAtOnce) {
  const InfoList number = {{PMIX_LOG_STDOUT, Value::Int(1)}};
  EXPECT_EQ(PMIx_Log(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Log(text_.data(), 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Log(text_.data(), 1, nullptr, 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Log(number.data(), 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Log_nb(number.data(), 1, nullptr, 0, OpResult::Set, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 0u);
}

}  // namespace
}  // namespace canopy::client
