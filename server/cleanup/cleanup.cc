#include "server/cleanup/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/posix/open_directory.h"
#include "common/posix/unique_fd.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::cleanup {
namespace {

constexpr int kMaxDepth = 128;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Memory of a path in addition to its text, in bytes.
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

// Executes one order. Names are resolved in an open directory, so an exchange
// of the directory's path does not change their meaning.
class Remover {
 public:
  Remover(const CleanupOrder& order, const FileUser& user)
      : order_(order), user_(user) {}

  void File(const std::string& path) {
    InItsDirectory(path, [this](int parent, const char* name) {
      const std::optional<mode_t> mode = ModeOfOwn(parent, name);
      if (mode && !S_ISDIR(*mode)) unlinkat(parent, name, 0);
    });
  }

  void Directory(const std::string& path) {
    InItsDirectory(path, [&](int parent, const char* name) {
      const UniqueFd fd(openat(parent, name, kOpenDirectory));
      struct stat info;
      if (!fd || fstat(fd.get(), &info) != 0 || info.st_uid != user_.uid) {
        return;
      }
      if (!order_.only_empty) Content(fd.get(), path, 0);
      if (!order_.leave_topdir) unlinkat(parent, name, AT_REMOVEDIR);
    });
  }

 private:
  using InDirectory = std::function<void(int parent, const char* name)>;

  // If the user is root, a path may lead through a directory that another user
  // controls. In such a directory, the rights of that user are used.
  void InItsDirectory(const std::string& path, const InDirectory& call) const {
    const SplitPath split = SplitLast(path);
    if (user_.uid != 0) {
      const UniqueFd parent(
          open(split.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (parent) call(parent.get(), split.name.c_str());
      return;
    }
    const Result<OpenedDirectory> parent = OpenDirectory(split.directory);
    if (!parent.ok()) return;
    (void)RunAsUser(parent->user,
                    [&] { call(parent->fd.get(), split.name.c_str()); });
  }

  std::optional<mode_t> ModeOfOwn(int parent, const char* name) const {
    struct stat info;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        info.st_uid != user_.uid) {
      return std::nullopt;
    }
    return info.st_mode;
  }

  // Removes the removable content of the directory `fd`.
  void Content(int fd, const std::string& path, int depth) {
    UniqueFd copy = DuplicateFd(fd);
    DIR* dir = fdopendir(copy.get());
    if (dir == nullptr) return;
    (void)copy.Release();  // closedir closes it
    while (const dirent* entry = readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      Entry(fd, path + "/" + entry->d_name, entry->d_name, depth);
    }
    closedir(dir);
  }

  void Entry(int parent, const std::string& path, const char* name, int depth) {
    if (order_.ignore.contains(path)) return;
    const std::optional<mode_t> mode = ModeOfOwn(parent, name);
    if (!mode) return;
    if (!S_ISDIR(*mode)) {
      unlinkat(parent, name, 0);
      return;
    }
    if (!order_.recursive || depth >= kMaxDepth) return;
    const UniqueFd fd(openat(parent, name, kOpenDirectory));
    if (!fd) return;
    Content(fd.get(), path, depth + 1);
    unlinkat(parent, name, AT_REMOVEDIR);
  }

  const CleanupOrder& order_;
  const FileUser user_;
};

// Returns the user that the kernel reports for the process, or the user that
// the host has registered for it.
FileUser UserOf(const core::AskHost& request) {
  if (request.uid == core::kAgentsUser) return {geteuid(), getegid()};
  return {request.uid,
          request.gid == core::kAgentsUser ? kNoGroup : request.gid};
}

// Returns a function that adds a path for this key; an empty function for other
// keys.
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
                  "PMIX_CLEANUP_RECURSIVE and PMIX_CLEANUP_EMPTY exclude "
                  "each other");
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

void Execute(std::span<const CleanupOrder> orders, const FileUser& user) {
  (void)RunAsUser(user, [&] {
    for (const CleanupOrder& order : orders) {
      Remover remover(order, user);
      for (const std::string& path : order.files) remover.File(path);
      for (const std::string& path : order.directories) {
        remover.Directory(path);
      }
    }
  });
}

Status CleanupRegistry::Control(const core::AskHost& request) {
  InfoList info;
  if (!DecodeInfos(request.call.view(), &info)) {
    return Status(kErrUnpackFailure, "malformed job control");
  }
  Result<CleanupOrder> order = ParseCleanup(info);
  if (!order.ok()) return order.status();
  // A process can register cleanup only for its own end.
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
  const FileUser user = UserOf(request);
  if (!process.orders.empty() && process.user.uid != user.uid) {
    return Status(kErrNoPermissions, "another user's process of that name");
  }
  process.user = user;
  process.cost += order->cost;
  for (const std::string& path : order->files) ++job.registered[path];
  for (const std::string& path : order->directories) ++job.registered[path];
  process.orders.push_back(*std::move(order));
  return Status();
}

CleanupRegistry::CleanupRegistry(const RemovalLimits& limits)
    : threads_(limits) {}

void CleanupRegistry::OnLocalExits(const core::LocalExits& exits) {
  const auto job = jobs_.find(exits.nspace);
  if (job == jobs_.end()) return;
  std::vector<Removal> removals;
  for (const core::ProcExit& exit : exits.exits) {
    auto process = job->second.processes.extract(exit.rank);
    if (process.empty()) continue;
    removals.push_back(End(std::move(process.mapped()), &job->second));
  }
  Remove(exits.nspace, std::move(removals));
}

// Returns the orders of a process without the paths that other processes have
// registered too. Such a path is removed when the last of these processes ends.
CleanupRegistry::Removal CleanupRegistry::End(Process process, Job* job) {
  for (const CleanupOrder& order : process.orders) {
    for (const std::string& path : order.files) Unregister(path, job);
    for (const std::string& path : order.directories) Unregister(path, job);
  }
  const auto registered = [job](const std::string& path) {
    return job->registered.contains(path);
  };
  for (CleanupOrder& order : process.orders) {
    std::erase_if(order.files, registered);
    std::erase_if(order.directories, registered);
  }
  return {process.user, std::move(process.orders)};
}

void CleanupRegistry::Remove(const std::string& nspace,
                             std::vector<Removal> removals) {
  if (removals.empty()) return;
  threads_.Run(nspace, [removals = std::move(removals)] {
    for (const Removal& removal : removals) {
      Execute(removal.orders, removal.user);
    }
  });
}

void CleanupRegistry::Unregister(const std::string& path, Job* job) {
  const auto it = job->registered.find(path);
  if (--it->second == 0) job->registered.erase(it);
}

void CleanupRegistry::DropJob(const std::string& nspace) {
  auto job = jobs_.extract(nspace);
  if (job.empty()) return;
  std::vector<Removal> removals;
  for (auto& [rank, process] : job.mapped().processes) {
    removals.push_back({process.user, std::move(process.orders)});
  }
  Remove(nspace, std::move(removals));
}

}  // namespace canopy::cleanup
