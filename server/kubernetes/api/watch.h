// A collection of the API server and its changes.
#ifndef CANOPY_SERVER_KUBERNETES_API_WATCH_H_
#define CANOPY_SERVER_KUBERNETES_API_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/status.h"
#include "server/kubernetes/api/api_client.h"
#include "server/kubernetes/api/json.h"

namespace canopy::kubernetes {

enum class Change { kAdded, kModified, kDeleted };

// Times are in nanoseconds.
struct WatchLimits {
  int page_objects = 500;        // of a page of a list
  size_t max_page = 32 << 20;    // bytes of a page
  size_t max_line = 4 << 20;     // bytes of a change
  size_t max_objects = 100'000;  // of the collection
  int64_t page_ns = 30'000'000'000;
  // The shortest time after which the server ends a stream; the requested time
  // is random, up to twice as long.
  int64_t stream_ns = 300'000'000'000;
  // A stream without any byte for this time is dropped. The server sends a
  // bookmark about once a minute.
  int64_t silence_ns = 150'000'000'000;
  int64_t first_pause_ns = 200'000'000;
  int64_t longest_pause_ns = 30'000'000'000;
};

struct WatchOptions {
  std::string path;  // of the collection, such as "/api/v1/pods"
  std::string label_selector;
  std::string field_selector;
  // Required. Called for each object that exists or begins to exist, for each
  // change of an object, and for each object that does not exist any more. If
  // the object was deleted while the server could not be reached, `object` has
  // only name, namespace, uid and resourceVersion of its metadata.
  std::function<void(Change change, const Json& object)> on_object;
  // Called after each complete list: the objects reported so far and not
  // deleted are those that exist. The first call reports that the watch is in
  // operation.
  std::function<void()> on_synced;
  // Called when the collection cannot be read or watched, unless the same
  // problem was reported last; success if it can again. kErrNotFound: the
  // server does not have the collection. The watch continues in any case.
  std::function<void(const Status& problem)> on_problem;
  WatchLimits limits;
};

// Loop thread only. Lists the collection, then receives its changes until the
// object is destroyed, however long the server is away in between. Callbacks
// run from the loop, not from the constructor. They may destroy this object and
// the client.
class Watch {
 public:
  // `client` outlives this object.
  Watch(ApiClient* client, WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  class Machine;
  std::shared_ptr<Machine> machine_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_WATCH_H_
