#include "server/shim/protocol.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

// Checks that an encoded message decodes to the same bytes, and that a message
// that ends within a field is refused.
template <typename T>
void ExpectRoundTrip(const T& message) {
  const std::string bytes = Encode(message);
  T copy;
  ASSERT_TRUE(Decode(bytes, &copy));
  EXPECT_EQ(Encode(copy), bytes);
  EXPECT_FALSE(Decode(bytes + "\xff", &copy));
}

TEST(ShimProtocol, MessagesSurviveARoundTrip) {
  ExpectRoundTrip(Hello{});
  PrepareJob prepare;
  prepare.nspace = "job@1";
  prepare.orphan_ms = 30000;
  prepare.window = 1 << 20;
  prepare.uid = 1000;
  prepare.merge_stderr = true;
  prepare.record = std::string("\0\1\2", 3);
  prepare.env = {"A=1", ""};
  prepare.apps = {{"prog", {"prog", "-x"}, {"B=2"}, "/tmp"},
                  {"other", {}, {}, ""}};
  ExpectRoundTrip(prepare);
  ExpectRoundTrip(std::vector<RankSpec>{
      {7, 1, {"R=7"}, "0-3", true, {"PMI_FD"}}, {8, 0, {}, "", false, {}}});
  ExpectRoundTrip(RestartRank{2, {7, 1, {"R=7"}, "0-3", true, {"PMI_FD"}}});
  ExpectRoundTrip(SignalRanks{15, {1, 2, 3}});
  ExpectRoundTrip(KillRanks{2000, {}});
  Welcome welcome;
  welcome.pid = 4711;
  welcome.nspace = "job";
  welcome.started = true;
  welcome.record = "r";
  welcome.ranks = {{0, RankPhase::kRunning, 12, 0},
                   {1, RankPhase::kEnded, 13, 256}};
  welcome.held = {"segment"};
  ExpectRoundTrip(welcome);
  ExpectRoundTrip(Prepared{-190, "not found"});
  ExpectRoundTrip(Started{{{0, 100}, {1, 101}}, {{2, -190, 2, "gone"}}});
  ExpectRoundTrip(std::vector<ExitedRank>{{0, 0}, {1, 139}});
  ExpectRoundTrip(TextRequest{
      uint64_t{2} << 56,
      100,
      true,
      3,
      "file",
      "topic",
      {{kChannelStderr, "one\n"}, {kChannelStdout, std::string("\0\xff", 2)}}});
  ExpectRoundTrip(TextTaken{-29});
  ExpectRoundTrip(Notice{-24, "1 of 4 pods is missing"});
  ExpectRoundTrip(JoinPod{kShimProtocolVersion, {"./solver", "--steps=7"}});
}

TEST(ShimProtocol, IncarnationsSurviveARoundTrip) {
  const std::vector<ExitedRank> later = {{0, 9, 3}, {1, 0}};
  std::vector<ExitedRank> back;
  ASSERT_TRUE(Decode(Encode(later), &back));
  EXPECT_EQ(back[0].incarnation, 3u);
  EXPECT_EQ(back[1].incarnation, 0u);
  Welcome welcome;
  welcome.nspace = "job";
  welcome.ranks = {{4, RankPhase::kRunning, 12, 0, 1}};
  Welcome copy;
  ASSERT_TRUE(Decode(Encode(welcome), &copy));
  EXPECT_EQ(copy.ranks[0].incarnation, 1u);
}

TEST(ShimProtocol, UsageSurvivesARoundTrip) {
  std::vector<ExitedRank> ranks = {{0, 9}, {1, 0}};
  ranks[1].used = {uint64_t{1} << 40, 4096};
  std::vector<ExitedRank> back;
  ASSERT_TRUE(Decode(Encode(ranks), &back));
  EXPECT_FALSE(back[0].used);
  ASSERT_TRUE(back[1].used);
  EXPECT_EQ(back[1].used->cpu_us, uint64_t{1} << 40);
  EXPECT_EQ(back[1].used->peak_bytes, 4096u);
  EXPECT_FALSE(Decode(Encode(ranks) + "x", &back));
}

TEST(ShimProtocol, IndexedArgvSurvivesARoundTrip) {
  PrepareJob prepare;
  prepare.nspace = "job";
  prepare.window = 1;
  prepare.process.index_argv = true;
  prepare.apps = {{"prog", {"prog"}, {}, "/tmp"}};
  for (const char* library : {"", "/lib/libpmix.so.2"}) {
    prepare.library = library;
    PrepareJob copy;
    ASSERT_TRUE(Decode(Encode(prepare), &copy));
    EXPECT_TRUE(copy.process.index_argv);
    EXPECT_EQ(copy.library, library);
    EXPECT_FALSE(Decode(Encode(prepare) + "x", &copy));
  }
}

TEST(ShimProtocol, StopsAtTheExecSurviveARoundTrip) {
  PrepareJob prepare;
  prepare.nspace = "job";
  prepare.window = 1;
  prepare.apps = {{"prog", {"prog"}, {}, "/tmp"}};
  for (const bool index : {false, true}) {
    for (const std::vector<Rank>& ranks : {std::vector<Rank>{}, {1, 300}}) {
      prepare.process.index_argv = index;
      prepare.stop_on_exec = ranks;
      PrepareJob copy;
      ASSERT_TRUE(Decode(Encode(prepare), &copy));
      EXPECT_EQ(copy.process.index_argv, index);
      EXPECT_EQ(copy.stop_on_exec, prepare.stop_on_exec);
      EXPECT_FALSE(Decode(Encode(prepare) + "x", &copy));
    }
  }
}

TEST(ShimProtocol, MergedStreamsOfApplicationsSurviveARoundTrip) {
  PrepareJob prepare;
  prepare.nspace = "job";
  prepare.window = 1;
  prepare.apps = {{"prog", {"prog"}, {}, ""}, {"other", {"other"}, {}, ""}};
  prepare.apps[1].merge_stderr = true;
  for (const bool stops : {false, true}) {
    if (stops) prepare.stop_on_exec.emplace();
    PrepareJob copy;
    ASSERT_TRUE(Decode(Encode(prepare), &copy));
    EXPECT_FALSE(copy.apps[0].merge_stderr);
    EXPECT_TRUE(copy.apps[1].merge_stderr);
    EXPECT_FALSE(copy.process.index_argv);
    EXPECT_EQ(copy.stop_on_exec, prepare.stop_on_exec);
    EXPECT_EQ(Encode(copy), Encode(prepare));
  }
}

TEST(ShimProtocol, SizeAndPartsOfATextAreLimited) {
  const auto is_accepted = [](const TextRequest& text) {
    TextRequest copy;
    return Decode(Encode(text), &copy);
  };
  TextRequest text;
  text.parts = {{kChannelStdout, std::string(kMaxWaitingText, 'x')}};
  EXPECT_TRUE(is_accepted(text));
  text.parts.push_back({kChannelStdout, "x"});
  EXPECT_FALSE(is_accepted(text));
  text.parts = {{1, "x"}};
  EXPECT_FALSE(is_accepted(text));
  text.parts.assign(kMaxTextParts + 1, {kChannelStdout, ""});
  EXPECT_FALSE(is_accepted(text));
  text.parts.clear();
  text.key.assign(kMaxTextKind, 'k');
  EXPECT_TRUE(is_accepted(text));
  text.value = "v";
  EXPECT_FALSE(is_accepted(text));
}

TEST(ShimProtocol, NamesSurviveARoundTrip) {
  const std::vector<std::string> names = {"a", "", "stock.7"};
  std::vector<std::string> copy;
  ASSERT_TRUE(DecodeNames(EncodeNames(names), &copy));
  EXPECT_EQ(copy, names);
  EXPECT_FALSE(DecodeNames(EncodeNames(names) + "x", &copy));
  EXPECT_FALSE(DecodeNames("\xff", &copy));
}

TEST(ShimProtocol, DataAfterItsHeadIsDecoded) {
  Rank rank = 0;
  uint16_t channel = 0;
  std::string_view data;
  ASSERT_TRUE(DecodeOutput(EncodeOutputHead(300, kChannelStderr) + "text",
                           &rank, &channel, &data));
  EXPECT_EQ(rank, 300u);
  EXPECT_EQ(channel, kChannelStderr);
  std::vector<Rank> ranks;
  const std::string input = EncodeInputHead({1, 500}) + "typed";
  ASSERT_TRUE(DecodeInput(input, &ranks, &data));
  EXPECT_EQ(ranks, (std::vector<Rank>{1, 500}));
  EXPECT_EQ(data, "typed");
}

TEST(ShimProtocol, LengthsBeyondTheBytesAreRejected) {
  std::vector<ExitedRank> exits;
  EXPECT_FALSE(Decode("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", &exits));
  std::vector<Rank> ranks;
  std::string_view data;
  EXPECT_FALSE(DecodeInput("\xff\xff\xff\x7f", &ranks, &data));
}

TEST(ShimProtocol, TooManyDescriptorsAreRejected) {
  std::vector<RankSpec> ranks(1), copy;
  ranks[0].fd_names.assign(kMaxInherited + 1, "X");
  EXPECT_FALSE(Decode(Encode(ranks), &copy));
}

TEST(ShimProtocol, DifferentJobsHaveDifferentSocketNames) {
  EXPECT_EQ(ShimSocketName(""), "shim-cbf29ce484222325.sock");
  EXPECT_NE(ShimSocketName("job-1"), ShimSocketName("job-2"));
}

}  // namespace
}  // namespace canopy::process
