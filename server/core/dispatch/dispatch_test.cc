#include "server/core/dispatch/dispatch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Agent 0 of two, with both ranks of "job"; client 1 is rank 0.
class DispatchTest : public testing::Test {
 protected:
  DispatchTest() : e_(Config()) {
    e_.jobs.Add(JobOn("job", {0, 0}));
    Give(ClientConnected{1, {"job", 0}});
  }
  static CoreConfig Config() {
    CoreConfig config;
    config.node_names = {"a", "b"};
    config.persists = true;
    return config;
  }
  Actions Give(const Input& input) {
    Dispatch(e_, input);
    return std::exchange(e_.out, {});
  }

  Engines e_;
};

TEST_F(DispatchTest, RequestsOfUnknownClientsAreRefused) {
  for (const Input& input :
       {Input(Committed{9, 7, {{Scope::kGlobal, Kval("k")}}}),
        Input(AbortArrived{9, 7, 1, "", {}})}) {
    const auto replies = All<ReplyClient>(Give(input));
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].status, kErrInit);
  }
}

TEST_F(DispatchTest, ACommitIsPersistedBeforeItIsPublished) {
  const Actions actions = Give(Committed{1, 7, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<PersistRecord>(actions[0]));
  EXPECT_EQ(std::get<PublishRank>(actions[1]).request, 7u);
  // The other engines have not been notified of the commit yet.
  EXPECT_EQ(TakeAll<DataChange>(&e_.queue).size(), 1u);
}

TEST_F(DispatchTest, MalformedCommitsEndTheConnection) {
  const Actions actions =
      Give(Committed{1, 7, {{Scope::kGlobal, Bytes("\xff")}}});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<CloseClient>(actions[0]).client, 1u);
}

TEST_F(DispatchTest, AGoneClientIsRemovedFromAllEngines) {
  CollectiveArrived fence;
  fence.client = fence.request = 1;
  Give(fence);
  Give(EventsWanted{1, 2, true, {}});
  EXPECT_EQ(e_.Count().listeners, 1u);
  Give(ClientGone{1});
  EXPECT_EQ(e_.Count().listeners, 0u);
  EXPECT_EQ(e_.Count().clients, 0u);
}

TEST_F(DispatchTest, AToolIsGoneWhenItsLastConnectionEnds) {
  for (const ClientId client : {7, 8}) {
    Give(ClientConnected{client, {"tool", 0}, true});
  }
  EXPECT_TRUE(All<ToolGone>(Give(ClientGone{7})).empty());
  const auto gone = All<ToolGone>(Give(ClientGone{8}));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].proc, (ProcId{"tool", 0}));
  EXPECT_TRUE(All<ToolGone>(Give(ClientGone{1})).empty()) << "of a job";
}

TEST_F(DispatchTest, StartedProcessesAreRecorded) {
  Give(LocalProcesses{"job", {{1, 42}}});
  EXPECT_EQ(e_.jobs.Find("job")->processes.at(1).pid, 42);
}

TEST_F(DispatchTest, ALeaveOfAnUnknownGroupIsNotFound) {
  GroupCallArrived leave;
  leave.client = 1;
  leave.request = 3;
  leave.call = GroupCallArrived::Call::kLeave;
  leave.name = "g";
  const auto replies = All<ReplyClient>(Give(leave));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, kErrNotFound);
}

}  // namespace
}  // namespace canopy::core
