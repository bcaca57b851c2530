#include "common/loader/ld_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace canopy::loader {
namespace {

TEST(LdCacheTest, FindsTheCLibraryOfThisMachine) {
  ASSERT_EQ(access(kLdCachePath, R_OK), 0);
  const LdCache cache = LdCache::Read(kLdCachePath);
  const auto paths = cache.Find("libc.so.6");
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(access(paths.front().c_str(), R_OK), 0) << paths.front();
  EXPECT_TRUE(cache.Find("libc.so").size() <= 1);
  EXPECT_TRUE(cache.Find("libnonesuch.so.9").empty());
}

TEST(LdCacheTest, FilesWithoutACacheGiveAnEmptyIndex) {
  EXPECT_TRUE(LdCache::Read("/nonexistent").Find("libc.so.6").empty());
  EXPECT_TRUE(LdCache::Read("/dev/null").Find("libc.so.6").empty());
  const std::string text = "glibc-ld.so.cache1.1";
  EXPECT_TRUE(LdCache({text.begin(), text.end()}).Find("").empty());
}

}  // namespace
}  // namespace canopy::loader
