// Fuzz target of the decoders of the core: whatever the bytes, nothing bad
// happens, and what could be read is written and read again as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/core/kval.h"
#include "server/core/modex.h"
#include "server/core/why.h"

namespace canopy::core {
namespace {

void TryAnswer(std::string_view in) {
  const Result<StateAnswer> answer = DecodeStateAnswer(in);
  if (!answer.ok()) return;
  const std::string once = EncodeStateAnswer(*answer);
  const Result<StateAnswer> again = DecodeStateAnswer(once);
  if (!again.ok() || EncodeStateAnswer(*again) != once) abort();
  MergeWaiting({*answer, *again});
}

void TryContribution(std::string_view in) {
  ModexReader reader{Bytes(std::string(in))};
  ModexStore store;
  RankUpdate update;
  while (reader.Next(&update)) {
    store.StoreRemote(update);
    if (!AreKvals(store.SeenHere(update.proc).view())) abort();
  }
}

void TryCommit(std::string_view in) {
  ModexStore store;
  const Bytes kvals{std::string(in)};
  const ProcId proc = {"job", 0};
  const bool stored = store.Commit(0, proc, {{Scope::kGlobal, kvals}});
  if (stored != AreKvals(in)) abort();
  if (!AreKvals(store.SeenHere(proc).view())) abort();
}

}  // namespace
}  // namespace canopy::core

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  canopy::core::TryAnswer(in);
  canopy::core::TryContribution(in);
  canopy::core::TryCommit(in);
  return 0;
}
