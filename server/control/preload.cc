#include "server/control/preload.h"

#include <string>
#include <string_view>

#include "common/preload/preload_list.h"

namespace canopy::control {
namespace {

constexpr std::string_view kPath = "PATH=";

void FindPath(const std::vector<std::string>& env, std::string* path) {
  for (const std::string& entry : env) {
    if (entry.starts_with(kPath)) *path = entry.substr(kPath.size());
  }
}

std::string PathOf(const JobSpec& job, const JobApp& app) {
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  FindPath(job.env, &path);
  FindPath(app.env, &path);
  return path;
}

const std::string& DirectoryOf(const JobSpec& job, const JobApp& app) {
  return app.cwd.empty() ? job.cwd : app.cwd;
}

}  // namespace

Preload PreloadOf(const JobRequest& request) {
  Preload out;
  out.wanted = true;
  for (uint32_t app = 0; app < request.apps.size(); ++app) {
    if (request.apps[app].preload_program) out.programs.push_back(app);
  }
  return out;
}

Result<Preload> PreloadOf(const spawn::SpawnCall& call, const JobSpec& job,
                          const JobSpec& parent, Rank spawner) {
  Preload out;
  preload::List list;
  Status status = list.AddFiles(call.placing.preload_files,
                                DirectoryOf(job, job.apps.at(0)));
  for (uint32_t i = 0; i < job.apps.size() && status.ok(); ++i) {
    const spawn::Placing& placing = call.apps.at(i).placing;
    const JobApp& app = job.apps[i];
    const std::string& cwd = DirectoryOf(job, app);
    status = list.AddFiles(placing.preload_files, cwd);
    if (!placing.preload_program && !call.placing.preload_program) continue;
    out.programs.push_back(i);
    if (status.ok()) {
      status = list.AddProgram(i, app.cmd, cwd, PathOf(job, app));
    }
  }
  if (!status.ok()) return status;
  out.wanted = !list.items().empty();
  if (out.wanted && parent.procs.empty()) {
    return Status(kErrNotSupported, "a tool has no node that copies come from");
  }
  if (!out.wanted) return out;
  out.source.items = list.items();
  out.source.node = parent.nodes[parent.procs.at(spawner).node];
  return out;
}

JobSpec WithCopies(JobSpec job, const Preload& preload) {
  for (const uint32_t app : preload.programs) {
    std::string& program = job.apps.at(app).cmd;
    program = preload::CopiedProgram(app, program);
  }
  return job;
}

}  // namespace canopy::control
