#include "client/cli/run/run_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/run/file_feed.h"
#include "client/cli/run/input_source.h"
#include "client/cli/run/raw_terminal.h"
#include "common/mutex.h"
#include "common/posix/start_thread.h"
#include "common/request/pty_input.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using Clock = std::chrono::steady_clock;

// The time limit for the end of a job that is killed at once.
constexpr auto kPatience = std::chrono::seconds(5);
// The time limit for the end of a job whose processes get their grace time.
constexpr auto kLongPatience = std::chrono::seconds(30);

// Returns the earlier of two waits in milliseconds; -1 means no limit.
int Earlier(int a, int b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

class JobRun {
 public:
  JobRun(std::unique_ptr<RunConnection> connection,
         const RunClientOptions& options, std::shared_ptr<RunObserver> observer)
      : link_(std::move(connection), WithInput(options.link)),
        signals_(options.signals),
        observer_(std::move(observer)),
        input_(options.stdin_fd, options.pty),
        terminal_(options.pty ? options.stdin_fd : -1),
        wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        items_(options.files),
        hosts_(options.add_hosts,
               [this](const v1c::RunRequest& request) { Write(request); }),
        grace_(options.kill_grace) {
    files_.emplace(items_);
  }
  ~JobRun() { close(wake_fd_); }

  void Begin(const v1c::Launch& launch);
  void RestoreTerminal() { terminal_.Leave(); }
  // Reads until the stream ends; runs on a thread of its own.
  void ReadEvents();
  // Returns false if the caller no longer waits for the job's end.
  bool PumpUntilDone();
  // Ends the work for the agents that still goes on.
  void Abandon() { hosts_.Stop(); }
  Result<RunOutcome> Finish();
  int end_signal() const { return end_signal_; }

 private:
  RunLinkOptions WithInput(RunLinkOptions options) {
    options.input_begin = [this] { return input_.begin(); };
    return options;
  }
  void Write(const v1c::RunRequest& request) { link_.Write(request); }
  void Wake() { eventfd_write(wake_fd_, 1); }
  void Handle(const v1c::RunEvent& event);
  void HandleOutput(const v1c::Output& output);
  void HandleMapped(const v1c::JobMapped& mapped);
  void HandleRequeued(const v1c::JobRequeued& requeued);
  void SendFiles();
  int PollTimeout();
  void ForwardSignals();
  void EndFor(int signal);
  void ForwardInput();
  void SendInput(InputPiece piece) CANOPY_REQUIRES(input_mutex_);
  void SendInputAgain(const v1c::Reattached& reattached);
  void SendSignal(int signal);
  void SendWindow();
  void Kill(const std::string& reason, bool immediately);

  RunLink link_;
  SignalSource* const signals_;
  const std::shared_ptr<RunObserver> observer_;
  InputSource input_;
  RawTerminal terminal_;  // without effect if the job has no terminal
  Mutex input_mutex_;     // keeps the pieces in order
  const int wake_fd_;
  std::atomic<bool> done_{false};

  // These members belong to the reading thread until it is done.
  const std::vector<preload::Item> items_;
  std::optional<FileFeed> files_;  // created anew for each attempt
  std::optional<v1c::JobEnd> end_;
  bool no_reader_ = false;

  HostAdder hosts_;
  int end_signal_ = 0;
  int end_signals_ = 0;
  const std::chrono::seconds grace_;
  Clock::time_point give_up_ = Clock::time_point::max();
};

void JobRun::Begin(const v1c::Launch& launch) {
  link_.Launch(launch);
  terminal_.Enter();
}

void JobRun::ReadEvents() {
  v1c::RunEvent event;
  while (link_.Read(&event)) Handle(event);
  hosts_.Stop();
  done_ = true;
  Wake();
}

void JobRun::Handle(const v1c::RunEvent& event) {
  switch (event.kind_case()) {
    case v1c::RunEvent::kMapped:
      observer_->OnMapped(event.mapped());
      return HandleMapped(event.mapped());
    case v1c::RunEvent::kPreloadTaken:
      files_->Taken(event.preload_taken());
      return SendFiles();
    case v1c::RunEvent::kProgress:
      observer_->OnProgress(event.progress());
      return Wake();
    case v1c::RunEvent::kProgramNotes:
      return observer_->OnProgramNotes(event.program_notes());
    case v1c::RunEvent::kOutput:
      return HandleOutput(event.output());
    case v1c::RunEvent::kSpawnedEnd:
      return observer_->OnSpawnedEnd(event.spawned_end());
    case v1c::RunEvent::kQueued:
      return observer_->OnQueued(event.queued());
    case v1c::RunEvent::kRequeued:
      return HandleRequeued(event.requeued());
    case v1c::RunEvent::kNotice:
      return observer_->OnNotice(event.notice());
    case v1c::RunEvent::kEnd:
      end_ = event.end();
      return;
    case v1c::RunEvent::kReattached:
      SendInputAgain(event.reattached());
      return Wake();
    case v1c::RunEvent::kAddHosts:
      return hosts_.OnOrder(event.add_hosts());
    case v1c::RunEvent::kNodes:
      return hosts_.OnReply(event.nodes());
    case v1c::RunEvent::kInputConsumed:
      input_.Consumed(event.input_consumed());
      return Wake();
    default:
      return;
  }
}

void JobRun::HandleMapped(const v1c::JobMapped& mapped) {
  if (!mapped.parent().empty() || !files_->wanted()) return;
  if (mapped.preloads()) return SendFiles();
  Kill("the agents are of a release that does not preload files", true);
}

// The new job gets all retained input, because no process has read it.
void JobRun::HandleRequeued(const v1c::JobRequeued& requeued) {
  observer_->OnRequeued(requeued);
  files_.emplace(items_);
  v1c::Reattached nothing_read;
  nothing_read.set_input_done(0);
  SendInputAgain(nothing_read);
  Wake();
}

void JobRun::SendFiles() {
  for (;;) {
    Result<std::string> piece = files_->Next();
    if (!piece.ok()) return Kill(piece.status().message(), true);
    if (piece->empty()) return;
    v1c::RunRequest request;
    request.set_preload(*std::move(piece));
    Write(request);
  }
}

void JobRun::HandleOutput(const v1c::Output& output) {
  if (output.redirected() > 0) return link_.Consumed(output.redirected());
  const OutputFate fate = observer_->OnOutput(output);
  if (fate == OutputFate::kHeld) Wake();
  if (fate == OutputFate::kNoReader && !std::exchange(no_reader_, true)) {
    Kill("the output has no reader any more", false);
  }
  link_.Consumed(output.data().size());
}

int JobRun::PollTimeout() {
  int timeout = Earlier(observer_->OnTick(), input_.RetryMs());
  if (give_up_ == Clock::time_point::max()) return timeout;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      give_up_ - Clock::now());
  return Earlier(timeout, static_cast<int>(std::max<int64_t>(left.count(), 0)));
}

bool JobRun::PumpUntilDone() {
  while (!done_) {
    pollfd polls[3] = {
        {wake_fd_, POLLIN, 0},
        {signals_ == nullptr ? -1 : signals_->fd(), POLLIN, 0},
        {input_.PollFd(), POLLIN, 0},
    };
    if (poll(polls, 3, PollTimeout()) < 0 && errno != EINTR) return false;
    if (Clock::now() >= give_up_) return false;
    eventfd_t count;
    if (polls[0].revents != 0) eventfd_read(wake_fd_, &count);
    if (polls[1].revents != 0) ForwardSignals();
    if (polls[2].revents != 0) ForwardInput();
  }
  return true;
}

void JobRun::ForwardSignals() {
  while (const std::optional<int> signal = signals_->Take()) {
    if (IsEndSignal(*signal)) {
      EndFor(*signal);
      continue;
    }
    if (terminal_.exists() && *signal == SIGWINCH) {
      SendWindow();
      continue;
    }
    SendSignal(*signal);
    if (*signal == SIGCONT) terminal_.Enter();
    if (*signal != SIGTSTP) continue;
    terminal_.Leave();
    raise(SIGSTOP);
  }
}

// Sends the size of the window. The job's terminal then sends SIGWINCH to the
// processes that use it.
void JobRun::SendWindow() {
  const MutexLock lock(input_mutex_);
  SendInput(input_.Insert(EncodePtySize(terminal_.Window())));
}

void JobRun::EndFor(int signal) {
  ++end_signals_;
  if (end_signal_ == 0) end_signal_ = signal;
  const std::string reason = std::string("SIG") + sigabbrev_np(signal);
  if (end_signals_ == 1) {
    give_up_ = Clock::now() + grace_ + kLongPatience;
    return Kill("interrupted by " + reason, false);
  }
  Kill("interrupted by " + reason + " again", true);
  give_up_ = end_signals_ == 2 ? Clock::now() + kPatience : Clock::now();
}

void JobRun::SendSignal(int signal) {
  v1c::RunRequest request;
  request.set_signal(signal);
  Write(request);
}

void JobRun::ForwardInput() {
  const MutexLock lock(input_mutex_);
  std::optional<InputPiece> piece = input_.Read();
  if (piece.has_value()) SendInput(*std::move(piece));
}

void JobRun::SendInput(InputPiece piece) {
  v1c::RunRequest request;
  request.mutable_input()->set_position(piece.position);
  request.mutable_input()->set_data(std::move(piece.data));
  Write(request);
}

// Sends the input that the agent has not received. An agent that does not
// report its position accepts only new input and the end of the input.
void JobRun::SendInputAgain(const v1c::Reattached& reattached) {
  const MutexLock lock(input_mutex_);
  if (reattached.has_input_done()) {
    input_.ConsumedTo(reattached.input_done());
  } else {
    input_.Forget();
  }
  for (InputPiece& piece : input_.Kept()) SendInput(std::move(piece));
}

void JobRun::Kill(const std::string& reason, bool immediately) {
  v1c::RunRequest request;
  request.mutable_kill()->set_reason(reason);
  request.mutable_kill()->set_immediately(immediately);
  Write(request);
}

Result<RunOutcome> JobRun::Finish() {
  std::string why = link_.WhyEnded();
  if (end_.has_value()) {
    return RunOutcome{*std::move(end_), end_signal_, no_reader_};
  }
  if (why.empty()) why = "it closed the connection";
  return Status(kErrLostConnection,
                "lost the agent that controls the job (" + why +
                    "); its processes are ended by their agents");
}

}  // namespace

int ExitCodeOf(const RunOutcome& outcome) {
  if (outcome.no_reader) return kExitSignal + SIGPIPE;
  if (outcome.end_signal != 0) return kExitSignal + outcome.end_signal;
  switch (outcome.end.status()) {
    case kErrBadParam:
      return kExitUsage;
    case kErrJobExeNotFound:
      return kExitNotFound;
    case kErrJobAppNotExecutable:
      return kExitNotExecutable;
    default:
      return outcome.end.exit_code();
  }
}

Result<RunOutcome> RunJob(std::unique_ptr<RunConnection> connection,
                          const v1c::Launch& launch,
                          const RunClientOptions& options,
                          std::shared_ptr<RunObserver> observer) {
  auto run = std::make_shared<JobRun>(std::move(connection), options,
                                      std::move(observer));
  run->Begin(launch);
  Result<std::thread> reader = StartThread([run] { run->ReadEvents(); });
  if (!reader.ok()) {
    run->RestoreTerminal();
    return reader.status();
  }
  const bool done = run->PumpUntilDone();
  run->RestoreTerminal();
  if (!done) {
    reader->detach();
    run->Abandon();
    return Status(kErrJobCanceled,
                  "gave up waiting for the end of the job; its agents kill it");
  }
  reader->join();
  return run->Finish();
}

}  // namespace canopy::cli
