#include "server/kubernetes/api/api_connection.h"

#include <utility>

namespace canopy::kubernetes {
namespace {

// The token may be used by anyone who reads it, so it does not travel in plain
// text.
std::string TokenPathOf(const ApiServer& server) {
  return server.url.starts_with("https://") ? server.token_file : "";
}

int StatusCodeOfHttp(int code) {
  switch (code) {
    case 400:
    case 422:
      return kErrBadParam;
    case 401:
    case 403:
      return kErrNoPermissions;
    case 404:
      return kErrNotFound;
    case 409:
      return kErrExists;
    default:
      return kErrServerFailedRequest;
  }
}

}  // namespace

ApiConnection::ApiConnection(EventLoop* loop, const ApiServer& server)
    : loop_(loop),
      url_(server.url),
      token_file_(TokenPathOf(server)),
      http_(loop, server.ca_file) {}

ApiConnection::Id ApiConnection::Exchange(ApiRequest request, Done done) {
  return http_.Exchange(HttpRequestOf(std::move(request)), std::move(done));
}

ApiConnection::Id ApiConnection::Stream(
    ApiRequest request, std::function<void(std::string_view)> on_piece,
    Done done) {
  return http_.Stream(HttpRequestOf(std::move(request)), std::move(on_piece),
                      std::move(done));
}

HttpRequest ApiConnection::HttpRequestOf(ApiRequest request) {
  return {url_ + request.path, token_file_.Token(EventLoop::Now()),
          std::move(request.json), request.timeout_ns, request.max_body};
}

bool ApiConnection::RenewToken(const HttpAnswer& rejection) {
  return token_file_.Renew(rejection.token, EventLoop::Now());
}

Status StatusOf(const HttpAnswer& answer) {
  if (!answer.transport.ok()) return answer.transport;
  if (answer.code >= 200 && answer.code < 300) return Status();
  std::string message = "the Kubernetes API server answered with status " +
                        std::to_string(answer.code);
  if (const auto object = ParseJson(answer.body)) {
    const std::string reason = ShownText(TextAt(*object, "message"));
    if (!reason.empty()) message += ": " + reason;
  }
  return Status(StatusCodeOfHttp(answer.code), message);
}

Result<Json> ObjectOf(const HttpAnswer& answer) {
  if (const Status status = StatusOf(answer); !status.ok()) return status;
  auto object = ParseJson(answer.body);
  if (object) return *std::move(object);
  return Status(kErrUnpackFailure,
                "the answer of the Kubernetes API server is not JSON");
}

bool IsTransient(const HttpAnswer& answer) {
  const int transport = answer.transport.code();
  if (transport != kSuccess) {
    return transport != kErrOutOfResource && transport != kErrHandshakeFailed &&
           transport != kErrNotSupported;
  }
  return answer.code == 429 || answer.code >= 500;
}

}  // namespace canopy::kubernetes
