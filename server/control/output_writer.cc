#include "server/control/output_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "common/mutex.h"
#include "common/posix/open_file.h"
#include "common/posix/start_thread.h"
#include "common/posix/unique_fd.h"

namespace canopy::control {
namespace {

constexpr mode_t kMode = 0666;

// A file. It is used until a write to it fails.
struct Target {
  std::string path;
  UniqueFd fd;
  uint64_t at = 0;
};

Status Failed(const std::string& what, const std::string& path) {
  return {kErrJobSysOpFailed,
          "cannot " + what + " " + path + ": " + std::strerror(errno)};
}

// Removes the part of the file after `from`, where the job's earlier output
// ends. For a new job, `from` is null. Then removes the whole content or, with
// `append`, keeps it, because it is the output of others.
Status Position(bool append, const uint64_t* from, Target* target) {
  struct stat info;
  if (fstat(target->fd.get(), &info) != 0) return Failed("open", target->path);
  if (!S_ISREG(info.st_mode)) return Status();
  const auto size = static_cast<uint64_t>(info.st_size);
  target->at = from != nullptr ? *from : append ? size : 0;
  if (target->at < size &&
      ftruncate(target->fd.get(), static_cast<off_t>(target->at)) != 0) {
    return Failed("write to", target->path);
  }
  return lseek(target->fd.get(), static_cast<off_t>(target->at), SEEK_SET) < 0
             ? Failed("write to", target->path)
             : Status();
}

// Opens a file. A named pipe without a reader is an error, because waiting for
// a reader would block the thread.
Status OpenTarget(const std::string& path, bool append, const uint64_t* from,
                  Target* target) {
  target->path = path.empty() ? "/dev/null" : path;
  target->at = from == nullptr ? 0 : *from;
  target->fd = OpenToWrite(
      target->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
      kMode);
  if (!target->fd || fcntl(target->fd.get(), F_SETFL, 0) != 0) {
    return Failed("open", target->path);
  }
  return Position(append, from, target);
}

Status WriteTo(Target* target, std::string_view data) {
  while (target->fd && !data.empty()) {
    const ssize_t n = write(target->fd.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Status failed = Failed("write to", target->path);
      target->fd.Reset();
      return failed;
    }
    data.remove_prefix(static_cast<size_t>(n));
    target->at += static_cast<uint64_t>(n);
  }
  return Status();
}

struct Piece {
  bool error = false;
  Bytes data;
};

}  // namespace

// The state that the loop and the writer's thread share. No lock is held during
// file operations.
struct OutputWriter::Shared {
  Mutex mu;
  CondVar changed;
  std::deque<Piece> pieces CANOPY_GUARDED_BY(mu);
  // Null after the destruction of the writer.
  EventLoop* loop CANOPY_GUARDED_BY(mu) = nullptr;
  Opened opened;  // used by the loop thread
  Done done;      // used by the loop thread
  Target output;  // used by the writer's thread
  Target error;   // no path: the same file as `output`

  // Waits for pieces. Returns false if the writer is gone and no pieces are
  // left.
  bool Take(std::deque<Piece>* batch) {
    const MutexLock lock(mu);
    while (loop != nullptr && pieces.empty()) changed.Wait(mu);
    *batch = std::exchange(pieces, {});
    return !batch->empty();
  }
  // Calls `call` on the loop's thread. Returns false if the writer is gone.
  bool Post(std::function<void()> call) {
    const MutexLock lock(mu);
    if (loop != nullptr) loop->Post(std::move(call));
    return loop != nullptr;
  }
  OutputPositions Positions() const { return {output.at, error.at}; }
};

OutputWriter::OutputWriter(EventLoop* loop, HostOutput names,
                           std::optional<OutputPositions> from,
                           std::shared_ptr<void> held, Opened opened, Done done)
    : shared_(std::make_shared<Shared>()) {
  shared_->opened = std::move(opened);
  shared_->done = std::move(done);
  {
    const MutexLock lock(shared_->mu);
    shared_->loop = loop;
  }
  Result<std::thread> thread =
      StartThread([shared = shared_, names = std::move(names), from,
                   held = std::move(held)]() mutable {
        Open(shared, names, from);
        held.reset();
        Serve(shared);
      });
  if (thread.ok()) {
    thread->detach();
  } else {
    Report(shared_, thread.status());
  }
}

OutputWriter::~OutputWriter() {
  shared_->opened = nullptr;
  shared_->done = nullptr;
  const MutexLock lock(shared_->mu);
  shared_->loop = nullptr;
  shared_->changed.NotifyOne();
}

void OutputWriter::Open(const std::shared_ptr<Shared>& shared,
                        const HostOutput& names,
                        const std::optional<OutputPositions>& from) {
  Status status = OpenTarget(names.output, names.append,
                             from ? &from->output : nullptr, &shared->output);
  if (status.ok() && !names.error.empty() && names.error != names.output) {
    status = OpenTarget(names.error, names.append,
                        from ? &from->error : nullptr, &shared->error);
  }
  if (!status.ok()) {
    shared->output.fd.Reset();
    shared->error.fd.Reset();
  }
  Report(shared, status);
}

void OutputWriter::Report(const std::shared_ptr<Shared>& shared,
                          const Status& status) {
  shared->Post([shared, status, begin = shared->Positions()] {
    const Opened opened = std::exchange(shared->opened, nullptr);
    if (opened) opened(status, begin);  // may destroy the writer
  });
}

void OutputWriter::Serve(const std::shared_ptr<Shared>& shared) {
  std::deque<Piece> batch;
  while (shared->Take(&batch)) {
    Status status;
    for (const Piece& piece : batch) {
      const bool apart = piece.error && !shared->error.path.empty();
      const Status written =
          WriteTo(apart ? &shared->error : &shared->output, piece.data.view());
      if (!written.ok()) status = written;
    }
    const bool is_there = shared->Post(
        [shared, n = batch.size(), at = shared->Positions(), status] {
          if (shared->done) shared->done(n, at, status);
        });
    if (!is_there) return;
  }
}

void OutputWriter::Write(bool error, Bytes data) {
  const MutexLock lock(shared_->mu);
  shared_->pieces.push_back({error, std::move(data)});
  shared_->changed.NotifyOne();
}

}  // namespace canopy::control
