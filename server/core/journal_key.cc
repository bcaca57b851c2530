#include "server/core/journal_key.h"

#include <cstddef>

namespace canopy::core {
namespace {

// Indexed by type. No name is a prefix of another.
constexpr std::string_view kNames[] = {
    "controller", "collective ", "commit ",   "publication ", "lookup ",
    "killed ",    "event ",      "hostcall ", "held ",        "inputrun"};

}  // namespace

std::string KeyOf(JournalRecordType type) {
  return std::string(kNames[static_cast<size_t>(type)]);
}

bool IsKeyOf(JournalRecordType type, std::string_view key) {
  const auto parsed = ParseKey(key);
  return parsed && parsed->type == type;
}

std::optional<JournalKey> ParseKey(std::string_view key) {
  uint8_t type = 0;
  for (const std::string_view name : kNames) {
    if (key.starts_with(name)) {
      return JournalKey{static_cast<JournalRecordType>(type),
                        key.substr(name.size())};
    }
    ++type;
  }
  return std::nullopt;
}

}  // namespace canopy::core
