#include "client/cli/commands/doctor.h"

#include <netdb.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "client/cli/agents/allocation_sites.h"
#include "client/cli/base/color.h"
#include "client/cli/base/table.h"
#include "client/cli/base/this_machine.h"
#include "common/posix/private_dir.h"
#include "common/string_util.h"
#include "common/version.h"

namespace canopy::cli {
namespace {

constexpr char kOk[] = "ok";
constexpr char kWarning[] = "warning";
constexpr char kFailed[] = "failed";
constexpr rlim_t kFewFiles = 1024;

void CheckProgram(const std::string& name, const char* variable,
                  DoctorReport* report) {
  const std::string path = ProgramBeside(variable, name);
  if (access(path.c_str(), X_OK) == 0) {
    return AddCheck(name, kOk, path, report);
  }
  AddCheck(name, kFailed,
           path + ": " + std::strerror(errno) +
               "; install it beside canopy or set " + variable,
           report);
}

// Returns the first line of a command's output.
std::string FirstLine(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "re");
  if (pipe == nullptr) return "";
  char line[256] = "";
  if (std::fgets(line, sizeof line, pipe) == nullptr) line[0] = '\0';
  pclose(pipe);
  return std::string(Trim(line));
}

void CheckAgentVersion(DoctorReport* report) {
  const std::string path = ProgramBeside("CANOPYD", "canopyd");
  if (access(path.c_str(), X_OK) != 0) return;
  const std::string said = FirstLine(ShellQuoted(path) + " --version");
  const std::string wanted = std::string("canopyd ") + kVersion;
  if (said == wanted) return AddCheck("version", kOk, said, report);
  AddCheck("version", kFailed,
           "canopyd is '" + said + "' and this is canopy " + kVersion +
               "; install both from one build",
           report);
}

void CheckLibrary(DoctorReport* report) {
  const std::string directory =
      ProgramBeside("CANOPY_LIBRARY_DIR", "../lib/canopy");
  const std::string path = directory + "/libpmix.so.2";
  if (access(path.c_str(), R_OK) == 0) {
    return AddCheck("libpmix", kOk, path, report);
  }
  AddCheck("libpmix", kFailed,
           path + ": " + std::strerror(errno) +
               "; Open MPI programs would not find their job",
           report);
}

// The longest directory of an agent of `canopy run`, below the user's
// directory.
constexpr std::string_view kRunDirectory = "/run-4194304/0";
// The space, in bytes, that an agent needs to start, and the space that its
// jobs should have.
constexpr uint64_t kLeastSpace = 1 << 20;
constexpr uint64_t kAmpleSpace = 16 << 20;

void CheckSpace(const std::string& own, const std::string& base,
                DoctorReport* report) {
  struct statvfs file_system;
  if (statvfs(base.c_str(), &file_system) != 0) return;
  const uint64_t left = uint64_t{file_system.f_bavail} * file_system.f_frsize;
  AddCheck("runtime directory",
           left < kLeastSpace   ? kFailed
           : left < kAmpleSpace ? kWarning
                                : kOk,
           left < kAmpleSpace ? own + ": only " + std::to_string(left >> 10) +
                                    " KiB are left on its file system"
                              : own,
           report);
}

void CheckRuntimeDirectory(DoctorReport* report) {
  const std::string base = RuntimeBase();
  const std::string own = UserRuntimeDir();
  struct stat info;
  if (access(base.c_str(), W_OK) != 0) {
    return AddCheck("runtime directory", kFailed,
                    base + " cannot be written; set XDG_RUNTIME_DIR", report);
  }
  if (lstat(own.c_str(), &info) == 0 &&
      (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
       (info.st_mode & 077) != 0)) {
    return AddCheck("runtime directory", kFailed,
                    own + " is not a private directory of this user; remove it",
                    report);
  }
  if (own.size() + kRunDirectory.size() + kSocketNameRoom >
      sizeof(sockaddr_un::sun_path)) {
    return AddCheck("runtime directory", kFailed,
                    own +
                        " is too long for the sockets of agents; set "
                        "XDG_RUNTIME_DIR to a shorter one",
                    report);
  }
  // Overlays need longer paths, because their directories contain the names of
  // nodes.
  if (own.size() + 60 > sizeof(sockaddr_un::sun_path)) {
    return AddCheck("runtime directory", kWarning,
                    own +
                        " leaves little room for names of sockets; set "
                        "XDG_RUNTIME_DIR to a shorter one",
                    report);
  }
  CheckSpace(own, base, report);
}

void CheckFiles(DoctorReport* report) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text = std::to_string(limit.rlim_cur) + " open files, " +
                           std::to_string(limit.rlim_max) + " at most";
  if (limit.rlim_max >= kFewFiles) {
    return AddCheck("limits", kOk, text, report);
  }
  AddCheck("limits", kWarning,
           text + ": too few for many processes on a node; raise 'ulimit -Hn'",
           report);
}

void CheckKernel(DoctorReport* report) {
  const int memory = memfd_create("canopy-doctor", MFD_CLOEXEC);
  const long process = syscall(SYS_pidfd_open, getpid(), 0);
  if (memory >= 0 && process >= 0) {
    AddCheck("kernel", kOk, "memfd and pidfd work", report);
  } else {
    AddCheck("kernel", kFailed,
             "memfd_create or pidfd_open is not allowed; Linux 5.3 or newer "
             "and no seccomp filter against them are needed",
             report);
  }
  if (memory >= 0) close(memory);
  if (process >= 0) close(static_cast<int>(process));
}

void CheckName(DoctorReport* report) {
  const std::string name = HostName();
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), nullptr, nullptr, &found);
  if (error == 0) {
    freeaddrinfo(found);
    return AddCheck("host name", kOk, name, report);
  }
  AddCheck("host name", kWarning,
           name + " does not resolve (" + gai_strerror(error) +
               "); some MPI libraries need that; add it to /etc/hosts",
           report);
}

void CheckAllocation(const Allocation& allocation, DoctorReport* report) {
  const std::string launch_agent = LaunchAgentOf(allocation);
  const std::string program = launch_agent.substr(0, launch_agent.find(' '));
  std::string text =
      allocation.job + " with " + Count(allocation.hosts.size(), "node");
  const bool there = !FirstLine("command -v " + program).empty();
  if (!there) text += ", and " + program + " is not in PATH";
  // The launch agent is unused if there are no other nodes.
  const bool needed = allocation.launches_all || allocation.hosts.size() > 1;
  AddCheck("other nodes", there || !needed ? kOk : kFailed, text, report);
}

void CheckHosts(DoctorReport* report) {
  const auto allocation = FindAllocation(&getenv);
  if (!allocation.ok()) {
    return AddCheck("other nodes", kFailed, allocation.status().message(),
                    report);
  }
  if (allocation->has_value()) return CheckAllocation(**allocation, report);
  const std::string ssh = FirstLine("command -v ssh");
  AddCheck("other nodes", ssh.empty() ? kWarning : kOk,
           ssh.empty() ? "no ssh in PATH; hosts need --launch-agent"
                       : "reached by " + ssh,
           report);
}

void CheckDebugger(DoctorReport* report) {
  const std::string gdb = FirstLine("command -v gdb");
  AddCheck("gdb", gdb.empty() ? kWarning : kOk,
           gdb.empty()
               ? "not in PATH: 'canopy stack' and 'canopy why --stacks' "
                 "show nothing of processes on this machine"
               : gdb,
           report);
}

}  // namespace

void AddCheck(const std::string& name, const std::string& result,
              const std::string& text, DoctorReport* report) {
  report->checks.push_back({name, result, text});
}

DoctorReport CheckMachine() {
  DoctorReport report;
  CheckProgram("canopyd", "CANOPYD", &report);
  CheckAgentVersion(&report);
  CheckProgram("canopy-shim", "CANOPY_SHIM", &report);
  CheckLibrary(&report);
  CheckRuntimeDirectory(&report);
  CheckFiles(&report);
  CheckKernel(&report);
  CheckName(&report);
  CheckHosts(&report);
  CheckDebugger(&report);
  return report;
}

namespace {

std::string Colored(const std::string& result) {
  if (result == kOk) return Good(result);
  return result == kFailed ? Bad(result) : Warning(result);
}

}  // namespace

bool DoctorReport::healthy() const {
  return std::ranges::none_of(
      checks, [](const DoctorCheck& check) { return check.result == kFailed; });
}

Json DoctorDocument(const DoctorReport& report) {
  Json out;
  out["healthy"] = report.healthy();
  out["checks"] = Json::array();
  for (const DoctorCheck& check : report.checks) {
    Json one;
    one["check"] = check.name;
    one["result"] = check.result;
    one["text"] = check.text;
    out["checks"].push_back(std::move(one));
  }
  return out;
}

std::string DoctorText(const DoctorReport& report) {
  Table table({"CHECK", "RESULT", "FOUND"});
  uint64_t failed = 0;
  for (const DoctorCheck& check : report.checks) {
    table.Add({check.name, Colored(check.result), check.text});
    if (check.result == kFailed) ++failed;
  }
  return table.ToString() + (failed == 0 ? "ready to run jobs\n"
                                         : Count(failed, "check") +
                                               " failed: jobs will not run\n");
}

}  // namespace canopy::cli
