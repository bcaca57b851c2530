#include "common/iof_call.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy {
namespace {

OutputRead SampleRead() {
  OutputRead read;
  read.handle = 7;
  read.channels = kOutputChannel | kErrorChannel;
  read.cache_size = 4096;
  read.overflow = Overflow::kDropOldest;
  read.from_now = read.only_cached = read.redirects = read.ends = true;
  read.cursor = std::string("\0\x80", 2);
  return read;
}

TEST(IofCall, AReadSurvivesEncoding) {
  OutputRead read;
  ASSERT_TRUE(wire::Decode(wire::Encode(SampleRead()), &read));
  EXPECT_EQ(read.handle, 7u);
  EXPECT_EQ(read.channels, kOutputChannel | kErrorChannel);
  EXPECT_EQ(read.cache_size, 4096u);
  EXPECT_EQ(read.overflow, Overflow::kDropOldest);
  EXPECT_TRUE(read.from_now);
  EXPECT_TRUE(read.only_cached);
  EXPECT_TRUE(read.redirects);
  EXPECT_TRUE(read.ends);
  EXPECT_EQ(read.cursor, std::string("\0\x80", 2));
}

TEST(IofCall, AnAnswerSurvivesEncoding) {
  OutputRun sent;
  sent.pieces = {{3, kOutputChannel, Bytes(std::string("text\n"))},
                 {4, kErrorChannel, {}}};
  sent.dropped = 1u << 20;
  sent.complete = true;
  sent.cursor = "cursor";
  OutputRun run;
  ASSERT_TRUE(wire::Decode(Bytes(wire::Encode(sent)), &run));
  ASSERT_EQ(run.pieces.size(), 2u);
  EXPECT_EQ(run.pieces[0].rank, 3u);
  EXPECT_EQ(run.pieces[0].data.view(), "text\n");
  EXPECT_EQ(run.pieces[1].channel, kErrorChannel);
  EXPECT_TRUE(run.pieces[1].data.empty());
  EXPECT_EQ(run.dropped, 1u << 20);
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.cursor, "cursor");
}

TEST(IofCall, APushOfBytesOrAnEndSurvivesEncoding) {
  InputPush push;
  ASSERT_TRUE(wire::Decode(
      Bytes(wire::Encode(InputPush{Bytes(std::string("text")), true})), &push));
  EXPECT_EQ(push.data.view(), "text");
  EXPECT_TRUE(push.complete);
  ASSERT_TRUE(wire::Decode(Bytes(wire::Encode(InputPush{{}, true})), &push));
  EXPECT_TRUE(push.data.empty());
  EXPECT_FALSE(push.empty());
  ASSERT_TRUE(wire::Decode(Bytes(), &push));
  EXPECT_TRUE(push.empty());
}

TEST(IofCall, AnUnknownPolicyIsMalformed) {
  OutputRead read = SampleRead();
  read.overflow = static_cast<Overflow>(2);
  const std::string bytes = wire::Encode(read);
  EXPECT_FALSE(wire::Decode(bytes, &read));
}

}  // namespace
}  // namespace canopy
