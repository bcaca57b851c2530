// Fuzz target of the parsers of requests: any text is parsed safely, and a
// stream has the same meaning however it is divided into pieces.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/request/pty_input.h"
#include "common/request/slot_list.h"
#include "tests/fuzz/fuzz.h"

namespace canopy {
namespace {

std::string DecodeInTwo(std::string_view stream, size_t cut) {
  PtyInputDecoder decoder;
  std::optional<PtySize> size;
  std::string text = decoder.Decode(stream.substr(0, cut), &size);
  text += decoder.Decode(stream.substr(cut), &size);
  return text + (size ? PtySizeText(*size) : "");
}

void TryAll(std::string_view in) {
  if (DecodeInTwo(in, in.size()) != DecodeInTwo(in, in.size() / 2)) abort();
  (void)ParsePtySize(in);
  const auto parts = ParseSlotList(in);
  CpuSet cpus;
  cpus.AddRange(0, 7);
  if (parts.ok()) (void)CpusOf(*parts, FlatTopology(cpus));
}

}  // namespace

namespace fuzz {

std::vector<std::string> Seeds() {
  return {"0-2,5", "1:0;0:*", "24x80",
          EncodePtyText("a\xff") + EncodePtySize({24, 80}) + "b"};
}

}  // namespace fuzz
}  // namespace canopy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::TryAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
