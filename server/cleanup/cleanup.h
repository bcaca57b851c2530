// Files and directories that processes want removed when they end
// (PMIx_Job_control with PMIX_REGISTER_CLEANUP and its kin).
#ifndef CANOPY_SERVER_CLEANUP_CLEANUP_H_
#define CANOPY_SERVER_CLEANUP_CLEANUP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
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

// Removes what the order names, without following symbolic links and without
// ever leaving the named directories. What belongs to another user than `uid`
// stays.
void Execute(const CleanupOrder& order, uint32_t uid);

// Loop thread only. Orders are carried out when the process that registered
// them ends, also abnormally, and those left when its job is dropped. A path
// that several processes of a job have registered goes with the last of them.
class CleanupRegistry : public InputObserver {
 public:
  // Tells the user that a job runs as.
  using UidOf = std::function<uint32_t(const std::string& nspace)>;
  explicit CleanupRegistry(UidOf uid_of) : uid_of_(std::move(uid_of)) {}

  // What PMIx_Job_control asks.
  Status Control(const core::AskHost& request);
  void OnLocalExits(const core::LocalExits& exits) override;
  void DropJob(const std::string& nspace);

 private:
  struct Process {
    std::vector<CleanupOrder> orders;
    size_t cost = 0;  // of them
  };
  struct Job {
    std::map<Rank, Process> processes;
    std::map<std::string, size_t> registered;  // how often, by path
  };

  void End(Process* process, const std::string& nspace, Job* job);
  static void Unregister(const std::string& path, Job* job);

  const UidOf uid_of_;
  std::map<std::string, Job> jobs_;
};

}  // namespace canopy::cleanup

#endif  // CANOPY_SERVER_CLEANUP_CLEANUP_H_
