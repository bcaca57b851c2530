#include "server/core/iof/input_pushes.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/iof_call.h"
#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

class InputPushesTest : public testing::Test {
 protected:
  InputPushesTest() {
    Add("one", StdinTarget::kRank, true);
    Add("all", StdinTarget::kAll, true);
    Add("launcher", StdinTarget::kRank, false);
  }

  void Add(const std::string& nspace, StdinTarget target, bool pushed) {
    auto job = std::make_shared<JobSpec>(*JobOn(nspace, {0, 1}));
    job->uid = 17;
    job->stdin_target = target;
    job->stdin_rank = 1;
    job->forwarding.input = pushed;
    jobs_.Add(std::move(job));
  }

  std::optional<int> Push(const ProcId& target, const std::string& text,
                          bool complete = false, uint64_t request = 0,
                          NodeId src = 1) {
    Actions actions;
    const HostRequest call{
        {"tool", 0},
        request == 0 ? ++request_ : request,
        HostOp::kPushInput,
        uid_,
        18,
        target.nspace,
        {target},
        Bytes(wire::Encode(InputPush{Bytes(text), complete}))};
    return pushes_.OnRequest({0, actions}, src, call);
  }

  Tree tree_{2, 2};
  JobTable jobs_{0};
  JobEngine engine_{0, {"a", "b"}, tree_, jobs_};
  InputPushes pushes_{jobs_, engine_};
  uint64_t request_ = 0;
  uint32_t uid_ = 17;
};

TEST_F(InputPushesTest, APushIsAnsweredWhenItIsConsumed) {
  EXPECT_EQ(Push({"one", 1}, "abc"), std::nullopt);
  EXPECT_EQ(Push({"one", 1}, "de"), std::nullopt);
  EXPECT_EQ(pushes_.size(), 2u);
  pushes_.OnTaken("one", 2);
  EXPECT_TRUE(pushes_.TakeAnswers().empty());
  pushes_.OnTaken("one", 2);
  const auto first = pushes_.TakeAnswers();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].pusher.request, 1u);
  EXPECT_EQ(first[0].pusher.node, 1u);
  EXPECT_EQ(first[0].status, kSuccess);
  pushes_.OnTaken("one", 1);
  EXPECT_EQ(pushes_.TakeAnswers().size(), 1u);
  EXPECT_EQ(pushes_.size(), 0u);
}

TEST_F(InputPushesTest, PushesMustNameTheInputTargetOfTheJob) {
  EXPECT_EQ(Push({"one", 0}, "x"), kErrNotSupported);
  EXPECT_EQ(Push({"one", kRankWildcard}, "x"), kErrNotSupported);
  EXPECT_EQ(Push({"all", 1}, "x"), kErrNotSupported);
  EXPECT_EQ(Push({"all", kRankWildcard}, "x"), std::nullopt);
  EXPECT_EQ(Push({"launcher", 1}, "x"), kErrNotSupported);
  EXPECT_EQ(Push({"nobody", 1}, "x"), kErrNotFound);
  EXPECT_EQ(Push({"one", 1}, ""), kErrBadParam);
  uid_ = 18;
  EXPECT_EQ(Push({"one", 1}, "x"), kErrNoPermissions);
}

TEST_F(InputPushesTest, APushAfterTheEndOfInputFails) {
  EXPECT_EQ(Push({"one", 1}, "x", true), std::nullopt);
  EXPECT_EQ(Push({"one", 1}, "y"), kErrIofComplete);
  pushes_.OnTaken("one", 1);
  EXPECT_EQ(pushes_.TakeAnswers().size(), 1u);
  // An end without data is consumed at once.
  EXPECT_EQ(Push({"all", kRankWildcard}, "", true), std::nullopt);
  EXPECT_EQ(pushes_.TakeAnswers().size(), 1u);
}

TEST_F(InputPushesTest, ARepeatedPushIsDeliveredOnce) {
  EXPECT_EQ(Push({"one", 1}, "abc", false, 7), std::nullopt);
  EXPECT_EQ(Push({"one", 1}, "abc", false, 7, 0), std::nullopt);
  EXPECT_EQ(pushes_.size(), 1u);
  pushes_.OnTaken("one", 3);
  const auto answers = pushes_.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].pusher.node, 0u) << "where it came from last";
  EXPECT_EQ(Push({"one", 1}, "abc", false, 7), kSuccess);
  EXPECT_EQ(pushes_.size(), 0u);
}

// The later pushes come from the new process of a restarted rank, or from
// another tool with the same name.
TEST_F(InputPushesTest, APushOfANewProcessMayHaveALowerNumber) {
  EXPECT_EQ(Push({"one", 1}, "abc", false, 700), std::nullopt);
  pushes_.OnTaken("one", 3);
  EXPECT_EQ(pushes_.TakeAnswers().size(), 1u);
  EXPECT_EQ(Push({"one", 1}, "de", false, 7), std::nullopt);
  EXPECT_EQ(pushes_.size(), 1u) << "it is given";
  pushes_.OnTaken("one", 2);
  EXPECT_EQ(pushes_.TakeAnswers().size(), 1u);
  EXPECT_EQ(Push({"one", 1}, "abc", false, 700), kSuccess);
  EXPECT_EQ(Push({"one", 1}, "de", false, 7), kSuccess);
  EXPECT_EQ(pushes_.size(), 0u);
}

TEST_F(InputPushesTest, PendingBytesAreBounded) {
  const std::string much(kMaxPushed, 'x');
  EXPECT_EQ(Push({"one", 1}, much), std::nullopt);
  EXPECT_EQ(Push({"one", 1}, "x"), kErrOutOfResource);
  pushes_.OnTaken("one", 1);
  EXPECT_EQ(Push({"one", 1}, "x"), std::nullopt);
}

TEST_F(InputPushesTest, TheEndOfTheJobAnswersItsPendingPushes) {
  EXPECT_EQ(Push({"one", 1}, "x"), std::nullopt);
  pushes_.OnJobRemoved("one");
  const auto answers = pushes_.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].status, kErrIofComplete);
  EXPECT_EQ(pushes_.size(), 0u);
}

}  // namespace
}  // namespace canopy::core
