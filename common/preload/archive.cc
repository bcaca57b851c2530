#include "common/preload/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace canopy::preload {
namespace {

bool IsProgram(const Item& item) {
  return item.name.starts_with(std::string(kPrograms) + "/");
}

Status Failure(const Item& item, int error) {
  const std::string text = (IsProgram(item) ? "program \"" : "file \"") +
                           item.source + "\" to preload: " + strerror(error);
  if (!IsProgram(item)) return Status(kErrJobFailedToLaunch, text);
  const bool missing = error == ENOENT || error == ENOTDIR;
  return Status(missing ? kErrJobExeNotFound : kErrJobAppNotExecutable, text);
}

struct Opened {
  UniqueFd fd;
  struct stat info = {};
  int error = 0;
};

// Opens a file for reading. O_NONBLOCK: the file may be a FIFO, whose opening
// must not block this process.
Opened Open(const std::string& path, bool executable) {
  Opened out;
  out.fd.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!out.fd || fstat(out.fd.get(), &out.info) != 0) {
    out.error = errno;
  } else if (!S_ISREG(out.info.st_mode)) {
    out.error = S_ISDIR(out.info.st_mode) ? EISDIR : EINVAL;
  } else if (executable &&
             faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    out.error = errno;
  }
  return out;
}

// Returns the first executable file of the directories of PATH and, after them,
// the working directory; otherwise the reason why there is none.
Opened Search(const Item& item) {
  const std::string directories = item.path + ":.";
  std::string_view left = directories;
  Opened refused;
  refused.error = ENOENT;
  for (;;) {
    std::string directory(left.substr(0, left.find(':')));
    if (!directory.starts_with('/')) {
      directory = item.cwd + "/" + directory;
    }
    Opened found = Open(directory + "/" + item.source, true);
    if (found.error == 0) return found;
    if (found.error == EACCES) refused.error = EACCES;
    const size_t colon = left.find(':');
    if (colon == std::string_view::npos) return refused;
    left.remove_prefix(colon + 1);
  }
}

Opened Open(const Item& item) {
  if (IsProgram(item) && item.source.find('/') == std::string::npos) {
    return Search(item);
  }
  return Open(item.source, IsProgram(item));
}

template <typename T>
void Put(T number, std::string* out) {
  for (size_t i = 0; i < sizeof number; ++i) {
    out->push_back(static_cast<char>(number >> (8 * i)));
  }
}

template <typename T>
T Get(std::string_view bytes) {
  T out = 0;
  for (size_t i = 0; i < sizeof out; ++i) {
    out |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return out;
}

}  // namespace

std::string EncodeHead(const Head& head) {
  std::string out;
  Put(head.name_size, &out);
  Put(head.mode, &out);
  Put(head.size, &out);
  return out;
}

Head DecodeHead(std::string_view bytes) {
  return {Get<uint32_t>(bytes), Get<uint32_t>(bytes.substr(4)),
          Get<uint64_t>(bytes.substr(8))};
}

// -------------------------------------------------------------- reading ---

ArchiveSource::ArchiveSource(std::vector<Item> items)
    : items_(std::move(items)) {}

Status ArchiveSource::Check() {
  for (const Item& item : items_) {
    const Opened file = Open(item);
    if (file.error != 0) return Failure(item, file.error);
  }
  return Status();
}

Status ArchiveSource::OpenNext() {
  if (next_ == items_.size()) {
    ended_ = true;
    head_ = EncodeHead({});
    return Status();
  }
  const Item& item = items_[next_++];
  Opened file = Open(item);
  if (file.error != 0) return Failure(item, file.error);
  const uint32_t executable = file.info.st_mode & 0111 ? 0100 : 0;
  left_ = static_cast<uint64_t>(file.info.st_size);
  head_ = EncodeHead({static_cast<uint32_t>(item.name.size()),
                      0400 | (file.info.st_mode & 0200) | executable, left_}) +
          item.name;
  file_ = std::move(file.fd);
  return Status();
}

Result<std::string> ArchiveSource::Next(size_t max) {
  if (head_.empty() && left_ == 0 && !ended_) {
    if (Status s = OpenNext(); !s.ok()) return s;
  }
  if (!head_.empty()) {
    std::string out = head_.substr(0, max);
    head_.erase(0, out.size());
    return out;
  }
  if (ended_) return std::string();
  std::string out(std::min<uint64_t>(max, left_), '\0');
  const ssize_t n = read(file_.get(), out.data(), out.size());
  if (n <= 0) {
    return Failure(items_[next_ - 1], n < 0 ? errno : EPIPE);
  }
  out.resize(static_cast<size_t>(n));
  left_ -= out.size();
  return out;
}

// -------------------------------------------------------------- writing ---

size_t Unpacker::Wanted() const {
  switch (state_) {
    case State::kMagic:
      return kMagic.size();
    case State::kHead:
      return kHeadSize;
    default:
      return coming_.name_size;
  }
}

Status Unpacker::Take(std::string_view data) {
  Status status;
  while (!data.empty() && status.ok()) {
    if (state_ == State::kDone) {
      return Status(kErrUnpackFailure, "unexpected data after the files");
    }
    std::string_view piece;
    if (state_ == State::kContent) {
      piece = data.substr(0, left_);
      status = Write(piece);
    } else {
      piece = data.substr(0, Wanted() - part_.size());
      part_ += piece;
      if (part_.size() == Wanted()) status = OnPart();
    }
    data.remove_prefix(piece.size());
  }
  return status;
}

Status Unpacker::OnPart() {
  const std::string part = std::exchange(part_, {});
  switch (state_) {
    case State::kMagic:
      state_ = State::kHead;
      return part == kMagic ? Status()
                            : Status(kErrUnpackFailure,
                                     "not an archive of files to preload");
    case State::kHead:
      coming_ = DecodeHead(part);
      state_ = coming_.name_size == 0 ? State::kDone : State::kName;
      if (coming_.name_size < 4096 && (done() || ++files_ <= kMaxItems)) {
        return Status();
      }
      return Status(kErrUnpackFailure, "the files are malformed");
    default:
      name_ = part;
      return Open();
  }
}

Status Unpacker::Open() {
  if (!IsName(name_)) {
    return Status(kErrUnpackFailure, "a file has an invalid name");
  }
  const std::string path = directory_ + "/" + name_;
  for (size_t at = path.find('/', directory_.size() + 1);
       at != std::string::npos; at = path.find('/', at + 1)) {
    mkdir(path.substr(0, at).c_str(), 0700);
  }
  file_.Reset(open(path.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) {
    return Status(kErrJobFailedToLaunch,
                  "cannot make " + path + ": " + strerror(errno));
  }
  left_ = coming_.size;
  state_ = State::kContent;
  return left_ == 0 ? NextFile() : Status();
}

Status Unpacker::Write(std::string_view data) {
  left_ -= data.size();
  while (!data.empty()) {
    const ssize_t n = write(file_.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return Status(kErrJobFailedToLaunch, "cannot write " + directory_ + "/" +
                                               name_ + ": " + strerror(errno));
    }
    data.remove_prefix(static_cast<size_t>(n));
  }
  return left_ == 0 ? NextFile() : Status();
}

Status Unpacker::NextFile() {
  const int changed = fchmod(file_.get(), coming_.mode & 0700);
  const int error = errno;
  file_.Reset();
  state_ = State::kHead;
  if (changed == 0) return Status();
  return Status(kErrJobFailedToLaunch,
                "cannot protect " + name_ + ": " + strerror(error));
}

}  // namespace canopy::preload
