#include "client/cli/context/context_store.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/context/cluster_context.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_text.h"
#include "common/posix/private_dir.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxName = 64;
constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kAllowed =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

std::string DefaultDirectory() { return UserRuntimeDir() + "/contexts"; }

// Returns the cluster if it has this name.
Result<std::optional<ClusterFile>> ClusterNamed(const std::string& name) {
  Result<std::optional<ClusterFile>> cluster = FindCluster();
  if (cluster.ok() && cluster->has_value() && (*cluster)->name != name) {
    cluster->reset();
  }
  return cluster;
}

// A batch system: the prefix of the names of its allocations' contexts, and two
// variables that it sets inside an allocation. `job` contains the number of the
// allocation.
struct BatchSystem {
  std::string_view prefix;
  const char* nodes;
  const char* job;
};
constexpr BatchSystem kBatchSystems[] = {
    {"slurm-", "SLURM_JOB_NODELIST", "SLURM_JOB_ID"},
    {"pbs-", "PBS_NODEFILE", "PBS_JOBID"},
    {"sge-", "PE_HOSTFILE", "JOB_ID"},
};

bool IsOfAllocation(const std::string& name) {
  return std::ranges::any_of(kBatchSystems, [&](const BatchSystem& system) {
    return name.starts_with(system.prefix);
  });
}

std::string NameOf(const BatchSystem& system, std::string_view job) {
  std::string name = std::string(system.prefix) + std::string(job);
  name.resize(std::min(name.size(), kMaxName));
  for (char& c : name) {
    if (kAllowed.find(c) == std::string_view::npos) c = '-';
  }
  return name;
}

}  // namespace

std::string DefaultContextName(
    const std::function<char*(const char*)>& environment) {
  for (const BatchSystem& system : kBatchSystems) {
    const char* const nodes = environment(system.nodes);
    const char* const job = environment(system.job);
    if (nodes != nullptr && *nodes != '\0' && job != nullptr && *job != '\0') {
      return NameOf(system, job);
    }
  }
  return kDefaultContext;
}

Status CheckContextName(const std::string& name) {
  if (!name.empty() && name.size() <= kMaxName && name[0] != '.' &&
      name.find_first_not_of(kAllowed) == std::string::npos) {
    return Status();
  }
  return Status(kErrBadParam,
                "'" + name +
                    "' is not a valid name for a context: use letters, "
                    "digits, '.', '_' and '-'");
}

std::vector<std::string> CountingContexts(std::vector<std::string> known,
                                          const std::string& usual) {
  if (!IsOfAllocation(usual)) return known;
  std::erase_if(known, [&usual](const std::string& name) {
    return IsOfAllocation(name) && name != usual;
  });
  return known;
}

Result<std::optional<std::string>> ChooseContext(
    const std::vector<std::string>& all, const std::string& asked,
    const std::string& usual) {
  if (!asked.empty()) {
    if (std::ranges::count(all, asked) > 0) return std::optional(asked);
    return Status(kErrNotFound,
                  "there is no context '" + asked + "'; " +
                      (all.empty() ? "none is up ('canopy up' makes one)"
                                   : "there are: " + Join(all, ", ")));
  }
  const std::vector<std::string> known = CountingContexts(all, usual);
  if (std::ranges::count(known, usual) > 0) return std::optional(usual);
  if (known.empty()) return std::optional<std::string>();
  if (known.size() == 1) return std::optional(known[0]);
  if (std::ranges::count(known, kDefaultContext) > 0) {
    return std::optional<std::string>(kDefaultContext);
  }
  return Status(kErrBadParam, "several overlays are up (" + Join(known, ", ") +
                                  "); name one with --context");
}

ContextStore::ContextStore()
    : directory_(DefaultDirectory()), has_cluster_(true) {}

ContextStore::ContextStore(std::string directory)
    : directory_(std::move(directory)) {}

std::string ContextStore::PathOf(const std::string& name) const {
  return directory_ + "/" + name + std::string(kSuffix);
}

Result<std::vector<std::string>> ContextStore::List() const {
  std::vector<std::string> names;
  if (has_cluster_) {
    const Result<std::optional<ClusterFile>> cluster = FindCluster();
    if (!cluster.ok()) return cluster.status();
    if (cluster->has_value()) names.push_back((*cluster)->name);
  }
  DIR* const dir = opendir(directory_.c_str());
  if (dir == nullptr) return names;
  if (Status status = CheckPrivateDir(directory_); !status.ok()) {
    closedir(dir);
    return status;
  }
  while (const dirent* entry = readdir(dir)) {
    const std::string_view file = entry->d_name;
    if (!file.ends_with(kSuffix)) continue;
    std::string name(file.substr(0, file.size() - kSuffix.size()));
    if (CheckContextName(name).ok()) names.push_back(std::move(name));
  }
  closedir(dir);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<v1::Context> ContextStore::Load(const std::string& name) const {
  if (Status status = CheckContextName(name); !status.ok()) return status;
  if (has_cluster_) {
    const Result<std::optional<ClusterFile>> cluster = ClusterNamed(name);
    if (!cluster.ok()) return cluster.status();
    if (cluster->has_value()) return ContextOfCluster(**cluster);
  }
  if (Status status = CheckPrivateDir(directory_); !status.ok()) return status;
  Result<std::string> text = ReadFile(PathOf(name), kMaxContextFile);
  if (!text.ok()) {
    return Status(text.code(), "context " + text.status().message());
  }
  Result<v1::Context> context = ContextOf(*text);
  if (!context.ok()) {
    return Status(kErrUnpackFailure,
                  "context file " + PathOf(name) + " is damaged; remove it");
  }
  return context;
}

Status ContextStore::Save(const v1::Context& context) const {
  if (Status status = CheckContextName(context.name()); !status.ok()) {
    return status;
  }
  const std::string parent = directory_.substr(0, directory_.rfind('/'));
  for (const std::string& path : {parent, directory_}) {
    if (Status status = MakePrivateDir(path); !status.ok()) return status;
  }
  Status status = MakeFile(PathOf(context.name()), ContextText(context));
  if (status.ok()) return status;
  if (status.code() == kErrExists) {
    return Status(kErrExists, "context '" + context.name() +
                                  "' was brought up by another command at the "
                                  "same time");
  }
  return Status(status.code(), "cannot write context " + status.message());
}

Status ContextStore::Update(const v1::Context& context) const {
  if (!context.cluster_file().empty()) return Status();
  if (Status status = CheckContextName(context.name()); !status.ok()) {
    return status;
  }
  const std::string path = PathOf(context.name());
  const std::string next = path + ".new";
  unlink(next.c_str());
  if (Status status = MakeFile(next, ContextText(context)); !status.ok()) {
    return Status(status.code(), "cannot write context " + status.message());
  }
  if (rename(next.c_str(), path.c_str()) == 0) return Status();
  const int error = errno;
  unlink(next.c_str());
  return Status(kErrServerFailedRequest,
                "cannot write context " + path + ": " + strerror(error));
}

void ContextStore::Remove(const std::string& name) const {
  if (!CheckContextName(name).ok()) return;
  unlink(PathOf(name).c_str());
  // rmdir fails harmlessly if the directory is not empty.
  rmdir(directory_.c_str());
  rmdir(directory_.substr(0, directory_.rfind('/')).c_str());
}

}  // namespace canopy::cli
