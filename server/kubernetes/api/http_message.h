// Requests of HTTP and their answers.
#ifndef CANOPY_SERVER_KUBERNETES_API_HTTP_MESSAGE_H_
#define CANOPY_SERVER_KUBERNETES_API_HTTP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"

namespace canopy::kubernetes {

struct HttpRequest {
  std::string url;
  std::string token;                // of "Authorization: Bearer", if not empty
  std::optional<std::string> json;  // the body of a POST; none: a GET
  int64_t timeout_ns = 0;           // for the whole exchange
  size_t max_body = 0;              // bytes of the answer's body
};

struct HttpAnswer {
  // Not ok if there is no complete answer. kErrUnreach: no connection;
  // kErrTimeout; kErrHandshakeFailed: the server's certificate is not valid;
  // kErrOutOfResource: the body is too large; kErrNotSupported: there is no
  // libcurl; kErrCommFailure: other failures.
  Status transport;
  int code = 0;  // of HTTP; 0 if no head of an answer has arrived
  std::optional<int64_t> retry_after_ns;
  std::string body;
  std::string token;  // of the request
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_HTTP_MESSAGE_H_
