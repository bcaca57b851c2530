#include "server/kubernetes/api/http_server_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace canopy::kubernetes {
namespace {

sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Write(int fd, SSL* tls, const std::string& text) {
  if (tls != nullptr) {
    SSL_write(tls, text.data(), static_cast<int>(text.size()));
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const ssize_t sent =
        send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += sent;
  }
}

// Appends what arrives next. Returns false at the end of the connection.
bool ReadMore(int fd, SSL* tls, std::string* text) {
  char bytes[4096];
  const ssize_t length = tls != nullptr ? SSL_read(tls, bytes, sizeof bytes)
                                        : recv(fd, bytes, sizeof bytes, 0);
  if (length <= 0) return false;
  text->append(bytes, length);
  return true;
}

// An answer on such a connection would be lost.
bool IsClosedByPeer(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

std::string HeaderOf(const std::string& head, const std::string& name) {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

ServedRequest RequestOf(const std::string& head) {
  const size_t space = head.find(' ');
  const size_t end = head.find(' ', space + 1);
  return {head.substr(0, space), head.substr(space + 1, end - space - 1),
          HeaderOf(head, "Authorization"), ""};
}

std::string HeadOf(const ServedAnswer& answer) {
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.code) + " Text\r\n" +
      "Content-Type: application/json\r\n" +
      (answer.is_stream
           ? std::string("Transfer-Encoding: chunked\r\n")
           : "Content-Length: " + std::to_string(answer.body.size()) + "\r\n");
  for (const std::string& header : answer.headers) head += header + "\r\n";
  return head + "\r\n";
}

// A client may close a connection before OpenSSL writes to it. The client, in
// the thread of the test, must not depend on this.
void BlockPipeSignal() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

std::string Chunk(const std::string& text) {
  char length[20];
  snprintf(length, sizeof length, "%zx\r\n", text.size());
  return length + text + "\r\n";
}

}  // namespace

HttpTestServer::HttpTestServer(const TestCertificate* certificate) {
  if (certificate != nullptr) context_ = certificate->NewContext();
  Listen();
}

HttpTestServer::~HttpTestServer() {
  GoAway();
  SSL_CTX_free(context_);
}

std::string HttpTestServer::Url() const {
  return (context_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") +
         std::to_string(port_);
}

void HttpTestServer::Answer(ServedAnswer answer) {
  const MutexLock lock(mutex_);
  script_.push_back(std::move(answer));
  changed_.NotifyAll();
}

std::vector<ServedRequest> HttpTestServer::Requests() {
  const MutexLock lock(mutex_);
  return requests_;
}

bool HttpTestServer::HasStream() {
  const MutexLock lock(mutex_);
  for (const auto& connection : connections_) {
    if (connection->is_stream && !connection->is_dropped) return true;
  }
  return false;
}

void HttpTestServer::Push(const std::string& text) {
  const MutexLock lock(mutex_);
  for (const auto& connection : connections_) {
    if (connection->is_stream) {
      Write(connection->fd.get(), nullptr, Chunk(text));
    }
  }
}

void HttpTestServer::EndStreams() {
  const MutexLock lock(mutex_);
  for (const auto& connection : connections_) {
    if (std::exchange(connection->is_stream, false)) {
      Write(connection->fd.get(), nullptr, "0\r\n\r\n");
    }
  }
}

void HttpTestServer::Drop() {
  const MutexLock lock(mutex_);
  for (const auto& connection : connections_) {
    connection->is_dropped = true;
    shutdown(connection->fd.get(), SHUT_RDWR);
  }
  changed_.NotifyAll();
}

void HttpTestServer::GoAway() {
  if (!listener_) return;
  shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  listener_.Reset();
  Drop();
  EndAll();
}

void HttpTestServer::ComeBack() { Listen(); }

void HttpTestServer::EndAll() {
  std::vector<std::unique_ptr<Connection>> ended;
  {
    const MutexLock lock(mutex_);
    ended.swap(connections_);
  }
  for (const auto& connection : ended) connection->thread.join();
}

void HttpTestServer::Listen() {
  listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = LoopbackAddress(port_);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_.get(), plain, length) != 0) abort();
  if (listen(listener_.get(), 16) != 0) abort();
  getsockname(listener_.get(), plain, &length);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

void HttpTestServer::Accept() {
  while (true) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const MutexLock lock(mutex_);
    connections_.push_back(std::make_unique<Connection>());
    Connection* connection = connections_.back().get();
    connection->fd = std::move(fd);
    connection->thread = std::thread([this, connection] { Serve(connection); });
  }
}

void HttpTestServer::Serve(Connection* connection) {
  BlockPipeSignal();
  if (context_ != nullptr) {
    connection->tls = SSL_new(context_);
    SSL_set_fd(connection->tls, connection->fd.get());
  }
  std::string received;
  if (connection->tls == nullptr || SSL_accept(connection->tls) == 1) {
    while (ServeOne(connection, &received)) {
    }
  }
  SSL_free(connection->tls);
  const MutexLock lock(mutex_);
  connection->is_dropped = true;
  shutdown(connection->fd.get(), SHUT_RDWR);
}

bool HttpTestServer::ServeOne(Connection* connection, std::string* received) {
  const int fd = connection->fd.get();
  size_t end = 0;
  while ((end = received->find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore(fd, connection->tls, received)) return false;
  }
  const std::string head = received->substr(0, end + 2);
  const size_t length =
      std::strtoul(HeaderOf(head, "Content-Length").c_str(), nullptr, 10);
  received->erase(0, end + 4);
  while (received->size() < length) {
    if (!ReadMore(fd, connection->tls, received)) return false;
  }
  ServedRequest request = RequestOf(head);
  request.body = received->substr(0, length);
  received->erase(0, length);
  {
    const MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
  }
  ServedAnswer answer;
  if (!TakeAnswer(*connection, &answer)) return false;
  if (answer.is_silent) return ReadMore(fd, connection->tls, received);
  if (answer.is_stream) {
    BeginStream(connection, answer);
  } else {
    Write(fd, connection->tls, HeadOf(answer) + answer.body);
  }
  return true;
}

bool HttpTestServer::TakeAnswer(const Connection& connection,
                                ServedAnswer* answer) {
  const MutexLock lock(mutex_);
  while (script_.empty() && !connection.is_dropped) changed_.Wait(mutex_);
  if (connection.is_dropped || IsClosedByPeer(connection.fd.get())) {
    return false;
  }
  *answer = std::move(script_.front());
  script_.pop_front();
  return true;
}

void HttpTestServer::BeginStream(Connection* connection,
                                 const ServedAnswer& answer) {
  const MutexLock lock(mutex_);
  Write(connection->fd.get(), nullptr, HeadOf(answer));
  if (!answer.body.empty()) {
    Write(connection->fd.get(), nullptr, Chunk(answer.body));
  }
  connection->is_stream = true;
}

}  // namespace canopy::kubernetes
