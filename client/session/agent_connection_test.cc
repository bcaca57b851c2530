// Tests of reattaching a session. The tests for requests in progress are in
// channel_reattach_test.cc.
#include "client/session/agent_connection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/session/fake_agent.h"
#include "client/session/session.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/local/greeting.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

using local::FrameType;

// Longer than any test takes.
constexpr uint32_t kLong = 600000;
constexpr uint32_t kShort = 20;
constexpr pmix_status_t kCode = -5000;

// A session of rank 0. Its agent ends and returns, as the same incarnation or
// as a successor.
class AgentConnectionTest : public testing::Test {
 protected:
  void Connect(uint64_t epoch, uint32_t reattach_ms) {
    agent_.BeAgent(epoch, reattach_ms);
    Result<Environment> environment = ReadEnvironment();
    ASSERT_TRUE(environment.ok());
    Result<Bootstrap> bootstrap = ConnectToAgent(*environment);
    ASSERT_TRUE(bootstrap.ok());
    session_.emplace(std::move(*bootstrap), /*external_progress=*/false);
  }
  void Replace(uint64_t epoch, uint32_t reattach_ms) {
    agent_.BeAgent(epoch, reattach_ms);
    agent_.Die();
  }
  // Returns the status of a request, which is kErrNotFound if an agent answers.
  int Ask() {
    const std::string get =
        wire::Encode(local::Get{{"elsewhere", 0}, "key", false, false, 0});
    return session_->channel()->Call(FrameType::kGet, get).status;
  }
  void Commit(const char* key, uint32_t value) {
    ASSERT_EQ(session_->commits().staged().Stage(PMIX_GLOBAL, key,
                                                 Value::Uint32(value).raw()),
              PMIX_SUCCESS);
    session_->channel()->Post(FrameType::kCommit,
                              session_->commits().staged().TakeFrame());
  }

  FakeAgent agent_;
  std::optional<Session> session_;
};

TEST_F(AgentConnectionTest, ASuccessorGetsItsPredecessorsState) {
  Connect(1, kLong);
  Commit("first", 1);
  Commit("second", 2);
  session_->fences().counts().AddWhole();
  HandlerSpec handler;
  handler.codes = {kCode};
  session_->subscriptions().Add(handler);
  agent_.Await(FrameType::kCommit, 2);
  const size_t before = agent_.Seen().size();
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrNotFound);
  const std::vector<FrameType> seen = agent_.Seen();
  EXPECT_EQ(std::vector<FrameType>(seen.begin() + before, seen.end()),
            (std::vector<FrameType>{
                FrameType::kHello, FrameType::kReattach, FrameType::kCommit,
                FrameType::kEventsWanted, FrameType::kGet}));
  EXPECT_EQ(agent_.Await(FrameType::kReattach).payload,
            session_->fences().counts().Encode("job-1"));
  EXPECT_EQ(agent_.Await(FrameType::kCommit, 3).payload,
            session_->commits().staged().CommittedFrame());
  EXPECT_EQ(agent_.Await(FrameType::kEventsWanted).payload,
            session_->subscriptions().Now().Encode());
  EXPECT_TRUE(session_->commits().TakeNoted());
}

// Only the counts of ended collectives are sent, because a successor must know
// that no collective has ended.
TEST_F(AgentConnectionTest, EmptyStateIsNotSent) {
  Connect(1, kLong);
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_EQ(agent_.Seen(),
            (std::vector<FrameType>{FrameType::kHello, FrameType::kHello,
                                    FrameType::kReattach, FrameType::kGet}));
  EXPECT_FALSE(session_->commits().TakeNoted());
}

TEST_F(AgentConnectionTest, ASuccessorsBarrierAndJobReplaceThePredecessors) {
  agent_.OfferBarrier(/*local_only=*/true);
  Connect(1, kLong);
  const shm::BarrierParticipant* const barrier = session_->fences().barrier();
  const JobView* const job = &session_->job();
  ASSERT_NE(barrier, nullptr);
  agent_.OfferBarrier(/*local_only=*/true);
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_NE(session_->fences().barrier(), nullptr);
  EXPECT_NE(session_->fences().barrier(), barrier);
  EXPECT_NE(&session_->job(), job);
  EXPECT_EQ(session_->job().num_ranks(), 4u);
  EXPECT_EQ(job->num_ranks(), 4u) << "readers may still use it";
}

TEST_F(AgentConnectionTest, SeveralSuccessorsAreFollowed) {
  Connect(1, kLong);
  for (uint64_t epoch = 2; epoch < 6; ++epoch) {
    Replace(epoch, kLong);
    EXPECT_EQ(Ask(), kErrNotFound);
    EXPECT_EQ(agent_.Count(FrameType::kHello), epoch);
  }
}

TEST_F(AgentConnectionTest, TheAgentThatClosedTheConnectionIsNotASuccessor) {
  Connect(1, kLong);
  Replace(1, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 2u);
}

TEST_F(AgentConnectionTest, NoSuccessorIsSearchedIfNoneIsExpected) {
  Connect(1, 0);
  EXPECT_FALSE(session_->servers().home().MayReattach());
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 1u);
}

TEST_F(AgentConnectionTest, AHandoverAnnouncesASuccessor) {
  Connect(1, 0);
  session_->servers().home().OnHandover(wire::Encode(local::Handover{kLong}));
  EXPECT_TRUE(session_->servers().home().MayReattach());
  Replace(2, 0);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_FALSE(session_->servers().home().MayReattach())
      << "the successor's limit holds";
}

TEST_F(AgentConnectionTest, TheSearchForASuccessorHasATimeLimit) {
  Connect(1, kShort);
  ASSERT_EQ(unlink(agent_.socket_path().c_str()), 0);
  Replace(2, kShort);
  EXPECT_EQ(Ask(), kErrLostConnection);
}

TEST_F(AgentConnectionTest, AnAgentThatRefusesEndsTheSearch) {
  Connect(1, kLong);
  agent_.On(FrameType::kHello, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kErrInvalidCred);
  });
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
}

TEST_F(AgentConnectionTest, NoSuccessorIsSearchedAfterClose) {
  Connect(1, kLong);
  session_->servers().home().Close();
  EXPECT_EQ(session_->servers().home().Reattach(), nullptr);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 1u);
}

}  // namespace
}  // namespace canopy::client
