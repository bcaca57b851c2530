// Calls of the Kubernetes API server.
#ifndef CANOPY_SERVER_KUBERNETES_API_API_CLIENT_H_
#define CANOPY_SERVER_KUBERNETES_API_API_CLIENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/kubernetes/api/api_connection.h"
#include "server/kubernetes/api/api_server.h"
#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/retry_pauses.h"

namespace canopy::kubernetes {

// Times are in nanoseconds.
struct CallLimits {
  int64_t attempt_ns = 10'000'000'000;
  // For all attempts of a call, with the pauses between them.
  int64_t deadline_ns = 30'000'000'000;
  int64_t first_pause_ns = 200'000'000;
  int64_t longest_pause_ns = 5'000'000'000;
  size_t max_object = 4 << 20;  // bytes of an answer
};

// Loop thread only. A call is repeated if the server cannot be reached, fails
// (5xx) or is too busy (429), until its deadline; and once with a new token if
// the server has rejected the token (401). Callbacks run from the loop, never
// from a function of this class. They may make calls and destroy this object.
class ApiClient {
 public:
  using CallId = uint64_t;  // never 0
  // Receives the object. kErrNotFound: there is none; kErrNoPermissions: the
  // server has refused the call; kErrExists: the name is in use (a Post that
  // was repeated may itself have used it); kErrBadParam: the request is
  // malformed; kErrTimeout, kErrUnreach, kErrHandshakeFailed, kErrCommFailure:
  // no answer; kErrNotSupported: there is no libcurl; kErrOutOfResource: the
  // object is too large, or there are too many calls; kErrUnpackFailure: the
  // answer is not JSON; kErrServerFailedRequest: other failures of the server.
  using Done = std::function<void(Result<Json>)>;

  // Calls beyond this number fail.
  static constexpr size_t kMaxCalls = 1000;

  // `loop` outlives this object.
  ApiClient(EventLoop* loop, const ApiServer& server,
            const CallLimits& limits = {});
  // Ends all calls without their callbacks.
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // Reads the object at `path`, such as "/api/v1/namespaces/a/pods/b". Names in
  // the path are escaped (UrlEscaped).
  CallId Get(const std::string& path, Done done);
  // Creates an object in the collection at `path`.
  CallId Post(const std::string& path, const Json& object, Done done);
  // Ends a call without its callback. Has no effect if the call has ended.
  void Cancel(CallId id);

  // For watches.
  ApiConnection& connection() { return connection_; }

 private:
  struct Call {
    std::string path;
    std::optional<std::string> json;
    Done done;
    int64_t deadline_ns;
    RetryPauses pauses;
    bool has_renewed_token = false;
    Status failure = Status();       // of the attempt before
    ApiConnection::Id exchange = 0;  // in progress
    // The timer of the next attempt.
    std::optional<EventLoop::TimerId> timer = std::nullopt;
  };

  CallId Start(const std::string& path, std::optional<std::string> json,
               Done done);
  void FailSoon(CallId id, const Status& status);
  void Attempt(CallId id);
  void OnAnswer(CallId id, const HttpAnswer& answer);
  // Returns when to repeat the call, or no value if the answer is final.
  std::optional<int64_t> PauseAfter(const HttpAnswer& answer, Call* call);
  void AttemptLater(CallId id, int64_t pause_ns);
  // Removes the call and passes the result to its callback, which may destroy
  // this object.
  void End(CallId id, Result<Json> result);

  EventLoop* loop_;
  CallLimits limits_;
  CallId next_ = 1;
  std::unordered_map<CallId, Call> calls_;
  ApiConnection connection_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_API_CLIENT_H_
