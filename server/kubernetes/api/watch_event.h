// The lines of a stream of changes.
#ifndef CANOPY_SERVER_KUBERNETES_API_WATCH_EVENT_H_
#define CANOPY_SERVER_KUBERNETES_API_WATCH_EVENT_H_

#include <optional>
#include <string_view>

#include "server/kubernetes/api/json.h"

namespace canopy::kubernetes {

struct WatchEvent {
  enum class Kind { kAdded, kModified, kDeleted, kBookmark, kError };

  Kind kind;
  // The object after the change, and before a deletion. The object of a
  // bookmark has only a version; that of an error is a Status.
  Json object;
};

// Returns no value if the line is no event with an object.
std::optional<WatchEvent> ParseWatchEvent(std::string_view line);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_WATCH_EVENT_H_
