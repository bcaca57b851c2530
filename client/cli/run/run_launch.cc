#include "client/cli/run/run_launch.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "client/cli/run/job_environment.h"
#include "common/ids.h"
#include "common/job_debug.h"
#include "common/preload/archive.h"
#include "common/text.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

void FillHosts(const std::vector<Host>& hosts,
               google::protobuf::RepeatedPtrField<v1c::HostSlots>* out) {
  for (const Host& host : hosts) {
    v1c::HostSlots* const entry = out->Add();
    entry->set_name(host.name.substr(host.name.find('@') + 1));
    entry->set_slots(host.slots);
    entry->set_slots_given(host.slots_given);
  }
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

void FillApp(const AppOptions& app, const std::string& cwd, bool only,
             v1c::Launch* launch) {
  v1c::App* const out = launch->add_apps();
  for (const std::string& arg : app.argv) out->add_argv(arg);
  out->set_cwd(Absolute(app.cwd, cwd));
  out->set_num_procs(app.num_procs);
  out->set_preload_program(app.preload_program);
  out->set_pset(app.pset);
  FillHosts(app.hosts, only ? launch->mutable_hosts() : out->mutable_hosts());
  if (only) return;
  for (const std::string& entry : app.env) out->add_env(entry);
}

// Returns the PATH that is searched for the application's program.
std::string PathOf(const v1c::Launch& launch, const v1c::App& app) {
  constexpr std::string_view kPath = "PATH=";
  std::string path;
  for (const auto* env : {&launch.env(), &app.env()}) {
    for (const std::string& entry : *env) {
      if (entry.starts_with(kPath)) path = entry.substr(kPath.size());
    }
  }
  return path;
}

// Returns the working directory of the application's processes.
std::string DirectoryOf(const v1c::Launch& launch, const v1c::App& app) {
  return app.cwd().empty() ? launch.cwd() : app.cwd();
}

void FillDaemons(const DebugDaemons& daemons, v1c::DebugDaemons* out) {
  out->set_nspace(daemons.target.nspace);
  if (daemons.target.rank != kRankWildcard) out->set_rank(daemons.target.rank);
  out->set_per_node(daemons.per_node);
  out->set_per_proc(daemons.per_proc);
}

void SetStops(const RunOptions& options, v1c::Launch* launch) {
  v1c::StopRanks ranks;
  for (const uint32_t rank : options.stop_ranks) ranks.add_ranks(rank);
  if (options.stop_on_exec) *launch->mutable_stop_on_exec() = ranks;
  if (options.stop_in_init) *launch->mutable_stop_in_init() = ranks;
  if (options.stop_in_app) *launch->mutable_stop_in_app() = ranks;
}

}  // namespace

v1c::Launch MakeLaunch(const RunOptions& options, bool allow_root) {
  v1c::Launch launch;
  const std::string cwd = CurrentDirectory();
  launch.set_cwd(cwd);
  const bool only = options.apps.size() == 1;
  std::vector<std::string> env = InheritedEnvironment(environ);
  SetVariables(options.env, &env);
  if (only) SetVariables(options.apps[0].env, &env);
  for (std::string& entry : env) launch.add_env(std::move(entry));
  for (const AppOptions& app : options.apps) FillApp(app, cwd, only, &launch);
  if (options.nodes != 0) {
    FillHosts({{"+any", options.nodes, true, {}}}, launch.mutable_hosts());
  }
  launch.set_map_by(options.map_by);
  launch.set_rank_by(options.rank_by);
  launch.set_bind_to(options.bind_to);
  launch.set_oversubscribe(options.oversubscribe);
  launch.set_no_local(options.no_local);
  launch.set_timeout_seconds(options.timeout_seconds);
  launch.set_states_on_timeout(options.states_on_timeout);
  launch.set_stacks_on_timeout(options.stacks_on_timeout);
  launch.set_merge_stderr(options.merge_stderr);
  launch.set_stdin_target(options.stdin_target);
  launch.set_pushed_input(options.input_is_pushed());
  launch.set_kill_grace_seconds(options.kill_grace_seconds);
  launch.set_allow_run_as_root(allow_root);
  launch.set_do_not_launch(options.do_not_launch);
  launch.set_report_bindings(options.report_bindings);
  launch.set_inject(options.inject);
  launch.set_torch_env(options.torch_env);
  launch.set_max_restarts(options.max_restarts);
  launch.set_recoverable(options.recoverable);
  launch.set_index_argv(options.index_argv);
  launch.set_cpu_list(options.cpu_list);
  SetStops(options, &launch);
  if (options.daemons) FillDaemons(*options.daemons, launch.mutable_daemons());
  return launch;
}

Result<std::vector<preload::Item>> FilesToPreload(const RunOptions& options,
                                                  const v1c::Launch& launch) {
  preload::List list;
  for (size_t i = 0; i < options.apps.size(); ++i) {
    const AppOptions& app = options.apps[i];
    const v1c::App& sent = launch.apps(static_cast<int>(i));
    const std::string cwd = DirectoryOf(launch, sent);
    Status status = list.AddFiles(app.preload_files, cwd);
    if (status.ok() && app.preload_program) {
      status = list.AddProgram(static_cast<uint32_t>(i), sent.argv(0), cwd,
                               PathOf(launch, sent));
    }
    if (!status.ok()) return status;
  }
  Status status = preload::ArchiveSource(list.items()).Check();
  if (!status.ok()) return status;
  return list.items();
}

Status CheckWorkingDirectory(const v1c::Launch& launch) {
  if (!launch.cwd().empty()) return Status();
  const bool all_elsewhere = std::ranges::all_of(
      launch.apps(),
      [](const v1c::App& app) { return app.cwd().starts_with('/'); });
  if (all_elsewhere) return Status();
  return Status(kErrJobWdirNotFound,
                "the working directory does not exist any more, or cannot be "
                "told; change to another one, or name one with --wdir");
}

Status CheckTexts(const RunOptions& options) {
  std::vector<std::string> texts = {options.map_by, options.rank_by,
                                    options.bind_to, options.stdin_target,
                                    options.cpu_list};
  for (const AppOptions& app : options.apps) {
    for (const Host& host : app.hosts) texts.push_back(host.name);
  }
  for (const std::string& text : texts) {
    if (IsUtf8(text)) continue;
    return Status(kErrBadParam, "'" + text + "' is not UTF-8");
  }
  return Status();
}

}  // namespace canopy::cli
