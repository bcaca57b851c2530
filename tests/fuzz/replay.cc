// A test that runs the target on its seeds: each seed is cut at every place,
// every byte is changed in a few ways, and the seed is spliced with others at
// places that follow from a fixed number.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace canopy::fuzz {
namespace {

constexpr size_t kMaxEach = 2000;  // cuts and changes of one seed
constexpr size_t kMaxSplices = 2000;

size_t runs = 0;

void RunOne(const std::string& in) {
  // The copy ends where its memory ends, so that the sanitizers detect reads
  // beyond the input.
  const std::vector<uint8_t> exact(in.begin(), in.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  ++runs;
}

void Vary(const std::string& seed) {
  const size_t step = seed.size() / kMaxEach + 1;
  for (size_t at = 0; at < seed.size(); at += step) {
    RunOne(seed.substr(0, at));
    for (const int change : {0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = seed;
      changed[at] = static_cast<char>(changed[at] ^ change);
      RunOne(changed);
    }
  }
}

void Splice(const std::vector<std::string>& seeds) {
  std::mt19937 random(1);
  for (size_t i = 0; i < kMaxSplices; ++i) {
    const std::string& a = seeds[random() % seeds.size()];
    const std::string& b = seeds[random() % seeds.size()];
    RunOne(a.substr(0, random() % (a.size() + 1)) +
           b.substr(random() % (b.size() + 1)));
  }
}

int Main() {
  const std::vector<std::string> seeds = Seeds();
  if (seeds.empty()) {
    fprintf(stderr, "no seeds\n");
    return 1;
  }
  RunOne("");
  for (const std::string& seed : seeds) {
    RunOne(seed);
    Vary(seed);
  }
  Splice(seeds);
  printf("%zu seeds, %zu runs\n", seeds.size(), runs);
  return 0;
}

}  // namespace
}  // namespace canopy::fuzz

int main() { return canopy::fuzz::Main(); }
