// A server of HTTP/1.1 for tests, which answers by a script.
#ifndef CANOPY_SERVER_KUBERNETES_API_HTTP_SERVER_TESTING_H_
#define CANOPY_SERVER_KUBERNETES_API_HTTP_SERVER_TESTING_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/thread_annotations.h"
#include "server/kubernetes/api/certificate_testing.h"

namespace canopy::kubernetes {

struct ServedRequest {
  std::string method;
  std::string target;         // path and query
  std::string authorization;  // the header
  std::string body;
};

struct ServedAnswer {
  int code = 200;
  std::string body = {};
  std::vector<std::string> headers = {};  // "NAME: VALUE"
  // The body continues with the texts that are pushed.
  bool is_stream = false;
  // The answer never comes.
  bool is_silent = false;
};

// Listens on 127.0.0.1, in threads of its own. Each request takes the next
// answer of the script, and waits for it unless its connection is closed;
// requests that arrive together take answers in any order. The functions are
// called by one thread.
class HttpTestServer {
 public:
  // With a certificate, connections use TLS and cannot be streams.
  explicit HttpTestServer(const TestCertificate* certificate = nullptr);
  ~HttpTestServer();
  HttpTestServer(const HttpTestServer&) = delete;
  HttpTestServer& operator=(const HttpTestServer&) = delete;

  std::string Url() const;

  // Adds an answer to the script.
  void Answer(ServedAnswer answer);
  // Returns all requests so far.
  std::vector<ServedRequest> Requests();

  // Returns whether a stream is open.
  bool HasStream();
  // Sends the text on all streams.
  void Push(const std::string& text);
  // Ends all streams as a server does when their time is over.
  void EndStreams();
  // Closes all connections.
  void Drop();
  // Refuses connections, after it has closed all.
  void GoAway();
  // Accepts connections again, at the same address.
  void ComeBack();

 private:
  struct Connection {
    UniqueFd fd;
    SSL* tls = nullptr;
    bool is_stream = false;
    bool is_dropped = false;
    std::thread thread;
  };

  void Listen();
  void Accept();
  void Serve(Connection* connection);
  bool ServeOne(Connection* connection, std::string* received);
  bool TakeAnswer(const Connection& connection, ServedAnswer* answer);
  void BeginStream(Connection* connection, const ServedAnswer& answer);
  void EndAll();

  SSL_CTX* context_ = nullptr;
  uint16_t port_ = 0;
  UniqueFd listener_;
  std::thread accepting_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<ServedAnswer> script_ CANOPY_GUARDED_BY(mutex_);
  std::vector<ServedRequest> requests_ CANOPY_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Connection>> connections_
      CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_HTTP_SERVER_TESTING_H_
