#include "server/pmi/request.h"

#include <algorithm>

namespace canopy::pmi {

bool IsJobName(std::string_view name) {
  static_assert(kKvsNameMax <= kMaxNspaceLen + 1);
  return !name.empty() && name.size() < kKvsNameMax &&
         std::ranges::none_of(name, [](char c) { return c >= 0 && c < ' '; });
}

}  // namespace canopy::pmi
