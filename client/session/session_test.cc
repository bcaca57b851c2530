#include "client/session/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/session/fake_agent.h"
#include "common/values/value.h"
#include "common/wire.h"
#include "pmix.h"

namespace canopy::client {
namespace {

using local::FrameType;

// Longer than any test.
constexpr uint32_t kLong = 600000;
constexpr uint32_t kShort = 20;
constexpr pmix_status_t kCode = -5000;

// A session of rank 0 with an agent that goes and comes again, as the same one
// or as another.
class SessionTest : public testing::Test {
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
  // The status of a request, which tells whether there is an agent: it knows
  // nothing.
  int Ask() {
    WireWriter get;
    get.Proc({"elsewhere", 0});
    get.String("key");
    get.Bool(false);
    get.Bool(false);
    get.Uint(0);
    return session_->channel()->Call(FrameType::kGet, get.Take()).status;
  }
  void Commit(const char* key, uint32_t value) {
    ASSERT_EQ(
        session_->staged().Stage(PMIX_GLOBAL, key, Value::Uint32(value).raw()),
        PMIX_SUCCESS);
    session_->channel()->Post(FrameType::kCommit,
                              session_->staged().TakeFrame());
  }

  FakeAgent agent_;
  std::optional<Session> session_;
};

TEST_F(SessionTest, TheNextAgentIsToldWhatTheLastOneKnew) {
  Connect(1, kLong);
  Commit("first", 1);
  Commit("second", 2);
  session_->counts().AddWhole();
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
            session_->counts().Encode("job-1"));
  EXPECT_EQ(agent_.Await(FrameType::kCommit, 3).payload,
            session_->staged().CommittedFrame());
  EXPECT_EQ(agent_.Await(FrameType::kEventsWanted).payload,
            session_->subscriptions().Now().Encode());
  EXPECT_TRUE(session_->TakeCommitted());
}

TEST_F(SessionTest, WhoHasNothingToSaySaysNothing) {
  Connect(1, kLong);
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_EQ(agent_.Seen(),
            (std::vector<FrameType>{FrameType::kHello, FrameType::kHello,
                                    FrameType::kGet}));
  EXPECT_FALSE(session_->TakeCommitted());
}

TEST_F(SessionTest, TheBarrierAndTheJobAreTheNextAgents) {
  agent_.OfferBarrier(/*local_only=*/true);
  Connect(1, kLong);
  const shm::BarrierParticipant* const barrier = session_->barrier();
  const JobView* const job = &session_->job();
  ASSERT_NE(barrier, nullptr);
  agent_.OfferBarrier(/*local_only=*/true);
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_NE(session_->barrier(), nullptr);
  EXPECT_NE(session_->barrier(), barrier);
  EXPECT_NE(&session_->job(), job);
  EXPECT_EQ(session_->job().num_ranks(), 4u);
  EXPECT_EQ(job->num_ranks(), 4u) << "who still looks at it may";
}

TEST_F(SessionTest, OneAgentAfterTheOther) {
  Connect(1, kLong);
  for (uint64_t epoch = 2; epoch < 6; ++epoch) {
    Replace(epoch, kLong);
    EXPECT_EQ(Ask(), kErrNotFound);
    EXPECT_EQ(agent_.Count(FrameType::kHello), epoch);
  }
}

TEST_F(SessionTest, TheAgentThatClosedTheConnectionIsNoOther) {
  Connect(1, kLong);
  Replace(1, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 2u);
}

TEST_F(SessionTest, NoneIsLookedForWhereNoneComes) {
  Connect(1, 0);
  EXPECT_FALSE(session_->MayReattach());
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 1u);
}

TEST_F(SessionTest, AnAgentMayAnnounceAnother) {
  Connect(1, 0);
  WireWriter away;
  away.Uint(kLong);
  session_->OnHandover(away.Take());
  EXPECT_TRUE(session_->MayReattach());
  Replace(2, 0);
  EXPECT_EQ(Ask(), kErrNotFound);
  EXPECT_FALSE(session_->MayReattach()) << "as the new one says";
}

TEST_F(SessionTest, TheSearchHasAnEnd) {
  Connect(1, kShort);
  ASSERT_EQ(unlink(agent_.socket_path().c_str()), 0);
  Replace(2, kShort);
  EXPECT_EQ(Ask(), kErrLostConnection);
}

TEST_F(SessionTest, AnAgentThatRefusesEndsTheSearch) {
  Connect(1, kLong);
  agent_.On(FrameType::kHello, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kErrInvalidCred);
  });
  Replace(2, kLong);
  EXPECT_EQ(Ask(), kErrLostConnection);
}

TEST_F(SessionTest, WhoLeavesLooksForNoAgent) {
  Connect(1, kLong);
  session_->Disconnect();
  EXPECT_EQ(session_->Reattach(), nullptr);
  EXPECT_EQ(agent_.Count(FrameType::kHello), 1u);
}

}  // namespace
}  // namespace canopy::client
