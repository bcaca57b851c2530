// Runs the fuzz target over a corpus made here: every message, cut at every
// place, and with every byte changed in a few ways.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "server/shim/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy::process {
namespace {

void RunOne(const std::string& in) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(in.data()),
                         in.size());
}

std::vector<std::string> Corpus() {
  PrepareJob prepare;
  prepare.nspace = "job";
  prepare.window = 1;
  prepare.env = {"A=1", "B=2"};
  prepare.apps = {{"a", {"a", "b"}, {"C=3"}, "/"}};
  Welcome welcome;
  welcome.nspace = "job";
  welcome.ranks = {{0, RankPhase::kRunning, 12, 0}};
  welcome.held = {"segment"};
  return {Encode(Hello{}),
          Encode(prepare),
          Encode(std::vector<RankSpec>{{7, 1, {"R=7"}, "0-3", true, {"F"}}}),
          Encode(SignalRanks{9, {1, 2}}),
          Encode(KillRanks{5, {3}}),
          Encode(welcome),
          Encode(Prepared{-1, "text"}),
          Encode(Started{{{0, 9}}, {{1, -1, 2, "x"}}}),
          Encode(std::vector<ExitedRank>{{0, 256}}),
          EncodeInputHead({1, 2}) + "data",
          EncodeOutputHead(1, 2) + "data"};
}

TEST(ProtocolFuzz, TheCorpusIsHarmless) {
  for (const std::string& seed : Corpus()) {
    for (size_t at = 0; at < seed.size(); ++at) {
      RunOne(seed.substr(0, at));
      for (const int change : {1, 0x7f, 0x80, 0xff}) {
        std::string changed = seed;
        changed[at] = static_cast<char>(changed[at] ^ change);
        RunOne(changed);
      }
    }
    RunOne(seed);
  }
}

}  // namespace
}  // namespace canopy::process
