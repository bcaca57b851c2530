// Runs the fuzz target over its seeds: one value of every type in every form.
// With a directory as argument it writes the seeds there instead.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "common/codec/encoder.h"
#include "tests/codec/samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy {
namespace {

std::string Seed(const Sample& sample, uint8_t choice) {
  CodecForm form = (choice & 1) != 0 ? kV3Form : kModernForm;
  form.described = (choice & 2) != 0;
  Encoder encoder(form);
  encoder.PutUint16(sample.type);
  encoder.PutElement(sample.type, sample.element);
  return static_cast<char>(choice) + encoder.Take();
}

int Run(const char* directory) {
  int seeds = 0;
  for (const Sample& sample : Samples()) {
    for (uint8_t choice = 0; choice < 8; ++choice) {
      const std::string seed = Seed(sample, choice);
      if (directory != nullptr) {
        std::ofstream(std::string(directory) + "/" + std::to_string(seeds),
                      std::ios::binary)
            << seed;
      } else {
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seed.data()),
                               seed.size());
      }
      ++seeds;
    }
  }
  printf("%d seeds\n", seeds);
  return seeds > 500 ? 0 : 1;
}

}  // namespace
}  // namespace canopy

int main(int argc, char** argv) {
  return canopy::Run(argc > 1 ? argv[1] : nullptr);
}
