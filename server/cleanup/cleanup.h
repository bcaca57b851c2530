// Removes files and directories for processes when they end (PMIx_Job_control
// with PMIX_REGISTER_CLEANUP and related keys).
#ifndef CANOPY_SERVER_CLEANUP_CLEANUP_H_
#define CANOPY_SERVER_CLEANUP_CLEANUP_H_

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/posix/run_as_user.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "server/cleanup/removal_threads.h"
#include "server/core/step/host.h"
#include "server/core/step/process_inputs.h"
#include "server/ports/input_observer.h"

namespace canopy::cleanup {

// Paths that were registered together, with their directives.
struct CleanupOrder {
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::set<std::string> ignore;  // kept, with everything below them
  bool recursive = false;        // also the content of subdirectories
  bool only_empty = false;       // only directories that are empty
  bool leave_topdir = false;     // the directories themselves are kept
  size_t cost = 0;               // memory of the paths, in bytes
};

// The limit for the registrations of one process, in bytes. There is a limit
// because their paths are compared in the agent's loop.
inline constexpr size_t kMaxCost = size_t{1} << 20;

// Returns the registration in a request of job control. Other directives are
// ignored, because the core has checked them. Returns kErrBadParam if there is
// no path, or if a path is not an absolute path below "/". Returns
// kErrConflictingCleanupDirectives as the Standard defines, and
// kErrOutOfResource if the paths cost more than kMaxCost.
Result<CleanupOrder> ParseCleanup(const InfoList& info);

// Removes the paths of the orders with the rights of `user` and no others. A
// file that `user` could not remove is kept, even if links lead elsewhere or
// directories are exchanged during the removal. Files of other users are kept
// in any case, and no symbolic link at the end of a path or below it is
// followed. If `user` is root, the content of a directory that another user
// controls is removed with that user's rights (OpenDirectory). Supplementary
// groups are not used, so files that `user` could remove only through such a
// group are kept.
void Execute(std::span<const CleanupOrder> orders, const FileUser& user);

// Loop thread only. An order is executed when the process that registered it
// ends, normally or abnormally; the remaining orders are executed when their
// job is dropped. A path that several processes of a job have registered is
// removed when the last of these processes ends. Threads execute the orders
// (RemovalThreads), so a removal that exceeds their limits may continue after
// the end of the job.
class CleanupRegistry : public InputObserver {
 public:
  explicit CleanupRegistry(const RemovalLimits& limits = {});

  // Handles a request of PMIx_Job_control. The paths will be removed with the
  // rights of the request's user. Returns the errors of ParseCleanup. Returns
  // kErrUnpackFailure for a malformed request. Returns kErrNotSupported if a
  // target is neither the requesting process nor its whole job. Returns
  // kErrOutOfResource if the process has registered too many paths in all, and
  // kErrNoPermissions if another user's process has registered under the same
  // name.
  Status Control(const core::AskHost& request);
  void OnLocalExits(const core::LocalExits& exits) override;
  // Removes the paths of the job's processes that have not ended. No effect for
  // an unknown job.
  void DropJob(const std::string& nspace);

 private:
  struct Process {
    FileUser user;
    std::vector<CleanupOrder> orders;
    size_t cost = 0;  // sum over `orders`
  };
  struct Job {
    std::map<Rank, Process> processes;
    // Number of registrations, by path.
    std::map<std::string, size_t> registered;
  };

  // The paths that remain to be removed for a process that has ended.
  struct Removal {
    FileUser user;
    std::vector<CleanupOrder> orders;
  };

  static Removal End(Process process, Job* job);
  void Remove(const std::string& nspace, std::vector<Removal> removals);
  static void Unregister(const std::string& path, Job* job);

  std::map<std::string, Job> jobs_;
  RemovalThreads threads_;
};

}  // namespace canopy::cleanup

#endif  // CANOPY_SERVER_CLEANUP_CLEANUP_H_
