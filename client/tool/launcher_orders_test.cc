#include "client/tool/launcher_orders.h"

#include <gtest/gtest.h>

#include <string>

#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

TEST(LauncherOrdersTest, OrdersSurviveEncoding) {
  InfoList directives;
  directives.Add(PMIX_DEBUG_STOP_ON_EXEC, Value::Rank(kRankWildcard));
  LauncherOrders orders;
  orders.name = {"launcher", 0};
  orders.job_data.Add(PMIX_PARENT_ID, Value::Proc({"tool", 3}));
  orders.job_data.Add(PMIX_LAUNCH_DIRECTIVES, Value::InfoArray(directives));
  const Result<std::string> text = WriteOrders(orders);
  ASSERT_TRUE(text.ok());
  const Result<LauncherOrders> read = ReadOrders(*text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->name, orders.name);
  EXPECT_EQ(read->job_data, orders.job_data);
  // Every shorter text is refused, and so is a longer text.
  for (size_t size = 0; size < text->size(); ++size) {
    EXPECT_FALSE(ReadOrders(text->substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ReadOrders(*text + "00").ok());
}

TEST(LauncherOrdersTest, MalformedOrdersAreRejected) {
  for (const char* text : {"", "0", "zz", "00", "-1-1", "0000"}) {
    EXPECT_FALSE(ReadOrders(text).ok()) << text;
  }
  LauncherOrders nobodys;
  EXPECT_FALSE(ReadOrders(WriteOrders(nobodys).value()).ok());
  LauncherOrders big;
  big.name = {"launcher", 0};
  big.job_data.Add(PMIX_LAUNCH_DIRECTIVES,
                   Value::String(std::string(size_t{40} << 10, 'x')));
  EXPECT_EQ(WriteOrders(big).code(), kErrOutOfResource);
}

}  // namespace
}  // namespace canopy::client
