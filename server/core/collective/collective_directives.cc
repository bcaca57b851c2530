#include "server/core/collective/collective_directives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/required.h"
#include "common/status.h"

namespace canopy::core {
namespace {

// Directives that every collective honours; the adapters parse them. Job data
// needs no collection, because every agent derives it from the job's map.
constexpr std::array<std::string_view, 4> kHonoured = {
    "pmix.collect", "pmix.timeout", "pmix.collect.gen", "pmix.loc.col.st"};

}  // namespace

int CheckDirectives(const Bytes& info) {
  if (info.empty()) return kSuccess;
  Decoder decoder(info.view());
  size_t count = 0;
  if (!decoder.GetSize(&count)) return kErrBadParam;
  for (size_t i = 0; i < count; ++i) {
    std::string_view key;
    uint32_t flags = 0;
    if (!decoder.GetString(&key) || !decoder.GetUint32(&flags) ||
        !decoder.SkipValue()) {
      return kErrBadParam;
    }
    const bool honoured = std::ranges::find(kHonoured, key) != kHonoured.end();
    if (!honoured && MustHonour(flags)) return kErrNotSupported;
  }
  return kSuccess;
}

}  // namespace canopy::core
