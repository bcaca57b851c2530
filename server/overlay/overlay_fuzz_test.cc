// Runs the fuzz target over a corpus made here: frames and bodies cut at every
// place and with every byte changed.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/overlay/frame.h"
#include "server/overlay/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy::overlay {
namespace {

void RunOne(const std::string& in) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(in.data()),
                         in.size());
}

std::vector<std::string> Corpus() {
  core::CollectiveUp up;
  up.id.participants = {{"job", kRankWildcard}, {"other", 3}};
  up.contributions = {{1, Bytes(std::string("data"))}};
  up.missing = {{"job", 5}};
  Frame frame;
  frame.hello.emplace();
  frame.hello->node_name = "node1";
  frame.welcome.emplace();
  frame.welcome->incarnation = 9;
  frame.members = Members{{{1, 2, true, "why", "where"}}};
  frame.packets.push_back({1, 2, 3, 4, true, 1, Bytes(std::string("piece"))});
  std::string flat;
  for (const Bytes& b : EncodeFrame(frame)) flat += b.view();
  return {EncodeBody(up),
          EncodeBody(core::JobKill{"job", {1, 2, 300}, -1, "reason"}),
          EncodeBody(core::JobExits{"job", {{3, 256, true, true, true}}}),
          flat};
}

TEST(OverlayFuzzTest, CutsAndChangedBytes) {
  for (const std::string& whole : Corpus()) {
    for (size_t n = 0; n <= whole.size(); ++n) RunOne(whole.substr(0, n));
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        std::string changed = whole;
        changed[at] = static_cast<char>(value);
        RunOne(changed);
      }
    }
  }
}

}  // namespace
}  // namespace canopy::overlay
