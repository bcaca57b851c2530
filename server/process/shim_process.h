// A job's shim as a process: whose child it is, and how its job is found once
// it is dead.
#ifndef CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
#define CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_

#include <string>
#include <unordered_set>

namespace canopy::process {

// One thread.
class ShimProcess {
 public:
  // The shim is a child of this process.
  void NoteStarted(int pid);
  // The recovered shim may be one: an agent that was replaced by exec has left
  // its children to its successor.
  void NoteFound(int pid);

  // The shim when it is a child of this process, else 0.
  int child_pid() const { return child_pid_; }

  // The shim is dead: kills what is left of its job, whose processes lead these
  // groups, as far as known.
  void KillJob(const std::string& nspace, std::unordered_set<int> groups) const;

 private:
  int pid_ = 0;
  int child_pid_ = 0;
  int session_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_PROCESS_H_
