// Files and directories that processes want removed when they end
// (PMIx_Job_control with PMIX_REGISTER_CLEANUP and its kin).
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
#include "server/core/step/host.h"
#include "server/core/step/process_inputs.h"
#include "server/ports/input_observer.h"

namespace canopy::cleanup {

// Paths registered together, with the directives that go with them.
struct CleanupOrder {
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::set<std::string> ignore;  // stay, with what is below them
  bool recursive = false;
  bool only_empty = false;  // of directories
  bool leave_topdir = false;
  size_t cost = 0;  // of the paths, in bytes of memory
};

// All that one process may have registered; paths are walked and compared in
// the agent's loop.
inline constexpr size_t kMaxCost = size_t{1} << 20;

// Directives of job control that are none of cleanup are left out: the core has
// judged them. kErrBadParam without a path, and for one that is not absolute,
// kErrConflictingCleanupDirectives as the Standard says, kErrOutOfResource over
// kMaxCost.
Result<CleanupOrder> ParseCleanup(const InfoList& info);

// Removes what the orders name, with the rights of `user` and no others:
// nothing that `user` could not remove goes, wherever links and directories
// that are exchanged meanwhile lead. Beyond that, no symbolic link at the end
// of a path or below it is followed, and what belongs to another user than
// `user` stays. For root, what lies in a directory that another user controls
// is removed with that user's rights (OpenDirectory). Without supplementary
// groups: what only such a group of the user's lets it remove stays.
void Execute(std::span<const CleanupOrder> orders, const FileUser& user);

// Loop thread only. Orders are carried out when the process that registered
// them ends, also abnormally, and those left when its job is dropped. A path
// that several processes of a job have registered goes with the last of them.
class CleanupRegistry : public InputObserver {
 public:
  // What PMIx_Job_control asks. The request's user is the one whose rights
  // count later.
  Status Control(const core::AskHost& request);
  void OnLocalExits(const core::LocalExits& exits) override;
  void DropJob(const std::string& nspace);

 private:
  struct Process {
    FileUser user;
    std::vector<CleanupOrder> orders;
    size_t cost = 0;  // of them
  };
  struct Job {
    std::map<Rank, Process> processes;
    std::map<std::string, size_t> registered;  // how often, by path
  };

  static void End(Process* process, Job* job);
  static void Unregister(const std::string& path, Job* job);

  std::map<std::string, Job> jobs_;
};

}  // namespace canopy::cleanup

#endif  // CANOPY_SERVER_CLEANUP_CLEANUP_H_
