// Single exchanges with the API server, without repetitions.
#ifndef CANOPY_SERVER_KUBERNETES_API_API_CONNECTION_H_
#define CANOPY_SERVER_KUBERNETES_API_API_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/kubernetes/api/api_server.h"
#include "server/kubernetes/api/http_client.h"
#include "server/kubernetes/api/http_message.h"
#include "server/kubernetes/api/json.h"
#include "server/kubernetes/api/token_file.h"

namespace canopy::kubernetes {

struct ApiRequest {
  std::string path;                 // with the query
  std::optional<std::string> json;  // the body of a POST; none: a GET
  int64_t timeout_ns = 0;           // for the whole exchange
  size_t max_body = 0;              // bytes of the answer
};

// Loop thread only. Sends requests with the current token. Callbacks have the
// rules of HttpClient.
class ApiConnection {
 public:
  using Id = HttpClient::Id;
  using Done = std::function<void(HttpAnswer)>;

  // `loop` outlives this object.
  ApiConnection(EventLoop* loop, const ApiServer& server);

  EventLoop* loop() const { return loop_; }

  Id Exchange(ApiRequest request, Done done);
  Id Stream(ApiRequest request, std::function<void(std::string_view)> on_piece,
            Done done);
  void Cancel(Id id) { http_.Cancel(id); }

  // Called when the server has rejected the token of a request (status 401).
  // Reads the token again, and returns true if another attempt would send
  // another token.
  bool RenewToken(const HttpAnswer& rejection);

 private:
  HttpRequest HttpRequestOf(ApiRequest request);

  EventLoop* loop_;
  std::string url_;
  TokenFile token_file_;
  HttpClient http_;
};

// Returns why an answer is no success, or success. The code is that of the
// exchange if there is no answer; kErrNotFound (404), kErrNoPermissions (401,
// 403), kErrExists (409), kErrBadParam (400, 422), or kErrServerFailedRequest.
// The message has the server's explanation.
Status StatusOf(const HttpAnswer& answer);
// Returns the object of a successful answer. kErrUnpackFailure: the body is no
// JSON.
Result<Json> ObjectOf(const HttpAnswer& answer);
// Returns whether the request may succeed if it is repeated: the server was not
// reached, was too busy or failed.
bool IsTransient(const HttpAnswer& answer);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_API_CONNECTION_H_
