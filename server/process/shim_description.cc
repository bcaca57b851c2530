#include "server/process/shim_description.h"

#include <iterator>
#include <string>
#include <utility>

#include "common/gpu.h"
#include "common/preload/preload_list.h"
#include "server/process/finding_cache.h"
#include "server/process/job_environment.h"
#include "server/process/torch_environment.h"

namespace canopy::process {
namespace {

void Append(std::vector<std::string> from, std::vector<std::string>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()),
             std::make_move_iterator(from.end()));
}

std::string DirectoryOf(const ProcessContext& context, const JobSpec& job) {
  const auto& directory = context.options.job_directory;
  return directory ? directory(job.nspace) : "";
}

}  // namespace

PrepareJob DescribeJob(const ProcessContext& context,
                       const core::PrepareLocal& prepare) {
  const JobSpec& job = *prepare.job;
  std::vector<std::string> contributed;
  for (ProcessEnvironment* environment : context.environments) {
    Append(environment->ForJob(prepare), &contributed);
  }
  Append(TorchJobVariables(job), &contributed);
  const std::string directory = DirectoryOf(context, job);
  if (!directory.empty()) {
    contributed.push_back(std::string(preload::kJobDirectoryVariable) + "=" +
                          directory);
  }
  JobEnvironment environment =
      BuildJobEnvironment(job, contributed, context.options.environment);
  PrepareJob out;
  out.nspace = job.nspace;
  out.orphan_ms = context.options.orphan_ms;
  out.grace_ms = job.kill_grace_seconds * 1000;
  out.window = context.options.output_window;
  out.uid = job.uid;
  out.gid = job.gid;
  out.user = job.user;
  out.merge_stderr = job.merge_stderr;
  out.process = job.process;
  out.stop_on_exec = job.debug.on_exec;
  out.record = EncodeJobSpec(job);
  out.env = std::move(environment.base);
  for (size_t i = 0; i < job.apps.size(); ++i) {
    const JobApp& app = job.apps[i];
    out.apps.push_back({preload::ResolveProgram(app.cmd, directory),
                        app.argv,
                        std::move(environment.apps[i]),
                        WorkingDirectory(job, app),
                        {},
                        "",
                        app.merge_stderr});
  }
  if (environment.library.empty()) return out;
  out.library = environment.library;
  for (size_t i = 0; i < out.apps.size(); ++i) {
    AppSpec& app = out.apps[i];
    app.own_library_env = std::move(environment.own_library[i]);
    app.known_finding = context.findings->Get(FindingKey(out, app));
  }
  return out;
}

RankSpec DescribeRank(const ProcessContext& context,
                      const core::PrepareLocal& prepare, Rank rank,
                      std::vector<UniqueFd>* fds) {
  const JobSpec& job = *prepare.job;
  RankSpec spec;
  spec.rank = rank;
  spec.app = job.procs[rank].app;
  spec.cpuset = job.procs[rank].cpuset;
  spec.has_stdin =
      job.stdin_target == StdinTarget::kAll ||
      (job.stdin_target == StdinTarget::kRank && job.stdin_rank == rank);
  Append(job.nodes[job.procs[rank].node].env, &spec.env);
  if (!job.gpus.empty()) Append(GpuVariables(job.gpus[rank]), &spec.env);
  Append(TorchRankVariables(prepare, rank), &spec.env);
  for (ProcessEnvironment* environment : context.environments) {
    Append(environment->ForRank(prepare, rank), &spec.env);
    ProcessEnvironment::InheritedFd fd = environment->FdForRank(prepare, rank);
    if (fd.fd < 0) continue;
    spec.fd_names.push_back(fd.name);
    fds->emplace_back(fd.fd);
  }
  return spec;
}

}  // namespace canopy::process
