#include "server/host/directives.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/values/value.h"

namespace canopy::host {
namespace {

class DirectivesTest : public testing::Test {
 protected:
  const ProcId proc_{"job", 1};
  std::vector<std::string> lines_;
  Directives directives_{"PMIx_Log", {"known"}, [this](const auto& line) {
                           lines_.push_back(line.text);
                         }};
};

TEST_F(DirectivesTest, Gen10AnIgnoredDirectiveIsLoggedOnce) {
  const InfoList infos = {{"known", Value::Bool(true)},
                          {"other", Value::Bool(true)},
                          {"other", Value::Bool(true)}};
  EXPECT_TRUE(directives_.Check(proc_, infos));
  EXPECT_TRUE(directives_.Check(proc_, infos));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "job:1: the directive other of PMIx_Log is ignored");
}

TEST_F(DirectivesTest, Gen10ARequiredUnknownDirectiveFailsTheCall) {
  InfoList infos;
  infos.Add("known", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_TRUE(directives_.Check(proc_, infos));
  infos.Add("other", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_FALSE(directives_.Check(proc_, infos));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(DirectivesTest, Gen12ADirectiveThatALayerBelowHasHonouredIsAccepted) {
  InfoList infos;
  infos.Add("other", Value::Bool(true),
            PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED);
  EXPECT_TRUE(directives_.Check(proc_, infos));
}

TEST_F(DirectivesTest, TheNumberOfLoggedKeysIsLimited) {
  InfoList infos;
  for (int i = 0; i < 1000; ++i) {
    infos.Add("k" + std::to_string(i), Value::Bool(true));
  }
  EXPECT_TRUE(directives_.Check(proc_, infos));
  EXPECT_EQ(lines_.size(), 64u);
}

}  // namespace
}  // namespace canopy::host
