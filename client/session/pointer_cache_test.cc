#include "client/session/pointer_cache.h"

#include <gtest/gtest.h>

namespace canopy::client {
namespace {

TEST(PointerCache, AnUnchangedValueKeepsItsPointer) {
  PointerCache cache;
  const auto keep = [&](const char* key, Value value) {
    pmix_value_t raw = value.Release();
    return cache.Keep({"a", 1}, key, &raw);
  };
  pmix_value_t* first = keep("k", Value::String("x"));
  EXPECT_EQ(keep("k", Value::String("x")), first);
  pmix_value_t* second = keep("k", Value::String("y"));
  EXPECT_NE(second, first);
  EXPECT_NE(keep("other", Value::String("x")), first);
  EXPECT_STREQ(first->data.string, "x");
  EXPECT_STREQ(second->data.string, "y");
  EXPECT_EQ(keep("k", Value::String("x")), first);
}

}  // namespace
}  // namespace canopy::client
