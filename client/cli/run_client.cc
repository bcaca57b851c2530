#include "client/cli/run_client.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "protos/control.grpc.pb.h"

namespace canopy::cli {
namespace {

namespace v1 = control::v1;

// Unread input that may be under way to the job.
constexpr uint64_t kInputWindow = 256 << 10;
constexpr size_t kInputChunk = 32 << 10;
// Output is acknowledged in lumps: far below the window of a node.
constexpr uint64_t kConsumedLump = 128 << 10;

sigset_t ForwardedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2,
                SIGWINCH}) {
    sigaddset(&set, s);
  }
  return set;
}

class Session {
 public:
  Session(std::unique_ptr<v1::Control::Stub> stub, const RunOptions& options,
          RunObserver* observer)
      : stub_(std::move(stub)), options_(options), observer_(observer) {}
  ~Session() {
    if (signal_fd_ >= 0) close(signal_fd_);
    if (done_fd_ >= 0) close(done_fd_);
  }

  Result<v1::JobEnd> Run(const v1::Launch& launch);

 private:
  void Write(const v1::RunRequest& request);
  void ReadEvents();
  void HandleOutput(const v1::Output& output);
  void PumpUntilDone();
  void ForwardSignal();
  void ForwardInput();
  void Kill(const std::string& reason, bool immediately);

  std::unique_ptr<v1::Control::Stub> stub_;
  const RunOptions options_;
  RunObserver* const observer_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RunRequest, v1::RunEvent>>
      stream_;
  std::mutex write_mutex_;
  std::optional<v1::JobEnd> end_;  // the reading thread's until it ended
  uint64_t unacknowledged_ = 0;    // output written and not yet told
  std::atomic<uint64_t> input_in_flight_{0};
  bool input_open_ = false;
  bool interrupted_ = false;
  bool broken_output_ = false;
  int signal_fd_ = -1;
  int done_fd_ = -1;  // wakes the pump: the stream ended or input has room
  std::atomic<bool> done_{false};
};

Result<v1::JobEnd> Session::Run(const v1::Launch& launch) {
  const sigset_t signals = ForwardedSignals();
  signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  done_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  stream_ = stub_->Run(&context_);
  v1::RunRequest first;
  *first.mutable_launch() = launch;
  Write(first);
  input_open_ = options_.stdin_fd >= 0;
  std::thread reader([this] { ReadEvents(); });
  PumpUntilDone();
  reader.join();
  const grpc::Status status = stream_->Finish();
  if (end_.has_value()) return *std::move(end_);
  return Status(kErrLostConnection, "lost the agent that controls the job (" +
                                        status.error_message() +
                                        "); the job is ended");
}

void Session::Write(const v1::RunRequest& request) {
  std::lock_guard<std::mutex> lock(write_mutex_);
  stream_->Write(request);
}

void Session::ReadEvents() {
  v1::RunEvent event;
  while (stream_->Read(&event)) {
    switch (event.kind_case()) {
      case v1::RunEvent::kMapped:
        observer_->OnMapped(event.mapped());
        break;
      case v1::RunEvent::kProgress:
        observer_->OnProgress(event.progress());
        break;
      case v1::RunEvent::kOutput:
        HandleOutput(event.output());
        break;
      case v1::RunEvent::kEnd:
        end_ = event.end();
        break;
      case v1::RunEvent::kInputConsumed:
        input_in_flight_ -= event.input_consumed();
        eventfd_write(done_fd_, 1);
        break;
      default:
        break;
    }
  }
  done_ = true;
  eventfd_write(done_fd_, 1);
}

void Session::HandleOutput(const v1::Output& output) {
  if (!observer_->OnOutput(output) && !broken_output_) {
    broken_output_ = true;
    Kill("nobody reads the output any more", false);
  }
  unacknowledged_ += output.data().size();
  if (unacknowledged_ < kConsumedLump) return;
  v1::RunRequest request;
  request.set_consumed(std::exchange(unacknowledged_, 0));
  Write(request);
}

void Session::PumpUntilDone() {
  while (!done_) {
    const bool room = input_open_ && input_in_flight_ < kInputWindow;
    pollfd polls[3] = {{done_fd_, POLLIN, 0},
                       {signal_fd_, POLLIN, 0},
                       {room ? options_.stdin_fd : -1, POLLIN, 0}};
    if (poll(polls, 3, -1) < 0 && errno != EINTR) return;
    if (polls[0].revents != 0) {
      eventfd_t count;
      eventfd_read(done_fd_, &count);
    }
    if (polls[1].revents != 0) ForwardSignal();
    if (polls[2].revents != 0) ForwardInput();
  }
}

void Session::ForwardSignal() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
      Kill(std::string("ended by ") + sigabbrev_np(number), interrupted_);
      interrupted_ = true;
      continue;
    }
    v1::RunRequest request;
    request.set_signal(number);
    Write(request);
    if (number == SIGTSTP) raise(SIGSTOP);
  }
}

void Session::ForwardInput() {
  std::string chunk(kInputChunk, '\0');
  const ssize_t n = read(options_.stdin_fd, chunk.data(), chunk.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  chunk.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (chunk.empty()) input_open_ = false;
  input_in_flight_ += chunk.size();
  v1::RunRequest request;
  request.mutable_input()->set_data(std::move(chunk));
  Write(request);
}

void Session::Kill(const std::string& reason, bool immediately) {
  v1::RunRequest request;
  request.mutable_kill()->set_reason(reason);
  request.mutable_kill()->set_immediately(immediately);
  Write(request);
}

}  // namespace

void BlockForwardedSignals() {
  const sigset_t signals = ForwardedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Result<v1::JobEnd> RunJob(const std::string& target, const std::string&,
                          const v1::Launch& launch, const RunOptions& options,
                          RunObserver* observer) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(
      target, grpc::InsecureChannelCredentials(), args);
  Session session(v1::Control::NewStub(channel), options, observer);
  return session.Run(launch);
}

}  // namespace canopy::cli
