#include "client/session/query_cache.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(QueryCacheTest, IsBounded) {
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

}  // namespace
}  // namespace canopy::client
