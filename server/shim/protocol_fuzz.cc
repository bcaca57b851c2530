// Fuzz target of the decoders: whatever the bytes, nothing bad happens, and
// what could be read is written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/shim/protocol.h"

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
  Try<SignalRanks>(in);
  Try<KillRanks>(in);
  Try<Welcome>(in);
  Try<Prepared>(in);
  Try<Started>(in);
  Try<std::vector<ExitedRank>>(in);
  uint64_t bytes;
  (void)DecodeBytes(in, &bytes);
  std::string name;
  (void)DecodeName(in, &name);
  std::vector<Rank> ranks;
  std::string_view data;
  (void)DecodeInput(in, &ranks, &data);
  Rank rank;
  uint16_t channel;
  (void)DecodeOutput(in, &rank, &channel, &data);
}

}  // namespace
}  // namespace canopy::process

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  canopy::process::TryAll({reinterpret_cast<const char*>(data), size});
  return 0;
}
