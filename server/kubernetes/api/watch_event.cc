#include "server/kubernetes/api/watch_event.h"

#include <utility>

namespace canopy::kubernetes {
namespace {

struct EventName {
  std::string_view name;
  WatchEvent::Kind kind;
};

constexpr EventName kEventNames[] = {{"ADDED", WatchEvent::Kind::kAdded},
                                     {"MODIFIED", WatchEvent::Kind::kModified},
                                     {"DELETED", WatchEvent::Kind::kDeleted},
                                     {"BOOKMARK", WatchEvent::Kind::kBookmark},
                                     {"ERROR", WatchEvent::Kind::kError}};

}  // namespace

std::optional<WatchEvent> ParseWatchEvent(std::string_view line) {
  std::optional<Json> event = ParseJson(line);
  if (!event || !At(*event, "object").is_object()) return std::nullopt;
  const std::string_view type = TextAt(*event, "type");
  for (const auto& [name, kind] : kEventNames) {
    if (name != type) continue;
    return WatchEvent{kind, std::move(event->find("object").value())};
  }
  return std::nullopt;
}

}  // namespace canopy::kubernetes
