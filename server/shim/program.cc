#include "server/shim/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace canopy::process {
namespace {

std::string Join(const std::string& directory, const std::string& name) {
  if (directory.empty() || name.starts_with('/')) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

std::string Quoted(const std::string& s) { return "\"" + s + "\""; }

Status DirectoryStatus(int error, const std::string& cwd) {
  const int code = error == ENOENT || error == ENOTDIR
                       ? kErrJobWdirNotFound
                       : kErrJobWdirNotAccessible;
  return Status(code,
                "working directory " + Quoted(cwd) + ": " + strerror(error));
}

Status CheckDirectory(const std::string& cwd) {
  struct stat st;
  if (stat(cwd.c_str(), &st) != 0) return DirectoryStatus(errno, cwd);
  if (!S_ISDIR(st.st_mode)) return DirectoryStatus(ENOTDIR, cwd);
  if (faccessat(AT_FDCWD, cwd.c_str(), X_OK, AT_EACCESS) != 0) {
    return DirectoryStatus(errno, cwd);
  }
  return Status();
}

// 0, or the errno with which an execve would fail.
int CheckExecutable(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

Status ProgramStatus(int error, const std::string& program) {
  const int code = error == ENOENT || error == ENOTDIR
                       ? kErrJobExeNotFound
                       : kErrJobAppNotExecutable;
  return Status(code, "program " + Quoted(program) + ": " + strerror(error));
}

}  // namespace

Result<std::string> FindProgram(const std::string& program,
                                const std::string& cwd, const char* path) {
  if (program.empty()) {
    return Status(kErrJobNoExeSpecified, "no program was named");
  }
  if (!cwd.empty()) {
    Status directory = CheckDirectory(cwd);
    if (!directory.ok()) return directory;
  }
  if (program.find('/') != std::string::npos) {
    const std::string full = Join(cwd, program);
    const int error = CheckExecutable(full);
    if (error != 0) return ProgramStatus(error, full);
    return full;
  }
  std::string_view left = path == nullptr ? kDefaultPath : path;
  int refused = 0;
  std::string refused_path;
  for (;;) {
    const std::string directory(left.substr(0, left.find(':')));
    const std::string full =
        Join(Join(cwd, directory.empty() ? "." : directory), program);
    const int error = CheckExecutable(full);
    if (error == 0) return full;
    if (error != ENOENT && error != ENOTDIR && error != EISDIR &&
        refused == 0) {
      refused = error;
      refused_path = full;
    }
    const size_t colon = left.find(':');
    if (colon == std::string_view::npos) break;
    left.remove_prefix(colon + 1);
  }
  if (refused != 0) return ProgramStatus(refused, refused_path);
  return Status(kErrJobExeNotFound,
                "program " + Quoted(program) + " not found in PATH " +
                    Quoted(path == nullptr ? kDefaultPath : path));
}

Status DescribeSpawnFailure(SpawnStep step, int error, const std::string& path,
                            const std::string& cwd, const std::string& cpuset) {
  const std::string reason = strerror(error);
  switch (step) {
    case SpawnStep::kDirectory:
      return DirectoryStatus(error, cwd);
    case SpawnStep::kExec:
      if (error == ENOENT || error == ENOTDIR || error == EACCES) {
        return ProgramStatus(error, path);
      }
      return Status(kErrJobFailedToLaunch,
                    "program " + Quoted(path) + ": " + reason);
    case SpawnStep::kBind:
      return Status(kErrJobSysOpFailed,
                    "cannot bind to CPUs " + cpuset + ": " + reason);
    case SpawnStep::kCredentials:
      return Status(kErrNoPermissions, "cannot change user: " + reason);
    case SpawnStep::kDescriptors:
      return Status(error == EMFILE ? kErrSysLimitsFiles : kErrJobSysOpFailed,
                    "cannot set up descriptors: " + reason);
    default:
      return Status(kErrJobSysOpFailed, "cannot start a process: " + reason);
  }
}

}  // namespace canopy::process
