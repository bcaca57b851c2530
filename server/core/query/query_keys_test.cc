#include "server/core/query/query_keys.h"

#include <gtest/gtest.h>

#include "pmix_common.h"

namespace canopy::core {
namespace {

TEST(QueryKeysTest, KeysWithoutAKindOfTheirOwnAreJobData) {
  EXPECT_EQ(KindOf(PMIX_QUERY_PROC_TABLE), KeyKind::kProcTable);
  EXPECT_EQ(KindOf(PMIX_PROC_PID), KeyKind::kProcPid);
  EXPECT_EQ(KindOf(PMIX_JOB_SIZE), KeyKind::kJobData);
  EXPECT_EQ(KindOf("no.such.key"), KeyKind::kJobData);
}

TEST(QueryKeysTest, OnlyKeysThatCanHaveAnAnswerAreSupported) {
  const std::string keys = SupportedKeys(/*has_scheduler=*/false);
  EXPECT_NE(keys.find(PMIX_QUERY_MEMORY_USAGE), std::string::npos);
  EXPECT_NE(keys.find(PMIX_TIME_REMAINING), std::string::npos);
  EXPECT_EQ(keys.find(PMIX_QUERY_QUEUE_LIST), std::string::npos);
  EXPECT_NE(SupportedKeys(/*has_scheduler=*/true).find(PMIX_QUERY_QUEUE_LIST),
            std::string::npos);
}

TEST(QueryKeysTest, IsForHostReturnsTrueForKeysOfASchedulerOnly) {
  EXPECT_TRUE(IsForHost(PMIX_QUERY_QUEUE_STATUS));
  EXPECT_TRUE(IsForHost(PMIX_TIME_REMAINING));
  EXPECT_FALSE(IsForHost(PMIX_QUERY_JOB_STATUS));
  EXPECT_FALSE(IsForHost(PMIX_JOB_SIZE));
}

TEST(QueryKeysTest, ReturnsTheQualifiersOfAKey) {
  EXPECT_NE(SupportedQualifiers(PMIX_QUERY_MEMORY_USAGE)
                .find(PMIX_QUERY_REPORT_MINMAX),
            std::string::npos);
  EXPECT_EQ(SupportedQualifiers(PMIX_QUERY_NUM_PSETS), "");
  EXPECT_NE(SupportedQualifiers(PMIX_JOB_SIZE).find(PMIX_APPNUM),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::core
