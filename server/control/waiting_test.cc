#include "server/control/waiting.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::control {
namespace {

void Add(v1::WhyReply* reply, const std::string& operation, uint64_t age_ms,
         int missing) {
  v1::Waiting* const waiting = reply->add_waiting();
  waiting->set_operation(operation);
  waiting->set_age_ms(age_ms);
  for (int i = 0; i < missing; ++i) {
    waiting->add_missing("job rank " + std::to_string(i) + " on node1");
  }
}

TEST(WaitingTest, TheLineIsEmptyIfNothingWaits) {
  EXPECT_EQ(WaitingLine({}), "");
}

TEST(WaitingTest, TheLineNamesTheMissingRanksAndTheTimes) {
  v1::WhyReply reply;
  Add(&reply, "get of key 'k'", 300, 0);
  Add(&reply, "fence #1", 2149, 1);
  EXPECT_EQ(WaitingLine(reply),
            "fence #1 has waited 2.1 s for job rank 0 on node1; get of key 'k' "
            "has waited 0.3 s");
}

TEST(WaitingTest, TheLineIsLimited) {
  v1::WhyReply reply;
  for (int i = 0; i < 1000; ++i) {
    Add(&reply, "fence #" + std::to_string(i), 1000, 100);
  }
  const std::string line = WaitingLine(reply);
  EXPECT_LT(line.size(), 700u);
  EXPECT_NE(line.find("rank 3 on node1 and 96 more"), std::string::npos);
  EXPECT_TRUE(line.ends_with(" more wait")) << line;
}

}  // namespace
}  // namespace canopy::control
