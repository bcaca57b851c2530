// The fuzz target of the decoders: any input is decoded safely, and a decoded
// message survives encoding and decoding unchanged.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/shim/protocol.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::process {
namespace {

template <typename T>
void Try(std::string_view in) {
  T message;
  if (!Decode(in, &message)) return;
  const std::string once = Encode(message);
  T copy;
  if (!Decode(once, &copy) || Encode(copy) != once) abort();
}

void TryAll(std::string_view in) {
  Try<Hello>(in);
  Try<PrepareJob>(in);
  Try<std::vector<RankSpec>>(in);
  Try<RestartRank>(in);
  Try<SignalRanks>(in);
  Try<KillRanks>(in);
  Try<TextRequest>(in);
  Try<Welcome>(in);
  Try<Prepared>(in);
  Try<Started>(in);
  Try<std::vector<ExitedRank>>(in);
  Try<TextTaken>(in);
  Try<Notice>(in);
  Try<JoinPod>(in);
  uint64_t bytes;
  (void)DecodeBytes(in, &bytes);
  std::string name;
  (void)DecodeName(in, &name);
  std::vector<std::string> names;
  (void)DecodeNames(in, &names);
  std::vector<Rank> ranks;
  std::string_view data;
  (void)DecodeInput(in, &ranks, &data);
  Rank rank;
  uint16_t channel;
  (void)DecodeOutput(in, &rank, &channel, &data);
}

std::vector<std::string> Corpus() {
  PrepareJob prepare;
  prepare.nspace = "job";
  prepare.window = 1;
  prepare.env = {"A=1", "B=2"};
  prepare.apps = {{"a", {"a", "b"}, {"C=3"}, "/", {}, ""}};
  PrepareJob injecting = prepare;
  injecting.library = "/l/libpmix.so.2";
  injecting.apps[0].own_library_env = {"LD_LIBRARY_PATH="};
  injecting.apps[0].known_finding = "found";
  Welcome welcome;
  welcome.nspace = "job";
  welcome.ranks = {{0, RankPhase::kRunning, 12, 0}};
  welcome.held = {"segment"};
  return {Encode(Hello{}),
          Encode(prepare),
          Encode(injecting),
          Encode(std::vector<RankSpec>{{7, 1, {"R=7"}, "0-3", true, {"F"}}}),
          Encode(RestartRank{1, {7, 1, {"R=7"}, "0-3", true, {"F"}}}),
          Encode(SignalRanks{9, {1, 2}}),
          Encode(KillRanks{5, {3}}),
          Encode(TextRequest{
              7, 100, true, 3, "file", "topic", {{kChannelStderr, "text\n"}}}),
          Encode(welcome),
          Encode(Prepared{-1, "text", {}}),
          Encode(Prepared{0, "", {"found"}}),
          Encode(Started{{{0, 9}}, {{1, -1, 2, "x"}}}),
          Encode(std::vector<ExitedRank>{{0, 256}}),
          Encode(std::vector<ExitedRank>{{0, 9, 1}}),
          Encode(std::vector<ExitedRank>{{0, 9, 1, RankUsage{5, 4096}}}),
          Encode(TextTaken{-29}),
          Encode(Notice{-24, "waits"}),
          Encode(JoinPod{kShimProtocolVersion, {"./solver"}}),
          EncodeInputHead({1, 2}) + "data",
          EncodeOutputHead(1, 2) + "data"};
}

}  // namespace
}  // namespace canopy::process

std::vector<std::string> canopy::fuzz::Seeds() { return process::Corpus(); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::process::TryAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
