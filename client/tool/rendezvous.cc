#include "client/tool/rendezvous.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/posix/private_dir.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFile = 4096;
constexpr int kMaxDepth = 5;
constexpr size_t kMaxVisited = 10000;
// The beginning of the line with the path of an agent's socket.
constexpr std::string_view kSocketLine = "canopy:";
constexpr size_t kPidLine = 2;  // from 0

Status Unreadable(const std::string& path) {
  const int code =
      errno == EACCES || errno == EPERM ? kErrNoPermissions : kErrNotFound;
  return Status(code, "cannot read " + path);
}

// Checks that `path` is a regular file of this user or of root. `fd` was opened
// without waiting for a writer, in case the file is a FIFO.
Status CheckFile(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return Unreadable(path);
  if (!S_ISREG(info.st_mode)) {
    return Status(kErrBadParam, path + " is not a file");
  }
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return Status(kErrNoPermissions, path + " belongs to another user");
  }
  return Status();
}

Result<std::string> ReadFile(const std::string& path, int flags) {
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!fd) return Unreadable(path);
  Status status = CheckFile(fd.get(), path);
  if (!status.ok()) return status;
  std::string text(kMaxFile, '\0');
  const ssize_t size = read(fd.get(), text.data(), text.size());
  if (size < 0) return Unreadable(path);
  text.resize(static_cast<size_t>(size));
  return text;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

template <typename T>
bool ReadNumber(std::string_view text, T* out) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *out);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool ReadServer(std::string_view uri, ProcId* out) {
  const std::string_view name = uri.substr(0, uri.find(';'));
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() == uri.size()) return false;
  out->nspace = name.substr(0, dot);
  return !out->nspace.empty() && out->nspace.size() <= kMaxNspaceLen &&
         ReadNumber(name.substr(dot + 1), &out->rank);
}

Result<ServerContact> ReadContact(const std::string& path, int flags) {
  const Result<std::string> text = ReadFile(path, flags);
  if (!text.ok()) return text.status();
  const std::vector<std::string_view> lines = Lines(*text);
  ServerContact contact;
  if (lines.empty() || !ReadServer(lines[0], &contact.server)) {
    return Status(kErrBadParam, path + " is not a rendezvous file");
  }
  contact.uri = lines[0];
  int pid = 0;
  if (lines.size() > kPidLine && ReadNumber(lines[kPidLine], &pid)) {
    contact.pids.push_back(pid);
  }
  for (const std::string_view line : lines) {
    if (line.starts_with(kSocketLine)) {
      contact.socket = line.substr(kSocketLine.size());
    }
  }
  return contact;
}

// Returns 4711 for "pmix.HOST.tool.4711", and 0 for a name without a number at
// its end.
int PidInName(std::string_view path) {
  int pid = 0;
  path.remove_prefix(path.rfind('.') + 1);
  return ReadNumber(path, &pid) ? pid : 0;
}

void AddPid(int pid, ServerContact* contact) {
  std::vector<int>& pids = contact->pids;
  if (pid > 0 && std::find(pids.begin(), pids.end(), pid) == pids.end()) {
    pids.push_back(pid);
  }
}

bool IsServerDirectory(const fs::path& path) {
  struct stat info = {};
  return path.filename().string().starts_with(kDirectoryPrefix) &&
         lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_uid == geteuid() || info.st_uid == 0);
}

// Returns the paths, sorted, of all files named pmix.HOST.tool* in the
// directory or below it. Visits at most kMaxVisited entries, and at most
// kMaxDepth levels of directories below `directory`. In a directory that this
// user cannot list, such as that of an agent that serves all users, only
// pmix.HOST.tool itself is found.
std::vector<std::string> FindFiles(const std::string& directory,
                                   const std::string& host) {
  const std::string prefix = "pmix." + host + ".tool";
  std::vector<std::string> found;
  std::error_code error;
  size_t visited = 0;
  fs::recursive_directory_iterator it(
      directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (++visited > kMaxVisited) break;
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    const std::string name = it->path().filename();
    if (name.starts_with(prefix)) found.push_back(it->path());
  }
  const std::string file = directory + "/" + prefix;
  if (visited == 0 && access(file.c_str(), R_OK) == 0) found.push_back(file);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<ServerContact> ReadRendezvousFile(const std::string& path) {
  return ReadContact(path, 0);
}

std::vector<ServerContact> SearchRendezvous(const std::string& directory,
                                            const std::string& host) {
  std::vector<ServerContact> found;
  for (const std::string& path : FindFiles(directory, host)) {
    Result<ServerContact> contact = ReadContact(path, O_NOFOLLOW);
    if (!contact.ok()) continue;
    auto known = std::find_if(
        found.begin(), found.end(),
        [&](const ServerContact& one) { return one.uri == contact->uri; });
    if (known == found.end()) {
      known = found.insert(known, std::move(*contact));
    }
    AddPid(PidInName(path), &*known);
  }
  return found;
}

std::vector<std::string> ServerDirectoriesIn(const std::string& base) {
  std::vector<std::string> found;
  std::error_code error;
  size_t visited = 0;
  fs::directory_iterator it(base, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (++visited > kMaxVisited) break;
    if (IsServerDirectory(it->path())) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace canopy::client
