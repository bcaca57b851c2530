#include "server/shim/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/describe.h"
#include "common/posix/read_to_end.h"
#include "common/posix/unique_fd.h"

namespace canopy::process {
namespace {

std::string Join(const std::string& directory, const std::string& name) {
  if (directory.empty() || name.starts_with('/')) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

std::string Quoted(const std::string& s) { return "\"" + s + "\""; }

Status DirectoryStatus(int error, const std::string& cwd) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return Status(missing ? kErrJobWdirNotFound : kErrJobWdirNotAccessible,
                "working directory " + Quoted(cwd) + ": " + strerror(error) +
                    (missing ? "; make it on every node or name another one "
                               "with --wdir"
                             : "; the job's user must be able to enter it"));
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

// Returns 0, or the errno with which execve would fail.
int CheckExecutable(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

Status ProgramStatus(int error, const std::string& program) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  const char* hint = missing           ? "; it must be on every node"
                     : error == EISDIR ? "; name a program in it"
                     : error == EACCES ? "; make it executable with chmod +x"
                                       : "";
  return Status(missing ? kErrJobExeNotFound : kErrJobAppNotExecutable,
                "program " + Quoted(program) + ": " + strerror(error) + hint);
}

// Returns true if the finding is about this file. A finding of an earlier job
// can be used only if the file is the same.
bool IsOf(const loader::LibraryFinding& finding, const std::string& path) {
  return std::ranges::any_of(
      finding.evidence, [&](const auto& item) { return item.first == path; });
}

loader::LibraryFinding FitOf(const ProgramQuery& query,
                             const std::string& path) {
  loader::LibraryFinding finding;
  if (loader::DecodeFinding(query.known_finding, &finding) &&
      IsOf(finding, path) && loader::IsCurrent(finding)) {
    return finding;
  }
  return loader::FindLibraryFit(
      {path, query.cwd, query.library, query.injected, query.own});
}

// A program in the answer of the child of FindProgramsAs.
struct FoundPath {
  std::string path;
  std::string finding;  // encoded; empty: none
};

template <typename V>
void Describe(V& v, wire::Is<FoundPath> auto& m) {
  v.Field(1, m.path);
  v.Field(2, m.finding);
}

struct SearchAnswer {
  bool complete = false;  // false: the child ended before its answer
  int status = kSuccess;
  std::string text;  // text of an error
  std::vector<FoundPath> programs;
};

template <typename V>
void Describe(V& v, wire::Is<SearchAnswer> auto& m) {
  v.Field(1, m.status);
  v.Field(2, m.text);
  v.Field(3, m.programs);
  v.Field(4, m.complete);
}

// Searches for the programs and returns the encoded answer. Runs in the child
// of FindProgramsAs.
std::string Search(const Credentials& who,
                   const std::vector<ProgramQuery>& queries) {
  Result<std::vector<FoundProgram>> found =
      AssumeCredentials(who)
          ? FindPrograms(queries)
          : Status(kErrNoPermissions,
                   std::string("cannot change user: ") + strerror(errno));
  const Status status = found.status();
  SearchAnswer answer{true, status.code(), status.message(), {}};
  if (!found.ok()) return wire::Encode(answer);
  for (const FoundProgram& program : *found) {
    answer.programs.push_back(
        {program.path,
         program.finding ? loader::EncodeFinding(*program.finding) : ""});
  }
  return wire::Encode(answer);
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

Result<std::vector<FoundProgram>> FindPrograms(
    const std::vector<ProgramQuery>& queries) {
  std::vector<FoundProgram> found;
  for (const ProgramQuery& query : queries) {
    Result<std::string> path =
        FindProgram(query.program, query.cwd, query.path);
    if (!path.ok()) return path.status();
    FoundProgram program;
    if (!query.library.empty()) program.finding = FitOf(query, *path);
    program.path = std::move(*path);
    found.push_back(std::move(program));
  }
  return found;
}

Result<std::vector<FoundProgram>> FindProgramsAs(
    const Credentials& who, const std::vector<ProgramQuery>& queries) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return Status(kErrJobSysOpFailed, strerror(errno));
  }
  const UniqueFd ours(fds[0]);
  UniqueFd theirs(fds[1]);
  const pid_t pid = fork();
  if (pid < 0) return Status(kErrJobSysOpFailed, strerror(errno));
  if (pid == 0) {
    WriteAll(theirs.get(), Search(who, queries));
    _exit(0);
  }
  theirs.Reset();
  const std::string bytes = ReadToEnd(ours.get());
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  SearchAnswer answer;
  const bool ok = wire::Decode(bytes, &answer) && answer.complete;
  if (ok && answer.status != kSuccess) {
    return Status(answer.status, answer.text);
  }
  if (!ok || answer.programs.size() != queries.size()) {
    return Status(kErrJobSysOpFailed, "cannot look for programs as user " +
                                          std::to_string(who.uid));
  }
  std::vector<FoundProgram> programs;
  for (FoundPath& found : answer.programs) {
    FoundProgram& program = programs.emplace_back();
    program.path = std::move(found.path);
    loader::LibraryFinding finding;
    if (loader::DecodeFinding(found.finding, &finding)) {
      program.finding = std::move(finding);
    }
  }
  return programs;
}

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
    std::string full = Join(cwd, program);
    const int error = CheckExecutable(full);
    if (error != 0) return ProgramStatus(error, full);
    return full;
  }
  const std::string searched = path == nullptr ? kDefaultPath : path;
  const std::string directories = cwd.empty() ? searched : searched + ":.";
  std::string_view left = directories;
  int refused = 0;
  std::string refused_path;
  for (;;) {
    const std::string directory(left.substr(0, left.find(':')));
    std::string full =
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
                    Quoted(searched) +
                    (cwd.empty() ? "" : ", nor in " + Quoted(cwd)) +
                    "; give its path, or a directory with --path");
}

Status DescribeSpawnFailure(SpawnStep step, int error, const std::string& path,
                            const std::string& cwd, const std::string& cpuset) {
  const std::string reason = strerror(error);
  switch (step) {
    case SpawnStep::kDirectory:
      return DirectoryStatus(error, cwd);
    case SpawnStep::kExec:
      // If a file is not found now, it is the interpreter of the program,
      // because the program existed when the job was prepared.
      if (error == ENOENT) {
        return Status(kErrJobExeNotFound,
                      "program " + Quoted(path) +
                          ": its interpreter (#! or "
                          "dynamic loader) is not on this node");
      }
      if (error == ENOTDIR || error == EACCES) {
        return ProgramStatus(error, path);
      }
      // A lack of resources does not mean that the program is invalid.
      return Status(error == E2BIG || error == ENOMEM || error == EAGAIN
                        ? kErrJobSysOpFailed
                        : kErrJobFailedToLaunch,
                    "program " + Quoted(path) + ": " + reason);
    case SpawnStep::kBind:
      return Status(kErrJobSysOpFailed,
                    "cannot bind to CPUs " + cpuset + ": " + reason);
    case SpawnStep::kCredentials:
      return Status(kErrNoPermissions, "cannot change user: " + reason);
    case SpawnStep::kDescriptors:
      return Status(error == EMFILE ? kErrSysLimitsFiles : kErrJobSysOpFailed,
                    "cannot set up descriptors: " + reason);
    case SpawnStep::kTerminal:
      return Status(kErrJobSysOpFailed, "cannot take its terminal: " + reason);
    default:
      return Status(kErrJobSysOpFailed, "cannot start a process: " + reason);
  }
}

}  // namespace canopy::process
