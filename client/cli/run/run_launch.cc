#include "client/cli/run/run_launch.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "client/cli/run/job_environment.h"
#include "client/cli/run/raw_terminal.h"
#include "common/job_description.h"
#include "common/preload/archive.h"
#include "common/request/pty_input.h"
#include "common/text.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

// Returns the hosts without the user names of ssh, which have no meaning for an
// overlay.
std::vector<Host> WithoutUsers(std::vector<Host> hosts) {
  for (Host& host : hosts) {
    host.name = host.name.substr(host.name.find('@') + 1);
  }
  return hosts;
}

std::string Absolute(const std::string& directory, const std::string& cwd) {
  if (directory.empty() || directory[0] == '/') return directory;
  return (std::filesystem::path(cwd) / directory).lexically_normal();
}

std::string CurrentDirectory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? std::string() : path.string();
}

// Moves the hosts and the environment of the only program to the job.
void MoveToJob(JobRequest* request) {
  JobApp& app = request->apps[0];
  SetVariables(std::exchange(app.env, {}), &request->env);
  request->places.hosts = std::exchange(app.hosts, {});
}

// Returns the PATH that is searched for the application's program.
std::string PathOf(const JobRequest& request, const JobApp& app) {
  constexpr std::string_view kPath = "PATH=";
  std::string path;
  for (const auto* env : {&request.env, &app.env}) {
    for (const std::string& entry : *env) {
      if (entry.starts_with(kPath)) path = entry.substr(kPath.size());
    }
  }
  return path;
}

// Returns the working directory of the application's processes.
const std::string& DirectoryOf(const JobRequest& request, const JobApp& app) {
  return app.cwd.empty() ? request.cwd : app.cwd;
}

// Returns the umask. The kernel reports it only to a process that replaces it.
uint64_t CurrentUmask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

std::vector<ResourceLimit> CurrentLimits() {
  std::vector<ResourceLimit> limits;
  for (uint32_t resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit limit = {};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) {
      continue;
    }
    limits.push_back({resource, limit.rlim_cur});
  }
  return limits;
}

}  // namespace

JobRequest MakeRequest(const RunOptions& options) {
  JobRequest request = options.job;
  request.cwd = CurrentDirectory();
  request.env = InheritedEnvironment(environ);
  SetVariables(options.job.env, &request.env);
  if (options.pty) {
    const std::string size = PtySizeText(WindowOf(STDIN_FILENO));
    SetVariables({std::string(kPtyVariable) + "=" + size}, &request.env);
  }
  for (JobApp& app : request.apps) {
    app.cwd = Absolute(app.cwd, request.cwd);
    app.hosts = WithoutUsers(std::move(app.hosts));
  }
  if (request.apps.size() == 1) MoveToJob(&request);
  if (options.nodes != 0) {
    request.places.hosts.push_back({"+any", options.nodes, true, {}});
  }
  request.process.umask = CurrentUmask();
  request.process.limits = CurrentLimits();
  request.forwarding.channels = kAllOutput;
  request.forwarding.input = options.input_is_pushed();
  return request;
}

v1c::Launch MakeLaunch(const JobRequest& request, bool allow_root) {
  v1c::Launch launch;
  launch.set_request(EncodeJobRequest(request));
  launch.set_allow_run_as_root(allow_root);
  return launch;
}

Result<std::vector<preload::Item>> FilesToPreload(const JobRequest& request) {
  preload::List list;
  for (uint32_t i = 0; i < request.apps.size(); ++i) {
    const JobApp& app = request.apps[i];
    const std::string& cwd = DirectoryOf(request, app);
    Status status = list.AddFiles(app.preload_files, cwd);
    if (status.ok() && app.preload_program) {
      status = list.AddProgram(i, app.argv[0], cwd, PathOf(request, app));
    }
    if (!status.ok()) return status;
  }
  Status status = preload::ArchiveSource(list.items()).Check();
  if (!status.ok()) return status;
  return list.items();
}

Status CheckWorkingDirectory(const JobRequest& request) {
  if (!request.cwd.empty()) return Status();
  const bool all_elsewhere = std::ranges::all_of(
      request.apps, [](const JobApp& app) { return app.cwd.starts_with('/'); });
  if (all_elsewhere) return Status();
  return Status(kErrJobWdirNotFound,
                "the working directory does not exist any more, or cannot be "
                "determined; change to another one, or name one with --wdir");
}

Status CheckTerminal(const RunOptions& options) {
  if (!options.pty || isatty(STDIN_FILENO) == 1) return Status();
  return Status(kErrBadParam,
                "--pty needs a terminal as standard input; leave it out to "
                "forward a file or a pipe");
}

Status CheckTexts(const RunOptions& options) {
  const JobPlaces& places = options.job.places;
  std::vector<std::string> texts = {places.map_by, places.rank_by,
                                    places.bind_to, places.cpu_list,
                                    options.job.name};
  for (const JobApp& app : options.job.apps) {
    for (const Host& host : app.hosts) texts.push_back(host.name);
  }
  for (const std::string& text : texts) {
    if (IsUtf8(text)) continue;
    return Status(kErrBadParam, "'" + text + "' is not UTF-8");
  }
  return Status();
}

}  // namespace canopy::cli
