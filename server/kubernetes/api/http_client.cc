#include "server/kubernetes/api/http_client.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/time_units.h"
#include "server/kubernetes/api/curl_library.h"
#include "server/kubernetes/api/http_transfer.h"

namespace canopy::kubernetes {
namespace {

// Connections that are kept for further requests.
constexpr long kMaxIdleConnections = 4;
// A connection ends after about half a minute if its peer does not respond.
constexpr int kKeepaliveIdleSeconds = 15;
constexpr int kKeepaliveIntervalSeconds = 5;
constexpr int kKeepaliveProbes = 3;
constexpr int kUnacknowledgedMs = 30'000;

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof value);
}

// libcurl would leave its sockets open in programs that this process starts.
curl_socket_t OpenSocket(void* /*unused*/, curlsocktype /*purpose*/,
                         curl_sockaddr* address) {
  const int fd =
      socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
             address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
  return fd;
}

uint32_t EpollEvents(int what) {
  uint32_t events = 0;
  if (what & CURL_POLL_IN) events |= EPOLLIN;
  if (what & CURL_POLL_OUT) events |= EPOLLOUT;
  return events;
}

int SelectMask(uint32_t events) {
  int mask = 0;
  if (events & (EPOLLIN | EPOLLHUP)) mask |= CURL_CSELECT_IN;
  if (events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
  if (events & EPOLLERR) mask |= CURL_CSELECT_ERR;
  return mask;
}

struct Finished {
  HttpClient::Id id;
  CURLcode result;
};

}  // namespace

// Lives until the last callback has returned, even if a callback destroys the
// client. libcurl calls OnSocket, OnTimer and OnClose, which only change what
// the loop watches.
class HttpClient::Driver
    : public std::enable_shared_from_this<HttpClient::Driver> {
 public:
  Driver(EventLoop* loop, std::string ca_file);
  ~Driver() { Close(); }

  Id Start(HttpRequest request, HttpTransfer::Callbacks callbacks);
  void Cancel(Id id);
  void Close();

 private:
  void WatchSocket(int fd, int what);
  void Unwatch(int fd);
  void SetTimer(long timeout_ms);
  void Act(curl_socket_t fd, int mask);
  void Deliver();
  void FailSoon(Id id, std::function<void(HttpAnswer)> done);
  std::vector<Finished> TakeFinished() const;
  std::shared_ptr<HttpTransfer> Find(Id id) const;

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* driver,
                      void* socket);
  static int OnTimer(CURLM* multi, long timeout_ms, void* driver);
  static int OnClose(void* driver, curl_socket_t fd);

  EventLoop* loop_;
  std::string ca_file_;
  const CurlLibrary* curl_ = LoadedCurl();
  CURLM* multi_ = nullptr;
  Id next_ = 1;
  std::unordered_map<Id, std::shared_ptr<HttpTransfer>> transfers_;
  std::unordered_map<Id, EventLoop::TimerId> failures_;
  std::vector<Id> arrived_;  // transfers with pieces to deliver
  std::unordered_set<int> watched_;
  std::optional<EventLoop::TimerId> timer_;
};

HttpClient::Driver::Driver(EventLoop* loop, std::string ca_file)
    : loop_(loop), ca_file_(std::move(ca_file)) {
  loop_->AssertOnThread();
  if (curl_ == nullptr) return;
  multi_ = curl_->multi_init();
  curl_->multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Driver::OnSocket);
  curl_->multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_->multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Driver::OnTimer);
  curl_->multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_->multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxIdleConnections);
}

HttpClient::Id HttpClient::Driver::Start(HttpRequest request,
                                         HttpTransfer::Callbacks callbacks) {
  loop_->AssertOnThread();
  const Id id = next_++;
  if (curl_ == nullptr) {
    FailSoon(id, std::move(callbacks.done));
    return id;
  }
  callbacks.on_arrival = [this, id] { arrived_.push_back(id); };
  auto transfer = std::make_shared<HttpTransfer>(
      *curl_, id, std::move(request), ca_file_, std::move(callbacks));
  curl_->easy_setopt(transfer->easy(), CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  curl_->easy_setopt(transfer->easy(), CURLOPT_CLOSESOCKETFUNCTION,
                     &Driver::OnClose);
  curl_->easy_setopt(transfer->easy(), CURLOPT_CLOSESOCKETDATA, this);
  transfers_[id] = transfer;
  curl_->multi_add_handle(multi_, transfer->easy());
  return id;
}

// Without libcurl, all transfers fail.
void HttpClient::Driver::FailSoon(Id id, std::function<void(HttpAnswer)> done) {
  failures_[id] = loop_->AddTimer(0, [this, id, done = std::move(done)] {
    const auto self = shared_from_this();
    failures_.erase(id);
    HttpAnswer answer;
    answer.transport =
        Status(kErrNotSupported,
               "cannot load libcurl.so.4: install the package libcurl4");
    done(std::move(answer));
  });
}

void HttpClient::Driver::Cancel(Id id) {
  loop_->AssertOnThread();
  if (const auto failure = failures_.extract(id)) {
    loop_->CancelTimer(failure.mapped());
  }
  const auto transfer = Find(id);
  if (transfer == nullptr) return;
  curl_->multi_remove_handle(multi_, transfer->easy());
  transfers_.erase(id);
}

void HttpClient::Driver::Close() {
  for (const auto& [id, timer] : failures_) loop_->CancelTimer(timer);
  failures_.clear();
  if (multi_ == nullptr) return;
  loop_->AssertOnThread();
  for (const auto& [id, transfer] : transfers_) {
    curl_->multi_remove_handle(multi_, transfer->easy());
  }
  transfers_.clear();
  curl_->multi_cleanup(std::exchange(multi_, nullptr));
  while (!watched_.empty()) Unwatch(*watched_.begin());
  if (timer_) loop_->CancelTimer(*timer_);
}

int HttpClient::Driver::OnSocket(CURL* /*easy*/, curl_socket_t fd, int what,
                                 void* driver, void* /*socket*/) {
  static_cast<Driver*>(driver)->WatchSocket(fd, what);
  return 0;
}

void HttpClient::Driver::WatchSocket(int fd, int what) {
  if (what == CURL_POLL_REMOVE) return Unwatch(fd);
  if (!watched_.insert(fd).second) return loop_->Rewatch(fd, EpollEvents(what));
  loop_->Watch(fd, EpollEvents(what),
               [this, fd](uint32_t events) { Act(fd, SelectMask(events)); });
}

void HttpClient::Driver::Unwatch(int fd) {
  if (watched_.erase(fd) > 0) loop_->Unwatch(fd);
}

int HttpClient::Driver::OnClose(void* driver, curl_socket_t fd) {
  static_cast<Driver*>(driver)->Unwatch(fd);
  return close(fd);
}

int HttpClient::Driver::OnTimer(CURLM* /*multi*/, long timeout_ms,
                                void* driver) {
  static_cast<Driver*>(driver)->SetTimer(timeout_ms);
  return 0;
}

void HttpClient::Driver::SetTimer(long timeout_ms) {
  if (timer_) loop_->CancelTimer(*timer_);
  timer_.reset();
  if (timeout_ms < 0) return;
  timer_ = loop_->AddTimer(timeout_ms * kNsPerMs, [this] {
    timer_.reset();
    Act(CURL_SOCKET_TIMEOUT, 0);
  });
}

void HttpClient::Driver::Act(curl_socket_t fd, int mask) {
  const auto self = shared_from_this();
  int running = 0;
  curl_->multi_socket_action(multi_, fd, mask, &running);
  Deliver();
}

void HttpClient::Driver::Deliver() {
  const std::vector<Finished> finished = TakeFinished();
  for (const Id id : std::exchange(arrived_, {})) {
    if (const auto transfer = Find(id)) transfer->DeliverPieces();
  }
  for (const Finished& end : finished) {
    const auto transfer = Find(end.id);
    if (transfer == nullptr) continue;
    Cancel(end.id);
    transfer->DeliverEnd(end.result);
  }
}

std::vector<Finished> HttpClient::Driver::TakeFinished() const {
  std::vector<Finished> finished;
  int left = 0;
  while (const CURLMsg* message = curl_->multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    finished.push_back({HttpTransfer::IdOf(*curl_, message->easy_handle),
                        message->data.result});
  }
  return finished;
}

std::shared_ptr<HttpTransfer> HttpClient::Driver::Find(Id id) const {
  const auto found = transfers_.find(id);
  return found == transfers_.end() ? nullptr : found->second;
}

HttpClient::HttpClient(EventLoop* loop, std::string ca_file)
    : driver_(std::make_shared<Driver>(loop, std::move(ca_file))) {}

HttpClient::~HttpClient() { driver_->Close(); }

HttpClient::Id HttpClient::Exchange(HttpRequest request,
                                    std::function<void(HttpAnswer)> done) {
  return driver_->Start(std::move(request), {nullptr, std::move(done), {}});
}

HttpClient::Id HttpClient::Stream(
    HttpRequest request, std::function<void(std::string_view)> on_piece,
    std::function<void(HttpAnswer)> done) {
  return driver_->Start(std::move(request),
                        {std::move(on_piece), std::move(done), {}});
}

void HttpClient::Cancel(Id id) { driver_->Cancel(id); }

}  // namespace canopy::kubernetes
