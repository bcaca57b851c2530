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
#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

// The line that names the release whose protocol this server speaks.
constexpr char kVersionLine[] = "v4.2.2";
constexpr size_t kMaxFile = 4096;
constexpr int kPidLine = 2;  // counted from 0
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

// Returns true for names of files that a server owns. An agent of release 0.1
// stores the system server's file in its own directory.
bool IsToolFile(const std::string& name) {
  return name.starts_with("pmix.sys.") ||
         (name.starts_with("pmix.") &&
          (name.ends_with(".tool") || name.find(".tool.") < name.size()));
}

// Returns false for a name with '/': the name came from a client and must not
// lead out of the directory.
bool IsHostName(const std::string& name) {
  return !name.empty() && name.size() <= HOST_NAME_MAX &&
         name.find('/') == std::string::npos;
}

// Returns the process that a system server's file names; 0 if the file is
// invalid.
int PidIn(int directory, const std::string& name) {
  const UniqueFd fd(openat(directory, name.c_str(),
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
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

// Returns an error if the existing file must not be replaced, because the
// system server that it names is alive, or because it belongs to another user
// and this process is not root. `path` is used in messages.
Status CheckFormer(int directory, const std::string& name,
                   const std::string& path) {
  struct stat info = {};
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return Status();
  }
  if (info.st_uid != geteuid() && geteuid() != 0) {
    return Status(kErrNoPermissions, path + " belongs to another user");
  }
  const int pid =
      S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0)
          ? PidIn(directory, name)
          : 0;
  if (pid > 0 && pid != getpid() && kill(pid, 0) == 0) {
    return Status(kErrExists, "this machine has a system server, process " +
                                  std::to_string(pid) + " (" + path + ")");
  }
  return Status();
}

}  // namespace

Result<ToolFile::DirectoryRef> ToolFile::Open(const std::string& path) {
  Result<OpenedDirectory> opened = OpenDirectory(path);
  if (!opened.ok()) {
    const int code = opened.code() == kErrNoPermissions ? kErrNoPermissions
                                                        : kErrJobSysOpFailed;
    return Status(code, opened.status().message());
  }
  return std::make_shared<const Directory>(Directory{path, *std::move(opened)});
}

Status ToolFile::Add(const DirectoryRef& directory, const std::string& name,
                     int flags, const std::string& content) {
  const UniqueFd fd(openat(directory->fd(), name.c_str(),
                           O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags,
                           mode_));
  struct stat info = {};
  if (!fd || fstat(fd.get(), &info) != 0) {
    return CannotWrite(directory->At(name));
  }
  files_.push_back({directory, name, info.st_dev, info.st_ino});
  if (write(fd.get(), content.data(), content.size()) !=
      static_cast<ssize_t>(content.size())) {
    return CannotWrite(directory->At(name));
  }
  return Status();
}

// Writes a draft, and links it to the name when it is complete, so that tools
// never read a part of the file.
Status ToolFile::Install(const DirectoryRef& directory, const std::string& name,
                         const std::string& content) {
  const int at = directory->fd();
  const std::string path = directory->At(name);
  const std::string draft = name + "." + std::to_string(getpid());
  unlinkat(at, draft.c_str(), 0);
  Status status = Add(directory, draft, O_EXCL, content);
  for (int attempt = 0; status.ok() && attempt < kAttempts; ++attempt) {
    if (linkat(at, draft.c_str(), at, name.c_str(), 0) == 0) {
      files_.back().name = name;
      unlinkat(at, draft.c_str(), 0);
      return Status();
    }
    status = errno == EEXIST ? CheckFormer(at, name, path) : CannotWrite(path);
    if (status.ok()) unlinkat(at, name.c_str(), 0);
  }
  return status.ok() ? Status(kErrExists, path + " keeps changing") : status;
}

Status ToolFile::AddOwn(const std::string& directory,
                        const std::string& other_host,
                        const std::string& nspace, const std::string& content) {
  const Result<DirectoryRef> opened = Open(directory);
  if (!opened.ok()) return opened.status();
  const std::string host = LocalHostName();
  const std::string name = "pmix." + host + ".tool";
  std::vector<std::string> names = {name, name + "." + std::to_string(getpid()),
                                    name + "." + nspace};
  if (IsHostName(other_host) && other_host != host) {
    names.push_back("pmix." + other_host + ".tool");
  }
  Status added;
  const Status run = RunAsUser((*opened)->opened.user, [&] {
    for (const std::string& each : names) {
      if (added.ok()) added = Add(*opened, each, O_TRUNC, content);
    }
  });
  return run.ok() ? added : run;
}

Status ToolFile::AddLaunchers(const std::string& path,
                              const std::string& content) {
  const SplitPath last = SplitLast(path);
  const Result<DirectoryRef> opened = Open(last.directory);
  if (!opened.ok()) return opened.status();
  Status added;
  const Status run = RunAsUser((*opened)->opened.user, [&] {
    added = Add(*opened, last.name, O_EXCL, content);
  });
  return run.ok() ? added : run;
}

Status ToolFile::AddSystem(const std::string& directory,
                           const std::string& content) {
  const Result<DirectoryRef> opened = Open(directory);
  if (!opened.ok()) return opened.status();
  Status added;
  const Status run = RunAsUser((*opened)->opened.user, [&] {
    added = Install(*opened, "pmix.sys." + LocalHostName(), content);
  });
  return run.ok() ? added : run;
}

Result<ToolFile> ToolFile::Write(const ToolFilePlaces& places,
                                 const ToolContact& contact) {
  const std::string content = Content(contact);
  ToolFile file(places.for_all_users ? 0644 : 0600);
  Status status;
  for (const std::string& directory :
       {places.own_directory, places.users_directory}) {
    if (!status.ok() || directory.empty()) continue;
    status = file.AddOwn(directory, places.other_host, contact.nspace, content);
  }
  if (status.ok() && !places.launcher_file.empty()) {
    status = file.AddLaunchers(places.launcher_file, content);
  }
  if (status.ok() && !places.system_directory.empty()) {
    status = file.AddSystem(places.system_directory, content);
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
  for (const Written& file : files_) {
    paths.push_back(file.directory->At(file.name));
  }
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
    (void)RunAsUser(file.directory->opened.user, [&file] {
      const int at = file.directory->fd();
      struct stat info = {};
      if (fstatat(at, file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          info.st_dev == file.device && info.st_ino == file.inode) {
        unlinkat(at, file.name.c_str(), 0);
      }
    });
  }
}

}  // namespace canopy::openpmix
