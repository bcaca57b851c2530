#include "server/kubernetes/api/http_transfer.h"

#include <algorithm>
#include <utility>

#include "common/time_units.h"
#include "common/version.h"

namespace canopy::kubernetes {
namespace {

constexpr long kConnectTimeoutMs = 5000;
// libcurl reuses parsed certificates for this time, after which a new version
// of the file takes effect.
constexpr long kCertificateSeconds = 60;

int AnswerCode(const CurlLibrary& curl, CURL* easy) {
  long code = 0;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

bool IsSuccess(int code) { return code >= 200 && code < 300; }

std::optional<int64_t> RetryAfterNs(const CurlLibrary& curl, CURL* easy) {
  curl_off_t seconds = 0;
  curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds <= 0) return std::nullopt;
  // An hour is more than any caller waits.
  return std::min<curl_off_t>(seconds, 3600) * kNsPerSecond;
}

int StatusCodeOf(CURLcode result) {
  switch (result) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return kErrUnreach;
    case CURLE_OPERATION_TIMEDOUT:
      return kErrTimeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return kErrHandshakeFailed;
    default:
      return kErrCommFailure;
  }
}

}  // namespace

HttpTransfer::HttpTransfer(const CurlLibrary& curl, uint64_t id,
                           HttpRequest request, const std::string& ca_file,
                           Callbacks callbacks)
    : curl_(curl),
      id_(id),
      request_(std::move(request)),
      callbacks_(std::move(callbacks)),
      easy_(curl_.easy_init()) {
  curl_.easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_.easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
  curl_.easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &HttpTransfer::OnBody);
  curl_.easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  SetRequest();
  SetSecurity(ca_file);
}

HttpTransfer::~HttpTransfer() {
  curl_.easy_cleanup(easy_);
  curl_.slist_free_all(headers_);
}

uint64_t HttpTransfer::IdOf(const CurlLibrary& curl, CURL* easy) {
  HttpTransfer* transfer = nullptr;
  curl.easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  return transfer->id();
}

void HttpTransfer::SetRequest() {
  curl_.easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
  curl_.easy_setopt(easy_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_.easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  const auto timeout_ms = static_cast<long>(request_.timeout_ns / kNsPerMs);
  curl_.easy_setopt(easy_, CURLOPT_TIMEOUT_MS, std::max(timeout_ms, 1L));
  // Without this option, libcurl waits for its resolver's thread when a
  // transfer is cancelled.
  curl_.easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_.easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  AddHeader(std::string("User-Agent: canopyd/") + kVersion);
  AddHeader("Accept: application/json");
  if (request_.json) {
    AddHeader("Content-Type: application/json");
    AddHeader("Expect:");  // no round trip before the body is sent
    curl_.easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                      static_cast<curl_off_t>(request_.json->size()));
    curl_.easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.json->data());
  }
}

void HttpTransfer::SetSecurity(const std::string& ca_file) {
  curl_.easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_.easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  // An empty text disables the proxies of the environment.
  curl_.easy_setopt(easy_, CURLOPT_PROXY, "");
  curl_.easy_setopt(easy_, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_.easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_.easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  // Without a directory, the certificates of the system are not trusted.
  curl_.easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  curl_.easy_setopt(easy_, CURLOPT_CAINFO,
                    ca_file.empty() ? nullptr : ca_file.c_str());
  curl_.easy_setopt(easy_, CURLOPT_CA_CACHE_TIMEOUT, kCertificateSeconds);
  if (!request_.token.empty()) {
    AddHeader("Authorization: Bearer " + request_.token);
  }
  curl_.easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
}

void HttpTransfer::AddHeader(const std::string& line) {
  headers_ = curl_.slist_append(headers_, line.c_str());
}

size_t HttpTransfer::OnBody(char* data, size_t size, size_t count,
                            void* transfer) {
  const std::string_view piece(data, size * count);
  auto* self = static_cast<HttpTransfer*>(transfer);
  return self->Receive(piece) ? piece.size() : 0;
}

bool HttpTransfer::Receive(std::string_view piece) {
  if (callbacks_.on_piece && IsSuccess(AnswerCode(curl_, easy_))) {
    pieces_ += piece;
    callbacks_.on_arrival();
    return true;
  }
  is_too_large_ = piece.size() > request_.max_body - body_.size();
  if (!is_too_large_) body_ += piece;
  return !is_too_large_;
}

void HttpTransfer::DeliverPieces() {
  if (pieces_.empty()) return;
  const std::string pieces = std::exchange(pieces_, {});
  callbacks_.on_piece(pieces);
}

void HttpTransfer::DeliverEnd(CURLcode result) {
  HttpAnswer answer;
  answer.transport = TransportStatus(result);
  answer.code = AnswerCode(curl_, easy_);
  answer.retry_after_ns = RetryAfterNs(curl_, easy_);
  answer.body = std::move(body_);
  answer.token = request_.token;
  callbacks_.done(std::move(answer));
}

Status HttpTransfer::TransportStatus(CURLcode result) const {
  if (result == CURLE_OK) return Status();
  if (is_too_large_) {
    return Status(kErrOutOfResource,
                  "the answer of the Kubernetes API server is longer than " +
                      std::to_string(request_.max_body) + " bytes");
  }
  const std::string reason =
      error_[0] != '\0' ? error_ : curl_.easy_strerror(result);
  return Status(StatusCodeOf(result),
                "no answer of the Kubernetes API server: " + reason);
}

}  // namespace canopy::kubernetes
