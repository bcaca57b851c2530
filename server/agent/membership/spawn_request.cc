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
// The limit for the environments of all applications of a spawn together, in
// bytes.
constexpr size_t kMaxEnvironment = size_t{64} << 20;

std::string Below(const std::string& directory, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return (std::filesystem::path(directory) / path).lexically_normal();
}

// ---------------------------------------------------------------- hosts ---

// Removes "USER@" from names of hosts. It is meant for ssh, and has no meaning
// for an overlay.
std::vector<Host> WithoutUsers(std::vector<Host> hosts) {
  for (Host& host : hosts) {
    host.name = host.name.substr(host.name.find('@') + 1);
  }
  return hosts;
}

Result<std::vector<Host>> HostsOf(const spawn::Placing& placing,
                                  const std::string& cwd,
                                  const HostfileReader& read) {
  std::vector<Host> hosts = WithoutUsers(placing.hosts);
  if (placing.hostfile.empty()) return hosts;
  const std::string path = Below(cwd, placing.hostfile);
  Result<std::string> content = read(path);
  if (!content.ok()) return content.status();
  Result<std::vector<Host>> named = ParseHostfile(*content, path);
  if (!named.ok()) return named.status();
  for (Host& host : WithoutUsers(*std::move(named))) {
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// Returns the nodes of the parent's allocation, which the job may use if they
// have free slots.
std::vector<Host> Allocation(const JobSpec& parent) {
  std::vector<Host> out;
  for (const std::string& name : parent.allocation) {
    out.push_back({name, 0, false, {}});
  }
  return out;
}

// ---------------------------------------------------------- environment ---

size_t SizeOf(const spawn::Environment& env) {
  size_t size = 0;
  for (const std::string& entry : env) size += entry.size();
  return size;
}

// Returns true unless the environment of an application is that of the job,
// followed by the application's own variables.
bool EditsItsOwn(const spawn::SpawnCall& call, const spawn::SpawnApp& app) {
  return !app.placing.edits.empty() ||
         (!call.placing.edits.empty() && !app.env.empty());
}

// Sets the environments. Each application starts with the spawner's environment
// and its own variables. The edits of the job are applied to both, and then the
// edits of the application.
Status SetEnvironments(const spawn::SpawnCall& call, JobRequest* out) {
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

// Returns the value of the application or, if that is empty, the value of the
// job.
const std::string& Either(const std::string& app, const std::string& job) {
  return app.empty() ? job : app;
}

// Determines which applications send both output streams as one: all of them,
// or those that request it.
void MergeStreams(const spawn::SpawnCall& call, bool parents_do,
                  JobRequest* out) {
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

Result<JobApp> App(const spawn::SpawnApp& app, const spawn::SpawnCall& call,
                   const std::string& cwd, const HostfileReader& read) {
  const spawn::Placing& job = call.placing;
  JobApp out = app;
  out.env.clear();  // set later for all applications together
  const std::string& prefix = Either(app.placing.prefix, job.prefix);
  if (!prefix.empty() && out.argv[0].find('/') == std::string::npos) {
    out.argv[0] = Below(cwd, prefix) + "/" + out.argv[0];
  }
  out.cwd.clear();
  if (!app.placing.session_cwd && !job.session_cwd) {
    // The application's own directory comes last, because libraries set it to
    // the caller's directory if the caller gives none.
    out.cwd = Below(cwd, Either(Either(app.placing.cwd, job.cwd), app.cwd));
  }
  out.pset = Either(app.placing.pset, job.pset);
  out.preload_program = app.placing.preload_program || job.preload_program;
  out.preload_files = app.placing.preload_files;
  Result<std::vector<Host>> hosts = HostsOf(app.placing, cwd, read);
  if (!hosts.ok()) return hosts.status();
  out.hosts = *std::move(hosts);
  return out;
}

// Adds the hosts that applications add to the overlay to the nodes that the job
// may use.
void AddNewHosts(const spawn::SpawnCall& call, JobRequest* out) {
  for (size_t i = 0; i < call.apps.size(); ++i) {
    if (!call.apps[i].placing.adds_hosts) continue;
    for (const Host& host : out->apps[i].hosts) {
      if (host.relative()) continue;
      out->places.hosts.push_back({host.name, 0, false, {}});
    }
  }
}

// Copies the policies that a process started by a rank itself would inherit.
void Inherit(const ProcessPolicies& parent, ProcessPolicies* child) {
  child->umask = parent.umask;
  child->limits = parent.limits;
}

}  // namespace

Result<JobRequest> SpawnRequestOf(const spawn::SpawnCall& call,
                                  const control::JobRecord& parent,
                                  const HostfileReader& read) {
  const JobSpec& job = *parent.job;
  JobRequest out = call.request;
  out.env = job.env;
  out.cwd = job.cwd;
  Result<std::vector<Host>> hosts = HostsOf(call.placing, job.cwd, read);
  if (!hosts.ok()) return hosts.status();
  out.places.hosts = *std::move(hosts);
  const bool names_hosts = !out.places.hosts.empty();
  if (!names_hosts) out.places.hosts = Allocation(job);
  for (const spawn::SpawnApp& app : call.apps) {
    Result<JobApp> mapped = App(app, call, job.cwd, read);
    if (!mapped.ok()) return mapped.status();
    out.apps.push_back(*std::move(mapped));
  }
  if (!names_hosts) AddNewHosts(call, &out);
  if (Status s = SetEnvironments(call, &out); !s.ok()) return s;
  out.places.oversubscribe = parent.facts.oversubscribe;
  MergeStreams(call, job.merge_stderr, &out);
  out.kill_grace_seconds = job.kill_grace_seconds;
  out.inject = job.inject;
  out.torch_env = job.torch_env;
  Inherit(job.process, &out.process);
  return out;
}

Result<std::vector<Host>> AddedHosts(const spawn::SpawnCall& call,
                                     const control::JobRecord& parent,
                                     const HostfileReader& read) {
  std::vector<const spawn::Placing*> adding = {&call.placing};
  for (const spawn::SpawnApp& app : call.apps) adding.push_back(&app.placing);
  std::vector<Host> out;
  for (const spawn::Placing* placing : adding) {
    if (!placing->adds_hosts) continue;
    Result<std::vector<Host>> hosts = HostsOf(*placing, parent.job->cwd, read);
    if (!hosts.ok()) return hosts;
    out.insert(out.end(), hosts->begin(), hosts->end());
  }
  if (!call.cospawned) return out;
  const Result<std::vector<Host>> more =
      AddedHosts(*call.cospawned, parent, read);
  if (!more.ok()) return more;
  out.insert(out.end(), more->begin(), more->end());
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
  // The file was opened as a path only, because opening a device could have
  // side effects.
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
