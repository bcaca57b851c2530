// Tests with agents that send messages about publications without the right to
// do so, and tests of claims that are returned.
#include <gtest/gtest.h>

#include <string>

#include "common/status.h"
#include "server/core/publish/publishing_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr NodeId kLiar = 3;
constexpr uint64_t kVersion = 1000;

const ProcId kA0{"a", 0};  // on agent 0
const ProcId kB0{"b", 0};  // on agent 1
const ProcId kC0{"c", 0};  // on agent 0

// Agents 2 and 3 have no processes; agent 2 owns the key.
class PublishingLiesTest : public testing::Test {
 protected:
  PublishingLiesTest() {
    agents_.AddJob("a", {0});
    agents_.AddJob("b", {1});
    agents_.AddJob("c", {0});
    while (HomesOf(key_, agents_.tree(0)).owner != 2) key_ += "k";
  }

  // Delivers messages until the next one is of this type, and leaves that one
  // undelivered.
  template <typename Body>
  PeerMessage RunTo() {
    for (;;) {
      if (agents_.wire().empty()) {
        ADD_FAILURE() << "no such message";
        return {};
      }
      const PeerMessage next = agents_.wire().front();
      if (std::holds_alternative<Body>(next.body)) return next;
      agents_.RunOne();
    }
  }
  Actions Say(NodeId to, MessageBody body, NodeId from = kLiar) {
    Actions actions;
    agents_.at(to).OnPeer({agents_.now(), actions},
                          {from, to, std::move(body)});
    return actions;
  }
  int AnswerOf(const Actions& actions) {
    const auto answers = Sent<DirectoryAnswer>(actions);
    return answers.empty() ? PublishingAgents::kPending
                           : answers.front().second.status;
  }
  void PublishOnce() {
    const Bytes info =
        Persisting(Persistence::kFirstRead).Text(key_, "value").Take();
    const RequestId request = agents_.BeginPublish(kA0, info);
    agents_.Run();
    ASSERT_EQ(agents_.StatusOf(request), kSuccess);
  }
  static Bytes Wait(uint32_t seconds) {
    return Infos()
        .Number("pmix.wait", PMIX_INT, 0)
        .Number("pmix.timeout", PMIX_INT, seconds)
        .Take();
  }

  std::string key_ = "k";
  PublishingAgents agents_{4};
};

TEST_F(PublishingLiesTest, AnAnswerOfAnAgentThatWasNotQueriedIsIgnored) {
  ASSERT_EQ(agents_.Publish(kA0, key_, "value"), kSuccess);
  const RequestId lookup = agents_.BeginLookup(kB0, {key_});
  const auto asked = std::get<DirectoryLookup>(RunTo<DirectoryLookup>().body);
  Publication forged;
  forged.id = {kA0, 1};
  forged.key = key_;
  EXPECT_TRUE(Say(1, DirectoryFound{asked.request, {forged}, {}}).empty());
  agents_.Run();
  EXPECT_EQ(agents_.ResultOf(lookup).values[key_], "value");
}

TEST_F(PublishingLiesTest, OnlyTheStewardMayStoreAndRemove) {
  const RequestId request =
      agents_.BeginPublish(kA0, Infos().Text(key_, "value").Take());
  const auto store = std::get<DirectoryStore>(RunTo<DirectoryStore>().body);
  agents_.Run();
  ASSERT_EQ(agents_.StatusOf(request), kSuccess);
  Publication forged = store.publication;
  forged.version = kVersion;
  forged.value = Bytes();
  EXPECT_EQ(AnswerOf(Say(2, DirectoryStore{9, forged, false})), kErrBadParam);
  EXPECT_EQ(AnswerOf(Say(2, DirectoryRemove{9, forged.id})), kErrNoPermissions);
  EXPECT_EQ(agents_.Lookup(kB0, {key_}).values[key_], "value");
  EXPECT_EQ(agents_.Unpublish(kA0, {key_}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {key_}).status, kErrNotFound);
}

TEST_F(PublishingLiesTest, OnlyTheReadersAgentMayClaim) {
  PublishOnce();
  const RequestId lookup = agents_.BeginLookup(kB0, {key_}, Wait(60));
  DirectoryClaim claim = std::get<DirectoryClaim>(RunTo<DirectoryClaim>().body);
  agents_.RunOne();
  // The claim is granted; the answer is in flight.
  for (const ClaimKind kind :
       {ClaimKind::kTake, ClaimKind::kFinish, ClaimKind::kReturn}) {
    claim.kind = kind;
    const Actions said = Say(0, claim);
    EXPECT_TRUE(Sent<DirectoryRemove>(said).empty());
    EXPECT_TRUE(Sent<DirectoryStore>(said).empty());
  }
  agents_.Run();
  EXPECT_EQ(agents_.StatusOf(lookup), kSuccess);
  EXPECT_EQ(agents_.Lookup(kC0, {key_}).status, kErrNotFound);
}

// Both readers are offered the publication; one gets it and returns it, and the
// other still wants it.
TEST_F(PublishingLiesTest, AReturnedPublicationIsGivenToAWaitingReader) {
  PublishOnce();
  const RequestId greedy = agents_.BeginLookup(kB0, {key_, "never"}, Wait(1));
  const RequestId patient = agents_.BeginLookup(kC0, {key_}, Wait(60));
  agents_.Run();
  EXPECT_EQ(agents_.StatusOf(patient), PublishingAgents::kPending);
  agents_.Pass(2 * kSecond);
  EXPECT_EQ(agents_.StatusOf(greedy), kErrTimeout);
  EXPECT_EQ(agents_.StatusOf(patient), kSuccess);
  EXPECT_EQ(agents_.operations(), 0u);
}

// A claim arrives a second time, after it was refused and another reader
// returned the publication. The answer has no receiver any more.
TEST_F(PublishingLiesTest, ARepeatedClaimThatWasRefusedHasNoEffect) {
  PublishOnce();
  const RequestId greedy = agents_.BeginLookup(kB0, {key_, "never"}, Wait(1));
  agents_.BeginLookup(kC0, {key_});
  PeerMessage refused;
  while (!agents_.wire().empty()) {
    const PeerMessage next = agents_.wire().front();
    const auto* claim = std::get_if<DirectoryClaim>(&next.body);
    if (claim != nullptr && claim->reader.proc == kB0) refused = next;
    agents_.RunOne();
  }
  agents_.Pass(2 * kSecond);
  ASSERT_EQ(agents_.StatusOf(greedy), kErrTimeout);
  EXPECT_EQ(AnswerOf(Say(refused.dst, refused.body, refused.src)),
            kErrNotFound);
}

}  // namespace
}  // namespace canopy::core
