// The shim of a job as a process: its parent, and the search for the job's
// processes after the shim's death.
#ifndef CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
#define CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// Knows the PID of a job's shim and whether the shim is a child of this
// process, and ends the job if the shim dies. Used by one thread.
class ShimProcess {
 public:
  // Records that the shim is a child of this process.
  void NoteStarted(int pid);
  // Records a recovered shim. It is a child of this process if this process has
  // replaced the predecessor by exec.
  void NoteFound(int pid);

  // Returns the pid of the shim if it is a child of this process, else 0.
  int child_pid() const { return child_pid_; }

  // Kills the shim if it is a child of this process.
  void KillShim() const;

  // Called when the shim is dead. Kills the remaining processes of its job.
  // Has no effect without a known shim: a pod's processes end with the pod.
  // `groups` are the known process groups of the job's ranks.
  void KillJob(const std::string& nspace, std::unordered_set<int> groups) const;

 private:
  int pid_ = 0;
  int child_pid_ = 0;
  int session_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
