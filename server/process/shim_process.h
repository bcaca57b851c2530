// The shim of a job as a process: its parent, and the search for its job's
// processes after its death.
#ifndef CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
#define CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// One thread.
class ShimProcess {
 public:
  // Records that the shim is a child of this process.
  void NoteStarted(int pid);
  // Records a recovered shim. It is a child of this process if the predecessor
  // was replaced by exec.
  void NoteFound(int pid);

  // Returns the pid of the shim if it is a child of this process, else 0.
  int child_pid() const { return child_pid_; }

  // Called when the shim is dead: kills the remaining processes of its job.
  // `groups` are the known process groups of its ranks.
  void KillJob(const std::string& nspace, std::unordered_set<int> groups) const;

 private:
  int pid_ = 0;
  int child_pid_ = 0;
  int session_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
