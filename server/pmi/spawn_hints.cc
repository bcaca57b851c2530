#include "server/pmi/spawn_hints.h"

#include <algorithm>

#include "pmix_common.h"

namespace canopy::pmi {
namespace {

constexpr char kPreput[] = "PMI_PREPUT_";

struct Hint {
  std::string_view name;
  const char* attribute;
};

constexpr Hint kHints[] = {
    {"host", PMIX_HOST},      {"hostfile", PMIX_HOSTFILE},
    {"wdir", PMIX_WDIR},      {"add-host", PMIX_ADD_HOST},
    {"map_by", PMIX_MAPBY},   {"add-hostfile", PMIX_ADD_HOSTFILE},
    {"bind_to", PMIX_BINDTO}, {"rank_by", PMIX_RANKBY},
    {"path", PMIX_PREFIX},
};

}  // namespace

const char* AttributeOfHint(std::string_view name) {
  for (const Hint& hint : kHints) {
    if (hint.name == name) return hint.attribute;
  }
  return nullptr;
}

std::string PreputEntry(size_t index, std::string_view key,
                        std::string_view value) {
  std::string entry = kPreput + std::to_string(index) + "=";
  entry.append(key).append("=").append(value);
  return entry;
}

std::optional<std::string> PreputValueIn(std::string_view entry,
                                         std::string_view key) {
  if (!entry.starts_with(kPreput)) return std::nullopt;
  entry.remove_prefix(std::min(entry.find('='), entry.size()));
  const std::string_view pair = entry.substr(entry.empty() ? 0 : 1);
  if (!pair.starts_with(key)) return std::nullopt;
  const std::string_view value = pair.substr(key.size());
  if (!value.starts_with('=')) return std::nullopt;
  return std::string(value.substr(1));
}

}  // namespace canopy::pmi
