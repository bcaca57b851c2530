#include "server/scheduler/command_history.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/scheduler/fake_report_store.h"

namespace canopy::scheduler {
namespace {

constexpr int64_t kNow = 1'000'000;

class CommandHistoryTest : public testing::Test {
 protected:
  CommandHistoryTest() { Begin(); }

  void Begin() {
    history_ = std::make_unique<CommandHistory>(
        [this](const std::string& text) { said_.push_back(text); });
  }
  // Replaces the history by that of a successor. Returns the commands that the
  // predecessor had not ended.
  std::vector<std::string> Restart(int64_t now = kNow) {
    Begin();
    return history_->SetStore(&store_, store_.commands, now);
  }
  void End(const std::string& id, int status = 0, bool keep = true,
           int64_t now = kNow) {
    v1::CommandResult result;
    result.set_command_id(id);
    result.set_pmix_status(status);
    history_->End(result, keep, now);
  }
  // Returns the command's status; 1 means that it is unknown, and 2 that it is
  // being executed.
  int Status(const std::string& id, int64_t now = kNow) const {
    const CommandHistory::Known* known = history_->Find(id, now);
    if (known == nullptr) return 1;
    return known->done ? known->result.pmix_status() : 2;
  }

  FakeReportStore store_;
  std::vector<std::string> said_;
  std::unique_ptr<CommandHistory> history_;
};

TEST_F(CommandHistoryTest, TheHistoryReturnsTheStatusOfExecutedCommands) {
  EXPECT_EQ(Status("a"), 1);
  history_->Begin("a", "", kNow);
  EXPECT_EQ(Status("a"), 2);
  End("a", -46);
  End("b");
  EXPECT_EQ(Status("a"), -46);
  EXPECT_EQ(Status("b"), 0);
}

TEST_F(CommandHistoryTest, ASuccessorReadsTheStoredCommands) {
  Restart();
  End("a", -46);
  End("of this process", 0, /*keep=*/false);
  history_->Begin("b", "batch 1", kNow);
  history_->Begin("c", "", kNow);
  End("c");
  EXPECT_EQ(Restart(), std::vector<std::string>{"b"});
  EXPECT_EQ(Status("a"), -46);
  EXPECT_EQ(Status("b"), 2);
  EXPECT_EQ(history_->Find("b", kNow)->request, "batch 1");
  EXPECT_EQ(Status("c"), 0);
  EXPECT_EQ(Status("of this process"), 1);
  End("b", -5);
  EXPECT_TRUE(Restart().empty());
  EXPECT_EQ(Status("b"), -5);
}

TEST_F(CommandHistoryTest, TheOldestCommandsAreForgotten) {
  Restart();
  for (size_t i = 0; i <= CommandHistory::kMaxCommands; ++i) {
    End(std::to_string(i));
  }
  EXPECT_EQ(Status("0"), 1);
  EXPECT_EQ(Status("1"), 0);
  Restart();
  EXPECT_EQ(Status("0"), 1);
  EXPECT_EQ(Status("1"), 0);
}

TEST_F(CommandHistoryTest, CommandsAreForgottenAfterADay) {
  constexpr int64_t kLater = kNow + CommandHistory::kMaxAgeMs;
  Restart();
  End("a");
  End("b", 0, true, kNow + 1);
  EXPECT_EQ(Status("a", kLater), 0);
  EXPECT_EQ(Status("a", kLater + 1), 1);
  Restart(kLater + 1);
  EXPECT_EQ(Status("a", kNow), 1);
  EXPECT_EQ(Status("b", kNow), 0);
  End("a", -7, true, kLater + 1);
  EXPECT_EQ(Status("a", kLater + 1), -7) << "the name may be used again";
}

TEST_F(CommandHistoryTest, MalformedEntriesAreIgnored) {
  Restart();
  End("a");
  store_.commands.insert(store_.commands.begin(),
                         {"", "nonsense", store_.commands[0] + "x",
                          store_.commands[0].substr(0, 4)});
  Restart();
  EXPECT_EQ(Status("a"), 0);
}

TEST_F(CommandHistoryTest, AFailureToStoreIsLoggedOnce) {
  Restart();
  store_.status = canopy::Status(kErrJobSysOpFailed, "no space");
  End("a");
  End("b");
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("no space"), std::string::npos);
}

}  // namespace
}  // namespace canopy::scheduler
