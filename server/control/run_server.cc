#include "server/control/run_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "common/message_stream.h"
#include "common/posix/out_queue.h"
#include "common/run_protocol.h"
#include "server/control/caller.h"

namespace canopy::control {
namespace {

constexpr size_t kReadSize = 64 << 10;

std::string Greeting(bool leads) {
  std::string frame(kMessageHead, '\0');
  if (leads) return frame;
  frame += kGreetingElsewhere;
  PutMessageLength(static_cast<uint32_t>(kGreetingElsewhere.size()),
                   frame.data());
  return frame;
}

}  // namespace

// A connection to a launcher. Only the server closes and destroys it, in
// callbacks of the loop, so never during a call of its owner.
class RunServer::Connection : public LauncherStream {
 public:
  Connection(EventLoop* loop, UniqueFd socket, uint64_t id,
             LauncherListener* owner)
      : loop_(loop), socket_(std::move(socket)), id_(id), owner_(owner) {}
  ~Connection() override { loop_->Unwatch(socket_.get()); }

  // Starts to serve. `close` destroys this object.
  void Begin(std::function<void()> close) {
    close_ = std::move(close);
    loop_->Watch(socket_.get(), EPOLLIN,
                 [this](uint32_t events) { OnEvents(events); });
    out_.Append(Greeting(owner_->Leads()));
    OnEvents(EPOLLIN);
  }

  void Send(v1::RunEvent event) override {
    out_.Append(FrameMessage(event));
    FlushLater();
  }
  // The output is flushed at once, so that the launcher receives the end before
  // the agent cleans up after the job.
  void FinishWhenWritten() override {
    (void)out_.Flush(socket_.get());
    finish_ = true;
    FlushLater();
  }
  // Writes as much as the socket accepts. Returns false if the connection is
  // over.
  bool Flush();

 private:
  void OnEvents(uint32_t events) {
    const bool open = (events & ~uint32_t{EPOLLOUT}) == 0 || ReadSome();
    if (!open || !Flush()) Close();
  }
  void Close() {
    (void)out_.Flush(socket_.get());
    // A copy is called, because the call destroys this object.
    const auto close = close_;
    close();
  }
  void FlushLater();
  // Both functions return false if the connection is over.
  bool ReadSome();
  bool TakeRequests();

  EventLoop* const loop_;
  const UniqueFd socket_;
  const uint64_t id_;
  LauncherListener* const owner_;
  std::function<void()> close_;
  MessageReader in_{kMaxRunMessage};
  OutQueue out_;
  bool finish_ = false;
  bool flush_scheduled_ = false;
  bool waiting_ = false;  // until the socket is writable
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

void RunServer::Connection::FlushLater() {
  if (waiting_ || std::exchange(flush_scheduled_, true)) return;
  loop_->Defer([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    flush_scheduled_ = false;
    if (!Flush()) Close();
  });
}

bool RunServer::Connection::ReadSome() {
  for (;;) {
    char buffer[kReadSize];
    const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    in_.Append({buffer, static_cast<size_t>(n)});
    if (!TakeRequests()) return false;
    if (static_cast<size_t>(n) < sizeof buffer) return true;
  }
}

bool RunServer::Connection::TakeRequests() {
  std::string_view bytes;
  MessageReader::Next next;
  while ((next = in_.Take(&bytes)) == MessageReader::Next::kMessage) {
    v1::RunRequest request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return false;
    }
    if (!finish_) owner_->OnRequest(id_, std::move(request));
  }
  return next == MessageReader::Next::kIncomplete;
}

bool RunServer::Connection::Flush() {
  const OutQueue::State state = out_.Flush(socket_.get());
  if (state == OutQueue::State::kBroken) return false;
  const bool waiting = state != OutQueue::State::kEmpty;
  if (!waiting && finish_) return false;
  if (waiting != waiting_) {
    waiting_ = waiting;
    loop_->Rewatch(socket_.get(), EPOLLIN | (waiting ? EPOLLOUT : 0u));
  }
  return true;
}

RunServer::RunServer(EventLoop* loop, LauncherListener* owner)
    : loop_(loop), owner_(owner), listener_(loop, [this](UniqueFd socket) {
        OnConnection(std::move(socket));
      }) {}

RunServer::~RunServer() { Flush(); }

void RunServer::Flush() {
  for (auto& [id, connection] : connections_) (void)connection->Flush();
}

Status RunServer::Start(const std::string& socket_path) {
  return listener_.Start(socket_path);
}

void RunServer::OnConnection(UniqueFd socket) {
  const uint64_t id = owner_->NewLauncher();
  auto made =
      std::make_unique<Connection>(loop_, std::move(socket), id, owner_);
  Connection* const connection = made.get();
  connections_[id] = std::move(made);
  owner_->OnLauncher(id, connection, OwnUser());
  connection->Begin([this, id] { Close(id); });
}

void RunServer::Close(uint64_t id) {
  const auto gone = connections_.extract(id);
  owner_->OnGone(id);
}

}  // namespace canopy::control
