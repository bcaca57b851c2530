#include "common/support/ignored_directives.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::support {
namespace {

using Reported = std::vector<std::string>;

class IgnoredDirectivesTest : public testing::Test {
 protected:
  IgnoredDirectives::Report ToList() {
    return [this](std::string_view function, std::string_view key) {
      reported_.push_back(std::string(function) + " " + std::string(key));
    };
  }

  IgnoredDirectives ignored_;
  Reported reported_;
};

TEST_F(IgnoredDirectivesTest, EachDirectiveIsReportedOnce) {
  ignored_.SetReport(ToList());
  ignored_.Note("PMIx_Get", "a");
  ignored_.Note("PMIx_Get", "a");
  ignored_.Note("PMIx_Fence", "a");
  EXPECT_EQ(reported_, (Reported{"PMIx_Get a", "PMIx_Fence a"}));
}

TEST_F(IgnoredDirectivesTest, DirectivesNotedBeforeSetReportAreReportedOnce) {
  ignored_.Note("PMIx_Init", "a");
  ignored_.Note("PMIx_Init", "a");
  ignored_.SetReport(ToList());
  EXPECT_EQ(reported_, (Reported{"PMIx_Init a"}));
  ignored_.SetReport(ToList());
  EXPECT_EQ(reported_.size(), 1u) << "was reported before";
  ignored_.End();
  EXPECT_EQ(reported_.size(), 1u);
  ignored_.Note("PMIx_Init", "a");
  ignored_.SetReport(ToList());
  EXPECT_EQ(reported_.size(), 2u) << "this is another log";
}

TEST_F(IgnoredDirectivesTest, ReportsAreBounded) {
  ignored_.SetReport(ToList());
  for (int i = 0; i < 1000; ++i) ignored_.Note("PMIx_Get", std::to_string(i));
  EXPECT_EQ(reported_.size(), IgnoredDirectives::kMaxReported);
}

TEST_F(IgnoredDirectivesTest, RequiredDirectivesFailAndOthersAreReported) {
  IgnoredDirectives::OfProcess().SetReport(ToList());
  InfoList infos;
  infos.Add("optional", Value::Bool(true));
  infos.Add("required", Value::Bool(true), PMIX_INFO_REQD);
  infos.Add("processed", Value::Bool(true),
            PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED);
  EXPECT_EQ(NotHonoured("PMIx_Get", infos[0]), PMIX_SUCCESS);
  EXPECT_EQ(NotHonoured("PMIx_Get", infos[1]), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(NotHonoured("PMIx_Get", infos[2]), PMIX_SUCCESS);
  EXPECT_EQ(reported_, (Reported{"PMIx_Get optional", "PMIx_Get processed"}));
  IgnoredDirectives::OfProcess().End();
}

}  // namespace
}  // namespace canopy::support
