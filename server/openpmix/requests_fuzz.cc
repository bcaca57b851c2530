// Fuzz target: every command in every form. The first byte selects the form of
// the rest.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/openpmix/golden.h"
#include "server/openpmix/requests.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::openpmix {
namespace {

constexpr const char* kCodecs[] = {"v3", "v4", "v41", "v51", "v61"};
constexpr const char* kVersions[] = {"3.2.3", "4.0.0", "4.2.4", "7.0.0"};
constexpr size_t kNumCodecs = std::size(kCodecs);
constexpr size_t kNumVersions = std::size(kVersions);

void Run(uint8_t choice, std::string_view bytes) {
  const auto traits = TraitsOf(kVersions[choice / kNumCodecs % kNumVersions],
                               kCodecs[choice % kNumCodecs],
                               choice / (kNumCodecs * kNumVersions) % 2 != 0);
  (void)ParseRequest({1, {"ns", 0}, *traits}, 101, bytes);
}

}  // namespace
}  // namespace canopy::openpmix

std::vector<std::string> canopy::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const openpmix::Golden& golden : openpmix::ReadGolden("commands.txt")) {
    // The index selects codec v3 of 3.2.3, or v61 of 4.2.4.
    const char choice = golden.form == "old" ? 0 : 14;
    seeds.push_back(choice + golden.bytes);
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  canopy::openpmix::Run(data[0],
                        {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
