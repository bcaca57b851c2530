#include "tests/sim/clients.h"

#include <gtest/gtest.h>

#include <optional>
#include <variant>
#include <vector>

#include "common/status.h"
#include "tests/sim/event_queue.h"

namespace canopy::sim {
namespace {

class ClientsTest : public testing::Test {
 protected:
  ClientsTest() {
    jobs_.Add(job_);
    oracle_.OnJob(job_);
    clients_.Connect(kRank);
    (void)Inputs();
  }
  std::vector<core::Input> Inputs() {
    std::vector<core::Input> out;
    while (std::optional<Event> event = queue_.Take()) {
      out.push_back(std::get<LocalInput>(*event).input);
    }
    return out;
  }
  void Reply(RequestId request, int status) {
    core::ReplyClient reply{clients_.IdOf(kRank), request, status, {}};
    clients_.On(0, reply);
  }

  const ProcId kRank{"job", 0};
  const JobSpec job_ = MakeJob("job", std::vector<NodeId>{0, 0});
  Settings settings_{true};
  Errors errors_;
  Random random_{1, settings_.options};
  EventQueue queue_;
  JobCatalog jobs_;
  Oracle oracle_{[this](const std::string& e) { errors_.push_back(e); }};
  Membership members_{1, 2, queue_, random_};
  AgentInputs inputs_{queue_, members_};
  Clients clients_{settings_, jobs_, inputs_, oracle_, errors_};
};

TEST_F(ClientsTest, ASecondAnswerIsAnError) {
  RequestId answered = 0;
  settings_.hooks.on_answer = [&](RequestId request) { answered = request; };
  const RequestId get = clients_.Get(kRank, {});
  EXPECT_EQ(clients_.StatusOf(get), kUnanswered);
  Reply(get, kErrNotFound);
  EXPECT_EQ(clients_.StatusOf(get), kErrNotFound);
  EXPECT_EQ(answered, get);
  Reply(get, kErrNotFound);
  EXPECT_EQ(errors_.size(), 1u) << "answered twice";
}

TEST_F(ClientsTest, APublicationAnswersItsCommit) {
  core::PublishRank publish;
  publish.proc = kRank;
  publish.client = clients_.IdOf(kRank);
  publish.request = clients_.NewRequest();
  clients_.On(0, publish);
  EXPECT_EQ(clients_.StatusOf(publish.request), kSuccess);
}

TEST_F(ClientsTest, NoInputIsSentWithoutAnAgent) {
  clients_.LoseAgent({kRank});
  EXPECT_TRUE(clients_.IsAway(kRank));
  clients_.Commit(kRank, core::Scope::kGlobal, "key", "value");
  clients_.Fence(kRank);
  clients_.OnExit(kRank);
  EXPECT_TRUE(Inputs().empty());
  EXPECT_FALSE(clients_.IsAway(kRank));
}

TEST_F(ClientsTest, AReattachRepeatsCommitsAndPendingRequests) {
  clients_.Commit(kRank, core::Scope::kGlobal, "key", "value");
  Reply(clients_.Fence(kRank), kSuccess);
  const RequestId pending = clients_.Fence(kRank);
  (void)Inputs();
  clients_.LoseAgent({kRank});
  clients_.Reattach(kRank);
  const std::vector<core::Input> sent = Inputs();
  ASSERT_EQ(sent.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<core::ClientConnected>(sent[0]));
  const auto& counts = std::get<core::ClientReattached>(sent[1]).counts;
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].ended, 1u) << "one fence has ended";
  EXPECT_EQ(std::get<core::Committed>(sent[2]).data.size(), 1u);
  const auto& fence = std::get<core::CollectiveArrived>(sent[3]);
  EXPECT_EQ(fence.request, pending);
  EXPECT_EQ(fence.client, clients_.IdOf(kRank)) << "on the new connection";
}

}  // namespace
}  // namespace canopy::sim
