#include "client/cli/run/file_feed.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace canopy::cli {
namespace {

TEST(FileFeedTest, ReadsAtMostOneWindowAhead) {
  const std::string path = testing::TempDir() + "/file_feed_test";
  std::ofstream(path) << std::string(size_t{3} << 20, 'x');
  FileFeed feed({preload::Item{"files/x", path}});
  EXPECT_TRUE(feed.wanted());
  uint64_t total = 0;
  for (int round = 0; round < 100; ++round) {
    uint64_t sent = 0;
    for (;;) {
      const Result<std::string> piece = feed.Next();
      ASSERT_TRUE(piece.ok());
      if (piece->empty()) break;
      sent += piece->size();
    }
    EXPECT_LT(sent, (size_t{1} << 20) + (64 << 10));
    if (sent == 0) break;
    total += sent;
    feed.Taken(sent);
  }
  EXPECT_GT(total, size_t{3} << 20);
  unlink(path.c_str());
}

TEST(FileFeedTest, HasNothingToSendWithoutFiles) {
  FileFeed feed(std::vector<preload::Item>{});
  EXPECT_FALSE(feed.wanted());
  EXPECT_TRUE(feed.Next()->empty());
}

TEST(FileFeedTest, AMissingFileIsAnError) {
  FileFeed feed({preload::Item{"files/x", "/nonexistent/x"}});
  EXPECT_FALSE(feed.Next()->empty()) << "what comes first";
  EXPECT_EQ(feed.Next().code(), kErrJobFailedToLaunch);
}

}  // namespace
}  // namespace canopy::cli
