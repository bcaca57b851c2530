#include "server/agent/recovery/handover.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace canopy::agent {
namespace {

using Calls = std::vector<std::string>;

class FakeActions : public HandoverActions {
 public:
  void Announce(uint32_t ms) override { Note("announce", ms); }
  void AnnounceToNeighbours(uint32_t ms,
                            std::function<void()> announced) override {
    Note("neighbours", ms);
    announced_ = std::move(announced);
  }
  bool AllIdentified() const override { return identified; }
  void ReadClients() override {
    calls.emplace_back("read");
    queued_ = true;
  }
  void Drain() override {
    calls.emplace_back(queued_ ? "drain" : "nothing to drain");
    replied_ = true;
  }
  void FlushReplies() override {
    calls.emplace_back(replied_ ? "flush" : "nothing to flush");
  }
  void Execute(const std::string& program) override {
    calls.push_back("execute " + program);
  }
  void Exit() override { calls.emplace_back("exit"); }
  void Fail() override { calls.emplace_back("fail"); }

  void Announced() { std::exchange(announced_, nullptr)(); }

  Calls calls;
  bool identified = true;
  uint32_t downtime_ms = Handover::kDowntimeMs;

 private:
  void Note(const std::string& call, uint32_t ms) {
    EXPECT_EQ(ms, downtime_ms);
    calls.push_back(call);
  }

  std::function<void()> announced_;
  bool queued_ = false;
  bool replied_ = false;
};

class HandoverTest : public testing::Test {
 protected:
  EventLoop loop_;
  FakeActions actions_;
  Handover handover_{&loop_, &actions_};
};

TEST_F(HandoverTest, TheFirstStageAnnouncesAndWaitsForTheNeighbours) {
  handover_.Begin("/new", "/own");
  loop_.RunOnce(0);
  EXPECT_EQ(actions_.calls, (Calls{"announce", "neighbours"}));
  EXPECT_EQ(handover_.stage(), HandoverStage::kAnnounce);
}

TEST_F(HandoverTest, ReceivedCallsOfClientsAreHandledAndAnswered) {
  handover_.Begin("/new", "/own");
  actions_.calls.clear();
  actions_.Announced();
  EXPECT_EQ(actions_.calls, Calls()) << "the call that began it has to end";
  loop_.RunOnce(0);
  EXPECT_EQ(actions_.calls, (Calls{"read", "drain", "flush", "execute /new",
                                   "execute /own", "fail"}));
  EXPECT_EQ(handover_.stage(), HandoverStage::kExecute);
}

TEST_F(HandoverTest, AnAgentExitsForASuccessorThatStartsLater) {
  actions_.downtime_ms = 7000;
  handover_.BeginExit(7000);
  handover_.BeginExit(1);
  actions_.Announced();
  loop_.RunOnce(0);
  EXPECT_EQ(actions_.calls, (Calls{"announce", "neighbours", "read", "drain",
                                   "flush", "exit"}));
}

TEST_F(HandoverTest, AHandoverWaitsUntilClientsAreIdentified) {
  actions_.identified = false;
  handover_.Begin("/new", "/own");
  actions_.calls.clear();
  actions_.Announced();
  loop_.RunOnce(0);
  EXPECT_EQ(handover_.stage(), HandoverStage::kIdentify);
  EXPECT_EQ(actions_.calls, Calls());
  actions_.identified = true;
  while (actions_.calls.empty()) loop_.RunOnce(1000);
  EXPECT_EQ(actions_.calls.front(), "read");
}

TEST_F(HandoverTest, TheWaitForIdentificationIsLimited) {
  actions_.identified = false;
  handover_.Begin("/new", "/own");
  actions_.calls.clear();
  actions_.Announced();
  while (actions_.calls.empty()) loop_.RunOnce(1000);
  EXPECT_EQ(actions_.calls.front(), "read");
}

TEST_F(HandoverTest, ASecondHandoverIsIgnored) {
  handover_.Begin("/new", "/own");
  handover_.Begin("/other", "/own");
  EXPECT_EQ(actions_.calls, (Calls{"announce", "neighbours"}));
}

}  // namespace
}  // namespace canopy::agent
