// The processes of a shim's job, by rank and by process id.
#ifndef CANOPY_SERVER_SHIM_PROCESS_TABLE_H_
#define CANOPY_SERVER_SHIM_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/shim/children.h"
#include "server/shim/process_starter.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Loop thread only.
class ProcessTable {
 public:
  // Adds ranks. `fds` are the descriptors that the ranks inherit, in the order
  // of the ranks; they are duplicated. Returns false if a rank exists already,
  // or if the number of descriptors differs from the number that the ranks
  // name.
  bool Add(std::vector<RankSpec> ranks, const std::vector<UniqueFd>& fds);

  // Returns the processes of all ranks. Adding ranks invalidates pointers to
  // the elements.
  std::vector<LocalProcess>& all() { return processes_; }
  // Returns the process of the rank, or null if the job has no such rank on
  // this node.
  const LocalProcess* Find(Rank rank) const;
  LocalProcess& of_rank(Rank rank) { return processes_[by_rank_.at(rank)]; }
  // Returns the states of all ranks, in the order in which they were added.
  std::vector<RankState> States() const;

  // Describes the next process of a rank whose last process has ended, and
  // kills the remaining processes of the last process's group. Returns null if
  // the incarnation is not the next one, or if the number of `fds` differs from
  // the number that the rank names.
  LocalProcess* Replace(RestartRank restart, const std::vector<UniqueFd>& fds);

  // Indexes all started processes by their process ids.
  void NoteStarted();
  // Records the end of a process. Returns null if the child is not a process of
  // the job itself.
  LocalProcess* NoteEnd(const Reaped& reaped);

  // Sends the signal to the running processes of these ranks (empty: all), and
  // to their process groups.
  void Signal(const std::vector<Rank>& ranks, int signal);
  // Sends SIGKILL to the processes of these ranks (empty: all), and to the
  // remaining members of the groups of processes that have ended.
  void Kill(const std::vector<Rank>& ranks);

 private:
  static bool Describe(RankSpec spec, const std::vector<UniqueFd>& fds,
                       size_t* next_fd, LocalProcess* process);
  std::vector<LocalProcess*> Select(const std::vector<Rank>& ranks);

  std::vector<LocalProcess> processes_;
  std::unordered_map<Rank, size_t> by_rank_;
  std::unordered_map<pid_t, size_t> by_pid_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_TABLE_H_
