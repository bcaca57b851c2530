#include "client/cli/run/job_environment.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

using Entries = std::vector<std::string>;

TEST(JobEnvironmentTest, OmitsVariablesOfAnOuterJob) {
  const char* const outer[] = {
      "HOME=/root", "PMIX_RANK=3",      "PMIX_NAMESPACE=x", "CANOPY_SOCKET=s",
      "PMI_FD=4",   "PMIX_MCA_ptl=tcp", "CANOPY_CONTEXT=c", "no equals sign",
      "=odd",       "PMIXER=fine",      "EMPTY=",           nullptr};
  EXPECT_EQ(InheritedEnvironment(outer),
            (Entries{"HOME=/root", "PMIX_MCA_ptl=tcp", "CANOPY_CONTEXT=c",
                     "PMIXER=fine", "EMPTY="}));
}

TEST(JobEnvironmentTest, LaterEntriesReplaceEarlierOnes) {
  Entries environment = {"A=1", "AB=2"};
  SetVariables({"A=3", "C=4", "A=5"}, &environment);
  EXPECT_EQ(environment, (Entries{"A=5", "AB=2", "C=4"}));
}

}  // namespace
}  // namespace canopy::cli
