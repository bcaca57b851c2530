// HTTP requests to one server, driven by an event loop through libcurl.
#ifndef CANOPY_SERVER_KUBERNETES_API_HTTP_CLIENT_H_
#define CANOPY_SERVER_KUBERNETES_API_HTTP_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/event_loop.h"
#include "server/kubernetes/api/http_message.h"

namespace canopy::kubernetes {

// Loop thread only. Uses HTTP/1.1: each stream has a connection of its own, so
// a connection that has died delays no other exchange. Uses no proxy and
// follows no redirection. Callbacks run from the loop, never from a function of
// this class. They may start and cancel transfers, and may destroy this object.
class HttpClient {
 public:
  using Id = uint64_t;  // of a transfer; never 0

  // Trusts only the certificates in `ca_file`. `loop` outlives this object.
  HttpClient(EventLoop* loop, std::string ca_file);
  // Cancels all transfers.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Receives the whole body before it calls `done`.
  Id Exchange(HttpRequest request, std::function<void(HttpAnswer)> done);
  // Passes the body of a successful answer to `on_piece` as it arrives, without
  // a limit on its size. The body of any other answer is passed to `done`.
  Id Stream(HttpRequest request, std::function<void(std::string_view)> on_piece,
            std::function<void(HttpAnswer)> done);
  // Ends a transfer without a further callback. Has no effect if the transfer
  // has ended.
  void Cancel(Id id);

 private:
  class Driver;
  std::shared_ptr<Driver> driver_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_HTTP_CLIENT_H_
