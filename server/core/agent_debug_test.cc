// Tests of the timeouts of processes while a debugger holds one of them on
// another node: the notifications between agents, and the effect of a restart.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/job_debug.h"
#include "common/status.h"
#include "server/core/agent_core.h"
#include "server/core/core_testing.h"
#include "server/core/data_range.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr int kRelease = -3;

// Agents 0 and 1 with one rank of "job" each; the client of agent n is n + 1.
// Rank 0 stops at its exec. Client 9 is a tool at agent 1.
class AgentDebugTest : public testing::Test {
 protected:
  AgentDebugTest() {
    JobSpec job = *JobOn("job", {0, 1});
    job.debug.on_exec = std::vector<Rank>{0};
    job.timeout_seconds = 20;
    job_ = std::make_shared<const JobSpec>(job);
    for (NodeId n = 0; n < 2; ++n) Make(n);
    Step(0, LaunchRequested{job_});
    for (NodeId n = 0; n < 2; ++n) Step(n, LocalPrepared{"job", 0, ""});
    for (NodeId n = 0; n < 2; ++n) Step(n, LocalStarted{"job", 1, 0, ""});
    Step(1, ClientConnected{2, {"job", 1}});
    Step(1, ClientConnected{9, {"tool", 0}, true});
  }
  void Make(NodeId n) {
    CoreConfig config;
    config.self = n;
    config.node_names = {"a", "b"};
    config.persists = true;
    config.began_at = now_;
    cores_[n] = std::make_unique<AgentCore>(config);
  }
  // Handles the input and everything that follows from it on both nodes.
  void Step(NodeId n, Input input) {
    inputs_.emplace_back(n, std::move(input));
    while (!inputs_.empty()) {
      auto [node, next] = std::move(inputs_.front());
      inputs_.pop_front();
      for (const Action& action : cores_[node]->Step(now_, std::move(next))) {
        Execute(node, action);
      }
    }
  }
  void Execute(NodeId n, const Action& action) {
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      inputs_.emplace_back(send->message.dst, PeerArrived{send->message});
    } else if (const auto* record = std::get_if<PersistRecord>(&action)) {
      std::erase_if(records_[n],
                    [&](const auto& r) { return r.key == record->key; });
      records_[n].push_back({record->key, record->value});
    } else if (const auto* state = std::get_if<PersistControlState>(&action)) {
      control_ = state->state;
    } else if (const auto* reply = std::get_if<ReplyClient>(&action)) {
      replies_[reply->request] = reply->status;
    } else if (const auto* change = std::get_if<JobHeld>(&action)) {
      held_[n] = change->held;
    } else if (const auto* job = std::get_if<JobChanged>(&action)) {
      out_of_time_ |= job->out_of_time;
    }
  }
  // Gives both agents a Tick every second until `when`, so that deadlines
  // expire.
  void Until(TimeNs when) {
    for (now_ += kSecond; now_ <= when; now_ += kSecond) {
      for (NodeId n = 0; n < 2; ++n) Step(n, Tick{});
    }
    now_ = when;
  }
  void RestartController() {
    Make(0);
    Step(0, JobRecovered{job_, true, records_[0], {}, true, control_});
    Step(1, NodeRestarted{0});
    Step(0, LauncherReattached{"job", std::vector<uint64_t>{0, 0}});
  }
  void Release(DataRange range) {
    EventRaised release;
    release.client = 9;
    release.request = 90;
    release.status = kRelease;
    release.range = static_cast<uint8_t>(range);
    Encoder none;
    none.PutSize(0);
    release.info = Bytes(none.Take());
    Step(1, release);
  }
  // Makes rank 1 wait for rank 0 in a fence, a get and a lookup, each with a
  // time limit of five seconds.
  void Wait(RequestId fence, RequestId get, RequestId lookup) {
    CollectiveArrived arrived;
    arrived.client = 2;
    arrived.request = fence;
    arrived.timeout_ms = 5000;
    Step(1, arrived);
    GetArrived wanted;
    wanted.client = 2;
    wanted.request = get;
    wanted.target = {"job", 0};
    wanted.key = "k";
    wanted.timeout_ms = 5000;
    Step(1, wanted);
    LookupArrived looked;
    looked.client = 2;
    looked.request = lookup;
    looked.keys = {"p"};
    Encoder info;
    info.PutSize(2);
    PutInfo("pmix.wait", PMIX_INT, &info);
    info.PutInt(1);
    PutInfo("pmix.timeout", PMIX_INT, &info);
    info.PutInt(5);
    looked.info = Bytes(info.Take());
    Step(1, looked);
  }
  static void PutInfo(const char* key, uint16_t type, Encoder* out) {
    out->PutString(key);
    out->PutUint32(0);
    out->PutUint16(type);
  }

  std::shared_ptr<const JobSpec> job_;
  std::unique_ptr<AgentCore> cores_[2];
  std::deque<std::pair<NodeId, Input>> inputs_;
  std::vector<PersistedRecord> records_[2];
  std::optional<Bytes> control_;
  std::map<RequestId, int> replies_;
  std::map<NodeId, bool> held_;
  bool out_of_time_ = false;
  TimeNs now_ = 0;
};

TEST_F(AgentDebugTest, TimeLimitsAreSuspendedOnAllNodesUntilTheRelease) {
  EXPECT_TRUE(held_.at(0) && held_.at(1));
  Wait(1, 2, 3);
  Until(60 * kSecond);
  EXPECT_TRUE(replies_.empty());
  EXPECT_FALSE(out_of_time_);
  Release(DataRange::kSession);
  EXPECT_FALSE(held_.at(0) || held_.at(1));
  Until(63 * kSecond);
  EXPECT_EQ(replies_.size(), 1u) << "of the release";
  Until(66 * kSecond);
  for (const RequestId request : {1, 2, 3}) {
    EXPECT_EQ(replies_.at(request), kErrTimeout) << request;
  }
  EXPECT_FALSE(out_of_time_);
  Until(81 * kSecond);
  EXPECT_TRUE(out_of_time_);
}

TEST_F(AgentDebugTest, TimeLimitsOfOtherJobsAreNotSuspended) {
  CollectiveArrived arrived;
  Step(0, LaunchRequested{JobOn("other", {0, 0})});
  Step(0, LocalPrepared{"other", 0, ""});
  Step(0, LocalStarted{"other", 2, 0, ""});
  Step(0, ClientConnected{5, {"other", 0}});
  arrived.client = 5;
  arrived.request = 4;
  arrived.timeout_ms = 5000;
  Step(0, arrived);
  Until(5 * kSecond);
  EXPECT_EQ(replies_.at(4), kErrTimeout);
}

TEST_F(AgentDebugTest, ARestartedAgentRecoversTheHolds) {
  Until(15 * kSecond);
  held_.clear();
  RestartController();
  EXPECT_TRUE(held_.at(0));
  Until(60 * kSecond);
  EXPECT_FALSE(out_of_time_);
  Release(DataRange::kSession);
  EXPECT_FALSE(held_.at(0));
  Until(78 * kSecond);
  EXPECT_FALSE(out_of_time_) << "nothing of its time had passed";
  Until(82 * kSecond);
  EXPECT_TRUE(out_of_time_);
}

TEST_F(AgentDebugTest, AHoldThatEndedBeforeARestartStaysEnded) {
  Until(10 * kSecond);
  Release(DataRange::kSession);
  held_.clear();
  RestartController();
  EXPECT_TRUE(held_.empty());
  Until(29 * kSecond);
  EXPECT_FALSE(out_of_time_);
  Until(31 * kSecond);
  EXPECT_TRUE(out_of_time_);
}

TEST_F(AgentDebugTest, TheLossOfANodeEndsItsHolds) {
  Step(1, NodeStateChanged{0, false, "gone"});
  EXPECT_FALSE(held_.at(1));
}

TEST_F(AgentDebugTest, TheEndOfTheHeldProcessEndsTheHold) {
  LocalExits exits;
  exits.nspace = "job";
  exits.exits = {{0, 9, false, false, false}};
  Step(0, exits);
  EXPECT_FALSE(held_.at(0) || held_.at(1));
}

}  // namespace
}  // namespace canopy::core
