// The fuzz target for the blobs that hosts bring from other nodes: any bytes
// are split or refused, and split blobs can be joined again without a change.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "server/core/modex/modex.h"
#include "server/library/blob.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::fuzz {

std::vector<std::string> Seeds() {
  core::ModexWriter records;
  records.Add({{"job", 3}, 0, 7, Bytes(std::string("kvals"))});
  const std::string blob = library::MakeBlob(records.Take().view());
  return {blob, blob + blob, library::MakeBlob("")};
}

}  // namespace canopy::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto nodes = canopy::library::SplitBlobs(canopy::Bytes(input));
  if (!nodes.ok()) return 0;
  std::string joined;
  for (const canopy::Bytes& records : *nodes) {
    joined += canopy::library::MakeBlob(records.view());
  }
  const auto again = canopy::library::SplitBlobs(canopy::Bytes(joined));
  if (!again.ok() || again->size() != nodes->size()) abort();
  return 0;
}
