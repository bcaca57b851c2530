#include "server/cleanup/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::cleanup {
namespace {

constexpr int kMaxDepth = 128;
// Of a path, beside its text.
constexpr size_t kPathCost = 64;

Status TooMany() {
  return Status(kErrOutOfResource, "too many cleanup registrations");
}

using AddPath = std::function<void(std::string path)>;

Status AddPaths(std::string_view list, const AddPath& add, size_t* cost) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string path(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.empty()) continue;
    if (path[0] != '/' || path == "/") {
      return Status(kErrBadParam, "cleanup path '" + path +
                                      "' is not an absolute path below /");
    }
    *cost += path.size() + kPathCost;
    if (*cost > kMaxCost) return TooMany();
    add(std::move(path));
  }
  return Status();
}

// Walks one tree by descriptors, so that nothing swapped in on the way can
// lead it elsewhere.
class Remover {
 public:
  Remover(const CleanupOrder& order, uint32_t uid) : order_(order), uid_(uid) {}

  void File(const std::string& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0 || info.st_uid != uid_) return;
    if (!S_ISDIR(info.st_mode)) unlink(path.c_str());
  }

  void Directory(const std::string& path) {
    const int fd =
        open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info;
    const bool own = fstat(fd, &info) == 0 && info.st_uid == uid_;
    if (own && !order_.only_empty) Content(fd, path, 0);
    close(fd);
    if (own && !order_.leave_topdir) rmdir(path.c_str());
  }

 private:
  // Takes what it may out of the directory `fd`.
  void Content(int fd, const std::string& path, int depth) {
    DIR* dir = fdopendir(dup(fd));
    if (dir == nullptr) return;
    while (const dirent* entry = readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      Entry(fd, path + "/" + entry->d_name, entry->d_name, depth);
    }
    closedir(dir);
  }

  void Entry(int parent, const std::string& path, const char* name, int depth) {
    if (order_.ignore.contains(path)) return;
    struct stat info;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        info.st_uid != uid_) {
      return;
    }
    if (!S_ISDIR(info.st_mode)) {
      unlinkat(parent, name, 0);
      return;
    }
    if (!order_.recursive || depth >= kMaxDepth) return;
    const int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    Content(fd, path, depth + 1);
    close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
  }

  const CleanupOrder& order_;
  const uint32_t uid_;
};

// How a path for this key is added; empty for another key.
AddPath AdderFor(std::string_view key, CleanupOrder* order) {
  if (key == PMIX_REGISTER_CLEANUP) {
    return
        [order](std::string path) { order->files.push_back(std::move(path)); };
  }
  if (key == PMIX_REGISTER_CLEANUP_DIR) {
    return [order](std::string path) {
      order->directories.push_back(std::move(path));
    };
  }
  if (key == PMIX_CLEANUP_IGNORE) {
    return [order](std::string path) { order->ignore.insert(std::move(path)); };
  }
  return nullptr;
}

bool* FlagFor(std::string_view key, CleanupOrder* order) {
  if (key == PMIX_CLEANUP_RECURSIVE) return &order->recursive;
  if (key == PMIX_CLEANUP_EMPTY) return &order->only_empty;
  if (key == PMIX_CLEANUP_LEAVE_TOPDIR) return &order->leave_topdir;
  return nullptr;
}

}  // namespace

Result<CleanupOrder> ParseCleanup(const InfoList& info) {
  CleanupOrder order;
  for (const pmix_info_t& entry : info) {
    const std::string_view key = KeyOf(entry);
    if (const AddPath add = AdderFor(key, &order)) {
      const auto text = StringOf(entry.value);
      if (!text) return Status(kErrBadParam, "cleanup without a path");
      Status status = AddPaths(*text, add, &order.cost);
      if (!status.ok()) return status;
    } else if (bool* flag = FlagFor(key, &order); flag != nullptr) {
      *flag = BoolOf(entry.value).value_or(true);
    }
  }
  if (order.files.empty() && order.directories.empty()) {
    return Status(kErrBadParam, "cleanup without a path");
  }
  if (order.recursive && order.only_empty) {
    return Status(kErrConflictingCleanupDirectives,
                  "recursive cleanup of empty directories only");
  }
  for (const std::vector<std::string>* paths :
       {&order.files, &order.directories}) {
    for (const std::string& path : *paths) {
      if (!order.ignore.contains(path)) continue;
      return Status(kErrConflictingCleanupDirectives,
                    path + " is both to be removed and to be ignored");
    }
  }
  return order;
}

void Execute(const CleanupOrder& order, uint32_t uid) {
  Remover remover(order, uid);
  for (const std::string& path : order.files) remover.File(path);
  for (const std::string& path : order.directories) remover.Directory(path);
}

Status CleanupRegistry::Control(const core::AskHost& request) {
  InfoList info;
  if (!DecodeInfos(request.call.view(), &info)) {
    return Status(kErrUnpackFailure, "malformed job control");
  }
  Result<CleanupOrder> order = ParseCleanup(info);
  if (!order.ok()) return order.status();
  // A process decides about its own end only.
  for (const ProcId& target : request.targets) {
    const bool is_all_of_job =
        target.nspace == request.source.nspace && target.rank == kRankWildcard;
    if (target != request.source && !is_all_of_job) {
      return Status(kErrNotSupported, "cleanup for another process");
    }
  }
  Job& job = jobs_[request.source.nspace];
  Process& process = job.processes[request.source.rank];
  if (process.cost + order->cost > kMaxCost) return TooMany();
  process.cost += order->cost;
  for (const std::string& path : order->files) ++job.registered[path];
  for (const std::string& path : order->directories) ++job.registered[path];
  process.orders.push_back(*std::move(order));
  return Status();
}

void CleanupRegistry::OnLocalExits(const core::LocalExits& exits) {
  const auto job = jobs_.find(exits.nspace);
  if (job == jobs_.end()) return;
  for (const core::ProcExit& exit : exits.exits) {
    auto process = job->second.processes.extract(exit.rank);
    if (!process.empty()) End(&process.mapped(), exits.nspace, &job->second);
  }
}

// What others have registered too is left to them.
void CleanupRegistry::End(Process* process, const std::string& nspace,
                          Job* job) {
  for (const CleanupOrder& order : process->orders) {
    for (const std::string& path : order.files) Unregister(path, job);
    for (const std::string& path : order.directories) Unregister(path, job);
  }
  const auto registered = [job](const std::string& path) {
    return job->registered.contains(path);
  };
  for (CleanupOrder& order : process->orders) {
    std::erase_if(order.files, registered);
    std::erase_if(order.directories, registered);
    Execute(order, uid_of_(nspace));
  }
}

void CleanupRegistry::Unregister(const std::string& path, Job* job) {
  const auto it = job->registered.find(path);
  if (--it->second == 0) job->registered.erase(it);
}

void CleanupRegistry::DropJob(const std::string& nspace) {
  const auto job = jobs_.extract(nspace);
  if (job.empty()) return;
  for (const auto& [rank, process] : job.mapped().processes) {
    for (const CleanupOrder& order : process.orders) {
      Execute(order, uid_of_(nspace));
    }
  }
}

}  // namespace canopy::cleanup
