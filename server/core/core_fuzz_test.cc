// Runs the fuzz target over a corpus made here: each kind of record, cut at
// every place and with every byte changed in a few ways.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "server/core/modex.h"
#include "server/core/why.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy::core {
namespace {

void RunOne(const std::string& in) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(in.data()),
                         in.size());
}

std::vector<std::string> Corpus() {
  StateAnswer answer;
  answer.node = 4;
  answer.about = "an agent";
  answer.jobs = {{"job", 8, 2, 1, 3}};
  answer.waiting = {
      {"job", "fence #2 of job:*", 1500, 2, {{{"job", 7}, 4, true}}, 9}};
  Encoder encoder;
  encoder.PutString("key");
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString("value");
  const std::string kval = encoder.Take();
  ModexWriter writer;
  writer.Add({{"job", 1}, 0, 3, Bytes(kval)});
  writer.Add({{"job", 300}, 0, 3, Bytes(kval + kval)});
  return {EncodeStateAnswer(answer), kval + kval,
          std::string(writer.Take().view())};
}

TEST(CoreFuzz, TheCorpusIsHarmless) {
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
}  // namespace canopy::core
