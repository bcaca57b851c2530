// One HTTP exchange: a handle of libcurl with its options and its answer.
#ifndef CANOPY_SERVER_KUBERNETES_API_HTTP_TRANSFER_H_
#define CANOPY_SERVER_KUBERNETES_API_HTTP_TRANSFER_H_

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "server/kubernetes/api/curl_library.h"
#include "server/kubernetes/api/http_message.h"

namespace canopy::kubernetes {

// Loop thread only. libcurl has pointers to this object, so it does not move.
class HttpTransfer {
 public:
  struct Callbacks {
    // Null: the body is collected.
    std::function<void(std::string_view)> on_piece;
    std::function<void(HttpAnswer)> done;
    // Called by libcurl itself when a piece has arrived. Must not use libcurl.
    std::function<void()> on_arrival;
  };

  HttpTransfer(const CurlLibrary& curl, uint64_t id, HttpRequest request,
               const std::string& ca_file, Callbacks callbacks);
  // The handle must not be part of a multi handle any more.
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  uint64_t id() const { return id_; }
  CURL* easy() const { return easy_; }
  // Returns the number of the transfer to which a handle belongs.
  static uint64_t IdOf(const CurlLibrary& curl, CURL* easy);

  // Passes the pieces that have arrived to `on_piece`.
  void DeliverPieces();
  // Passes the answer to `done`.
  void DeliverEnd(CURLcode result);

 private:
  void SetRequest();
  void SetSecurity(const std::string& ca_file);
  void AddHeader(const std::string& line);
  // Returns false if the body exceeds its limit.
  bool Receive(std::string_view piece);
  Status TransportStatus(CURLcode result) const;
  static size_t OnBody(char* data, size_t size, size_t count, void* transfer);

  const CurlLibrary& curl_;
  uint64_t id_;
  HttpRequest request_;
  Callbacks callbacks_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  char error_[CURL_ERROR_SIZE] = "";
  std::string pieces_;  // that have arrived and were not delivered yet
  std::string body_;
  bool is_too_large_ = false;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_HTTP_TRANSFER_H_
