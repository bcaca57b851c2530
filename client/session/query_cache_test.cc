#include "client/session/query_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "pmix.h"

namespace canopy::client {
namespace {

TEST(QueryCacheTest, KeepsTheLastAnswer) {
  QueryCache cache;
  EXPECT_FALSE(cache.Find({"k", ""}));
  cache.Put({"k", ""}, Value::Int(1));
  cache.Put({"k", ""}, Value::Int(2));
  EXPECT_EQ(cache.Find({"k", ""}), Value::Int(2));
  EXPECT_FALSE(cache.Find({"k", "other qualifiers"}));
}

TEST(QueryCacheTest, TheCacheIsBounded) {
  QueryCache cache;
  for (size_t i = 0; i <= QueryCache::kMaxAnswers; ++i) {
    cache.Put({std::to_string(i), ""}, Value::Int(1));
  }
  EXPECT_FALSE(cache.Find({"0", ""}));
  EXPECT_TRUE(cache.Find({std::to_string(QueryCache::kMaxAnswers), ""}));
  cache.Put({"k", ""}, Value::Int(1));
  cache.Put({"k", ""},
            Value::String(std::string(QueryCache::kMaxAnswerBytes + 1, 'x')));
  EXPECT_FALSE(cache.Find({"k", ""})) << "nor is the old one kept";
}

Value TableWith(pmix_proc_state_t state) {
  pmix_proc_info_t rows[2] = {};
  rows[0].state = PMIX_PROC_STATE_RUNNING;
  rows[1].state = state;
  pmix_data_array_t array = {PMIX_PROC_INFO, 2, rows};
  pmix_value_t value = {};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return Value::FromC(value);
}

// The agent of some processes has not answered; it may do so next time.
TEST(QueryCacheTest, IncompleteAnswersAreNotKept) {
  QueryCache cache;
  cache.Put({"table", ""}, TableWith(PMIX_PROC_STATE_UNDEF));
  EXPECT_FALSE(cache.Find({"table", ""}));
  cache.Put({"table", ""}, TableWith(PMIX_PROC_STATE_CONNECTED));
  EXPECT_TRUE(cache.Find({"table", ""}));
  cache.Put({PMIX_QUERY_MEMORY_USAGE, ""}, Value::Int(1));
  EXPECT_FALSE(cache.Find({PMIX_QUERY_MEMORY_USAGE, ""}));
  cache.Put({PMIX_TIME_REMAINING, ""}, Value::Int(1));
  EXPECT_FALSE(cache.Find({PMIX_TIME_REMAINING, ""}));
}

}  // namespace
}  // namespace canopy::client
