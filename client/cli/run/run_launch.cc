#include "client/cli/run/run_launch.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "client/cli/run/job_environment.h"
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
  FillHosts(app.hosts, only ? launch->mutable_hosts() : out->mutable_hosts());
  if (only) return;
  for (const std::string& entry : app.env) out->add_env(entry);
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
  launch.set_map_by(options.map_by);
  launch.set_rank_by(options.rank_by);
  launch.set_bind_to(options.bind_to);
  launch.set_oversubscribe(options.oversubscribe);
  launch.set_no_local(options.no_local);
  launch.set_timeout_seconds(options.timeout_seconds);
  launch.set_merge_stderr(options.merge_stderr);
  launch.set_stdin_target(options.stdin_target);
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
  return launch;
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
