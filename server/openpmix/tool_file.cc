#include "server/openpmix/tool_file.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/posix/host_name.h"
#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

// The release whose protocol is spoken, as its own files say it.
constexpr char kVersionLine[] = "v4.2.2";
constexpr size_t kMaxFile = 4096;
constexpr int kPidLine = 2;  // from 0
constexpr int kAttempts = 3;

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts;
  char text[64] = {};
  strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y",
           localtime_r(&now, &parts));
  return text;
}

std::string Content(const ToolContact& contact) {
  const std::string last =
      contact.socket.empty() ? "" : "canopy:" + contact.socket + "\n";
  return contact.uri + "\n" + kVersionLine + "\n" + std::to_string(getpid()) +
         "\n" + std::to_string(geteuid()) + ":" + std::to_string(getegid()) +
         "\n" + Now() + "\n" + last;
}

Status CannotWrite(const std::string& path) {
  const int code = errno == EEXIST                     ? kErrExists
                   : errno == EACCES || errno == EPERM ? kErrNoPermissions
                                                       : kErrJobSysOpFailed;
  return Status(code, "cannot write " + path + ": " + std::strerror(errno));
}

// An agent of release 0.1 has a system server's in its own directory.
bool IsToolFile(const std::string& name) {
  return name.starts_with("pmix.sys.") ||
         (name.starts_with("pmix.") &&
          (name.ends_with(".tool") || name.find(".tool.") < name.size()));
}

// One that is no part of a path to elsewhere: a peer has told it.
bool IsHostName(const std::string& name) {
  return !name.empty() && name.size() <= HOST_NAME_MAX &&
         name.find('/') == std::string::npos;
}

// The process that a system server's file names; 0: it is none.
int PidIn(const std::string& path) {
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  char text[kMaxFile];
  const ssize_t size = fd ? read(fd.get(), text, sizeof text) : 0;
  const char* at = text;
  const char* const end = text + (size > 0 ? size : 0);
  for (int line = 0; line < kPidLine && at != end; ++line) {
    at = static_cast<const char*>(
        std::memchr(at, '\n', static_cast<size_t>(end - at)));
    at = at == nullptr ? end : at + 1;
  }
  int pid = 0;
  std::from_chars(at, end, pid);
  return pid;
}

// What is in the way of a system server: nothing that is alive, and nothing of
// another user's but for root.
Status CheckFormer(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return Status();
  if (info.st_uid != geteuid() && geteuid() != 0) {
    return Status(kErrNoPermissions, path + " is another user's");
  }
  const int pid =
      S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0)
          ? PidIn(path)
          : 0;
  if (pid > 0 && pid != getpid() && kill(pid, 0) == 0) {
    return Status(kErrExists, "this machine has a system server, process " +
                                  std::to_string(pid) + " (" + path + ")");
  }
  return Status();
}

}  // namespace

Status ToolFile::Add(const std::string& path, int flags,
                     const std::string& content) {
  const UniqueFd fd(open(path.c_str(),
                         O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                         mode_));
  struct stat info = {};
  if (!fd || fstat(fd.get(), &info) != 0) return CannotWrite(path);
  files_.push_back({path, info.st_dev, info.st_ino});
  if (write(fd.get(), content.data(), content.size()) !=
      static_cast<ssize_t>(content.size())) {
    return CannotWrite(path);
  }
  return Status();
}

// Complete from the first moment: it is linked or renamed into its place.
Status ToolFile::AddSystem(const std::string& path,
                           const std::string& content) {
  const std::string draft = path + "." + std::to_string(getpid());
  unlink(draft.c_str());
  Status status = Add(draft, O_EXCL, content);
  for (int attempt = 0; status.ok() && attempt < kAttempts; ++attempt) {
    if (link(draft.c_str(), path.c_str()) == 0) {
      files_.back().path = path;
      unlink(draft.c_str());
      return Status();
    }
    status = errno == EEXIST ? CheckFormer(path) : CannotWrite(path);
    if (status.ok()) unlink(path.c_str());
  }
  return status.ok() ? Status(kErrExists, path + " comes and goes") : status;
}

Result<ToolFile> ToolFile::Write(const ToolFilePlaces& places,
                                 const ToolContact& contact) {
  const std::string host = LocalHostName();
  const std::string content = Content(contact);
  ToolFile file(places.for_all_users ? 0644 : 0600);
  Status status;
  if (!places.own_directory.empty()) {
    const std::string name = places.own_directory + "/pmix." + host + ".tool";
    std::vector<std::string> paths = {name,
                                      name + "." + std::to_string(getpid()),
                                      name + "." + contact.nspace};
    if (IsHostName(places.other_host) && places.other_host != host) {
      paths.push_back(places.own_directory + "/pmix." + places.other_host +
                      ".tool");
    }
    for (const std::string& path : paths) {
      if (status.ok()) status = file.Add(path, O_TRUNC, content);
    }
  }
  if (status.ok() && !places.launcher_file.empty()) {
    status = file.Add(places.launcher_file, O_EXCL, content);
  }
  if (status.ok() && !places.system_directory.empty()) {
    status =
        file.AddSystem(places.system_directory + "/pmix.sys." + host, content);
  }
  if (!status.ok()) return status;
  return file;
}

void ToolFile::RemoveAll(const std::string& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (IsToolFile(entry.path().filename())) found.push_back(entry.path());
  }
  for (const auto& path : found) std::filesystem::remove(path, error);
}

std::vector<std::string> ToolFile::paths() const {
  std::vector<std::string> paths;
  for (const Written& file : files_) paths.push_back(file.path);
  return paths;
}

ToolFile::ToolFile(ToolFile&& other) noexcept
    : mode_(other.mode_), files_(std::exchange(other.files_, {})) {}

ToolFile& ToolFile::operator=(ToolFile&& other) noexcept {
  std::swap(mode_, other.mode_);
  std::swap(files_, other.files_);
  return *this;
}

ToolFile::~ToolFile() {
  for (const Written& file : files_) {
    struct stat info = {};
    if (lstat(file.path.c_str(), &info) != 0) continue;
    if (info.st_dev != file.device || info.st_ino != file.inode) continue;
    unlink(file.path.c_str());
  }
}

}  // namespace canopy::openpmix
