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

OutputRun SampleRun() {
  OutputRun run;
  run.pieces = {{3, kOutputChannel, Bytes(std::string("text\n"))},
                {4, kErrorChannel, {}}};
  run.dropped = 1u << 20;
  run.complete = true;
  run.cursor = "cursor";
  return run;
}

TEST(IofCall, AReadComesBackWhole) {
  OutputRead read;
  ASSERT_TRUE(DecodeOutputRead(EncodeOutputRead(SampleRead()), &read));
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

TEST(IofCall, AnAnswerComesBackWhole) {
  OutputRun run;
  ASSERT_TRUE(DecodeOutputRun(Bytes(EncodeOutputRun(SampleRun())), &run));
  ASSERT_EQ(run.pieces.size(), 2u);
  EXPECT_EQ(run.pieces[0].rank, 3u);
  EXPECT_EQ(run.pieces[0].data.view(), "text\n");
  EXPECT_EQ(run.pieces[1].channel, kErrorChannel);
  EXPECT_TRUE(run.pieces[1].data.empty());
  EXPECT_EQ(run.dropped, 1u << 20);
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.cursor, "cursor");
}

TEST(IofCall, WhatIsCutOrHasMoreIsMalformed) {
  const std::string read = EncodeOutputRead(SampleRead());
  const std::string run = EncodeOutputRun(SampleRun());
  OutputRead some_read;
  OutputRun some_run;
  for (size_t n = 0; n < read.size(); ++n) {
    EXPECT_FALSE(DecodeOutputRead(read.substr(0, n), &some_read)) << n;
  }
  for (size_t n = 0; n < run.size(); ++n) {
    EXPECT_FALSE(DecodeOutputRun(Bytes(run.substr(0, n)), &some_run)) << n;
  }
  EXPECT_FALSE(DecodeOutputRead(read + "x", &some_read));
  EXPECT_FALSE(DecodeOutputRun(Bytes(run + "x"), &some_run));
}

TEST(IofCall, APushIsBytesOrAnEnd) {
  InputPush push;
  ASSERT_TRUE(DecodeInputPush(
      Bytes(EncodeInputPush({Bytes(std::string("text")), true})), &push));
  EXPECT_EQ(push.data.view(), "text");
  EXPECT_TRUE(push.complete);
  ASSERT_TRUE(DecodeInputPush(Bytes(EncodeInputPush({{}, true})), &push));
  EXPECT_TRUE(push.data.empty());
  EXPECT_FALSE(DecodeInputPush(Bytes(EncodeInputPush({})), &push));
  EXPECT_FALSE(DecodeInputPush(Bytes(), &push));
}

TEST(IofCall, AnUnknownPolicyIsMalformed) {
  OutputRead read = SampleRead();
  read.overflow = static_cast<Overflow>(2);
  EXPECT_FALSE(DecodeOutputRead(EncodeOutputRead(read), &read));
}

}  // namespace
}  // namespace canopy
