#include "server/log/log_run.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::log {
namespace {

class LogRunTest : public testing::Test {
 protected:
  LogRunTest() {
    places_.put_text = [this](ProcessText text, TextDone done) {
      texts_.push_back(text);
      done(text_status_);
    };
    places_.put_syslog = [this](const SyslogText& text) {
      lines_.push_back(text.text);
      return syslog_status_;
    };
  }

  LogPlan Plan(bool once) const {
    LogPlan plan;
    plan.once = once;
    plan.entries = {{Channel::kSyslog, "s", 3},
                    {Channel::kStdout, "o", 3},
                    {Channel::kStderr, "e", 3}};
    return plan;
  }
  std::optional<int> Run(LogPlan plan) {
    std::optional<int> result;
    RunLog(places_, {{"job", 1}, 7, 8, true}, std::move(plan), [&](int status) {
      EXPECT_FALSE(result);
      result = status;
    });
    return result;
  }

  LogPlaces places_;
  int text_status_ = kSuccess;
  int syslog_status_ = kSuccess;
  std::vector<ProcessText> texts_;
  std::vector<std::string> lines_;
};

TEST_F(LogRunTest, Job20EachDestinationGetsItsTexts) {
  EXPECT_EQ(Run(Plan(false)), kSuccess);
  EXPECT_EQ(lines_, std::vector<std::string>{"s"});
  ASSERT_EQ(texts_.size(), 1u);
  EXPECT_EQ(texts_[0].proc, (ProcId{"job", 1}));
  EXPECT_EQ(texts_[0].client, 7u);
  EXPECT_EQ(texts_[0].request, 8u);
  EXPECT_TRUE(texts_[0].again);
  ASSERT_EQ(texts_[0].pieces.size(), 2u);
  EXPECT_FALSE(texts_[0].pieces[0].is_error);
  EXPECT_TRUE(texts_[0].pieces[1].is_error);
}

TEST_F(LogRunTest, AFailedDestinationIsPartialSuccess) {
  syslog_status_ = kErrOutOfResource;
  EXPECT_EQ(Run(Plan(false)), kErrPartialSuccess);
  text_status_ = kErrNotFound;
  EXPECT_EQ(Run(Plan(false)), kErrOutOfResource);
  syslog_status_ = kSuccess;
  EXPECT_EQ(Run(Plan(false)), kErrPartialSuccess);
}

TEST_F(LogRunTest, TheRequestEndsWithTheStatusOfThePlan) {
  LogPlan plan = Plan(false);
  plan.status = kErrPartialSuccess;
  EXPECT_EQ(Run(plan), kErrPartialSuccess);
  plan.entries.clear();
  plan.status = kErrNotSupported;
  EXPECT_EQ(Run(plan), kErrNotSupported);
}

TEST_F(LogRunTest, Job23OnceUsesTheFirstDestinationThatAcceptsTheText) {
  EXPECT_EQ(Run(Plan(true)), kSuccess);
  EXPECT_TRUE(texts_.empty());
  syslog_status_ = kErrNotSupported;
  EXPECT_EQ(Run(Plan(true)), kSuccess);
  ASSERT_EQ(texts_.size(), 1u);
  ASSERT_EQ(texts_[0].pieces.size(), 1u);
  EXPECT_EQ(texts_[0].pieces[0].text, "o");
  text_status_ = kErrOutOfResource;
  EXPECT_EQ(Run(Plan(true)), kErrOutOfResource);
  EXPECT_EQ(texts_.size(), 3u);
}

TEST_F(LogRunTest, MissingDestinationsAreNotSupported) {
  places_ = {};
  EXPECT_EQ(Run(Plan(false)), kErrNotSupported);
  EXPECT_EQ(Run(Plan(true)), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::log
