#include "server/shim/pod/pod_job.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/local_protocol.h"
#include "server/shim/pod/pod_paths.h"

namespace canopy::process {
namespace {

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";
constexpr std::string_view kPreload = "LD_PRELOAD=";
constexpr std::string_view kEntryLibrary = "canopy-entry.so";
constexpr char kTemporaryDirectory[] = "/tmp";

std::string ValueOf(const std::vector<std::string>& env,
                    std::string_view name) {
  for (auto it = env.rbegin(); it != env.rend(); ++it) {
    if (it->starts_with(name)) return it->substr(name.size());
  }
  return "";
}

// Returns the entries of a list of libraries except the entry library, which
// has no effect in ranks.
std::string WithoutEntryLibrary(std::string_view list) {
  std::string kept;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find_first_of(": "));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (item.empty() || item.ends_with(kEntryLibrary)) continue;
    if (!kept.empty()) kept += ':';
    kept += item;
  }
  return kept;
}

std::string Entry(std::string_view name, const std::string& value) {
  return std::string(name) + value;
}

// The agent's own directories do not exist in the container.
std::vector<std::string> PathsOf(const PodContainer& container) {
  return {
      std::string(local::kEnvSocket) + "=" + container.run_directory + "/" +
          kPodClientSocket,
      std::string("PMIX_SERVER_TMPDIR=") + kTemporaryDirectory,
      std::string("PMIX_SYSTEM_TMPDIR=") + kTemporaryDirectory,
  };
}

void Append(std::vector<std::string> from, std::vector<std::string>* to) {
  for (std::string& entry : from) to->push_back(std::move(entry));
}

AppSpec AppOf(const PodContainer& container) {
  AppSpec app;
  app.program = container.program;
  app.argv = container.argv;
  const std::string own = ValueOf(container.env, kLibraryPath);
  const std::string directory = container.files_directory + "/lib";
  app.env = {
      Entry(kLibraryPath, own.empty() ? directory : directory + ":" + own)};
  app.own_library_env = {Entry(kLibraryPath, own)};
  return app;
}

}  // namespace

void AdaptToContainer(const PodContainer& container, PrepareJob* job) {
  std::vector<std::string> env = container.env;
  const std::string preload = ValueOf(env, kPreload);
  std::erase_if(env, [](const std::string& entry) {
    return entry.starts_with(kPreload);
  });
  const std::string kept = WithoutEntryLibrary(preload);
  if (!kept.empty()) env.push_back(Entry(kPreload, kept));
  Append(std::move(job->env), &env);
  Append(PathsOf(container), &env);
  job->env = std::move(env);
  job->apps = {AppOf(container)};
  job->library = container.files_directory + "/lib/libpmix.so.2";
  if (access(job->library.c_str(), R_OK) != 0) job->library.clear();
  job->uid = geteuid();
  job->gid = getegid();
  job->user.clear();
}

}  // namespace canopy::process
