#include "server/agent/membership/spawn_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/hosts.h"
#include "common/posix/run_as_user.h"
#include "common/posix/unique_fd.h"
#include "server/spawn/environment.h"

namespace canopy::agent {
namespace {

constexpr off_t kMaxHostfile = 1 << 20;
// A bound for all applications together while they are made.
constexpr size_t kMaxEnvironment = size_t{64} << 20;

std::string Below(const std::string& directory, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(directory) / path).lexically_normal();
}

// ---------------------------------------------------------------- hosts ---

std::vector<host::MapHost> MapHosts(const std::vector<Host>& hosts) {
  std::vector<host::MapHost> out;
  for (const Host& host : hosts) {
    out.push_back({host.name.substr(host.name.find('@') + 1), host.slots,
                   host.slots_given});
  }
  return out;
}

Result<std::vector<host::MapHost>> HostsOf(const spawn::Placing& placing,
                                           const std::string& cwd,
                                           const HostfileReader& read) {
  std::vector<host::MapHost> hosts = MapHosts(placing.hosts);
  if (placing.hostfile.empty()) return hosts;
  const std::string path = Below(cwd, placing.hostfile);
  Result<std::string> content = read(path);
  if (!content.ok()) return content.status();
  Result<std::vector<Host>> named = ParseHostfile(*content, path);
  if (!named.ok()) return named.status();
  for (host::MapHost& host : MapHosts(*named)) {
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// Returns the nodes of the parent's allocation, which the job may use as far as
// they have room.
std::vector<host::MapHost> Allocation(const JobSpec& parent) {
  std::vector<host::MapHost> out;
  for (const std::string& name : parent.allocation) {
    out.push_back({name, 0, false});
  }
  return out;
}

// ---------------------------------------------------------- environment ---

size_t SizeOf(const spawn::Environment& env) {
  size_t size = 0;
  for (const std::string& entry : env) size += entry.size();
  return size;
}

// Whether the environment of an application is more than the job's followed by
// the variables of its own.
bool EditsItsOwn(const spawn::SpawnCall& call, const spawn::SpawnApp& app) {
  return !app.placing.edits.empty() ||
         (!call.placing.edits.empty() && !app.env.empty());
}

// An application starts with the spawner's environment and the variables of its
// own. These are changed by the edits of the job, then by the application's.
Status SetEnvironments(const spawn::SpawnCall& call, host::MapRequest* out) {
  const spawn::Environment inherited = out->env;
  spawn::Apply(call.placing.edits, &out->env);
  const bool edited = std::ranges::any_of(
      call.apps, [&](const auto& app) { return EditsItsOwn(call, app); });
  if (!edited) {
    for (size_t i = 0; i < call.apps.size(); ++i) {
      out->apps[i].env = call.apps[i].env;
    }
    return Status();
  }
  const size_t size = std::max(SizeOf(out->env), SizeOf(inherited));
  if (size > kMaxEnvironment / call.apps.size()) {
    return Status(kErrOutOfResource, "the environments are too large");
  }
  std::vector<spawn::Environment> whole;
  for (const spawn::SpawnApp& app : call.apps) {
    spawn::Environment& env = whole.emplace_back(inherited);
    spawn::Merge(app.env, &env);
    spawn::Apply(call.placing.edits, &env);
    spawn::Apply(app.placing.edits, &env);
  }
  std::vector<spawn::Environment> own = spawn::TakeApart(whole, &out->env);
  for (size_t i = 0; i < own.size(); ++i) out->apps[i].env = std::move(own[i]);
  return Status();
}

// --------------------------------------------------------------- the rest ---

std::string MapBy(const spawn::Policies& policies) {
  std::string out = policies.per_resource.empty()
                        ? policies.map_by
                        : "ppr:" + policies.per_resource;
  if (policies.cpus_per_proc > 0) {
    out += ":pe=" + std::to_string(policies.cpus_per_proc);
  }
  if (policies.no_oversubscribe) out += ":nooversubscribe";
  return out;
}

// Returns how many times a failed process is restarted. PMIX_JOB_CONTINUOUS
// alone means without a limit.
uint32_t MaxRestarts(const spawn::SpawnCall& call) {
  return call.max_restarts.value_or(call.continuous ? kUnlimitedRestarts : 0);
}

// The value of the application has precedence over that of the job.
const std::string& Either(const std::string& app, const std::string& job) {
  return app.empty() ? job : app;
}

// Determines which applications have one stream: all of them, or those that
// request it.
void MergeStreams(const spawn::SpawnCall& call, bool parents_do,
                  host::MapRequest* out) {
  const bool otherwise = call.placing.output.merge_stderr.value_or(parents_do);
  const auto merges = [&](const spawn::SpawnApp& app) {
    return app.placing.output.merge_stderr.value_or(otherwise);
  };
  out->merge_stderr = std::ranges::all_of(call.apps, merges);
  if (out->merge_stderr) return;
  for (size_t i = 0; i < call.apps.size(); ++i) {
    out->apps[i].merge_stderr = merges(call.apps[i]);
  }
}

Result<host::MapApp> App(const spawn::SpawnApp& app,
                         const spawn::SpawnCall& call, const std::string& cwd,
                         const HostfileReader& read) {
  const spawn::Placing& job = call.placing;
  host::MapApp out;
  out.argv = app.argv;
  const std::string& prefix = Either(app.placing.prefix, job.prefix);
  if (!prefix.empty() && out.argv[0].find('/') == std::string::npos) {
    out.argv[0] = Below(cwd, prefix) + "/" + out.argv[0];
  }
  if (!app.placing.session_cwd && !job.session_cwd) {
    // Libraries fill in the caller's own directory if the caller gives none.
    out.cwd = Below(cwd, Either(Either(app.placing.cwd, job.cwd), app.cwd));
  }
  out.num_procs = app.num_procs;
  out.pset = Either(app.placing.pset, job.pset);
  Result<std::vector<host::MapHost>> hosts = HostsOf(app.placing, cwd, read);
  if (!hosts.ok()) return hosts.status();
  out.hosts = *std::move(hosts);
  return out;
}

}  // namespace

Result<host::MapRequest> SpawnMapRequest(const spawn::SpawnCall& call,
                                         const ProcId& spawner,
                                         const control::JobRecord& parent,
                                         const HostfileReader& read) {
  const JobSpec& job = *parent.job;
  host::MapRequest out;
  out.session_id = job.session_id;
  out.uid = job.uid;
  out.gid = job.gid;
  out.env = job.env;
  out.cwd = job.cwd;
  Result<std::vector<host::MapHost>> hosts =
      HostsOf(call.placing, job.cwd, read);
  if (!hosts.ok()) return hosts.status();
  out.hosts = *std::move(hosts);
  if (out.hosts.empty()) out.hosts = Allocation(job);
  for (const spawn::SpawnApp& app : call.apps) {
    Result<host::MapApp> mapped = App(app, call, job.cwd, read);
    if (!mapped.ok()) return mapped.status();
    out.apps.push_back(*std::move(mapped));
  }
  if (Status s = SetEnvironments(call, &out); !s.ok()) return s;
  out.map_by = MapBy(call.policies);
  out.rank_by = call.policies.rank_by;
  out.bind_to = call.policies.bind_to;
  out.oversubscribe = parent.facts.oversubscribe;
  out.tool = call.tool;
  out.no_local = call.policies.no_procs_on_head;
  out.timeout_seconds = call.job_timeout_seconds;
  MergeStreams(call, job.merge_stderr, &out);
  out.stdin_target = call.stdin_target;
  out.kill_grace_seconds = job.kill_grace_seconds;
  out.parent = spawner;
  out.cpu_list = call.policies.cpu_list;
  out.max_restarts = MaxRestarts(call);
  out.recoverable = call.recoverable;
  out.index_argv = call.index_argv;
  out.forwarding = call.forwarding;
  out.debug = call.debug;
  out.inject = job.inject == Inject::kAlways  ? "always"
               : job.inject == Inject::kNever ? "never"
                                              : "auto";
  return out;
}

namespace {

Status CannotRead(const std::string& path, int error) {
  return Status(kErrJobFailedToMap,
                "cannot read hostfile " + path + ": " + std::strerror(error));
}

Result<std::string> ReadFile(const std::string& path) {
  const UniqueFd found(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info;
  if (!found || fstat(found.get(), &info) != 0) return CannotRead(path, errno);
  if (!S_ISREG(info.st_mode)) return CannotRead(path, EINVAL);
  if (info.st_size > kMaxHostfile) return CannotRead(path, EFBIG);
  // The file was opened as a path only: opening a device could have side
  // effects.
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  const UniqueFd fd(open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return CannotRead(path, errno);
  std::string content(static_cast<size_t>(info.st_size), '\0');
  const ssize_t n = read(fd.get(), content.data(), content.size());
  if (n < 0) return CannotRead(path, errno);
  content.resize(static_cast<size_t>(n));
  return content;
}

}  // namespace

Result<std::string> ReadHostfile(const std::string& path, uid_t uid,
                                 gid_t gid) {
  Result<std::string> content = CannotRead(path, EPERM);
  (void)RunAsUser({uid, gid}, [&] { content = ReadFile(path); });
  return content;
}

}  // namespace canopy::agent
