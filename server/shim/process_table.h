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
  // Adds ranks. `fds` are the descriptors that they inherit, in their order;
  // they are duplicated. Returns false if a rank exists already, or if the
  // number of descriptors differs from the number that the ranks name.
  bool Add(std::vector<RankSpec> ranks, const std::vector<UniqueFd>& fds);

  // Adding ranks invalidates pointers to these elements.
  std::vector<LocalProcess>& all() { return processes_; }
  // Returns null if the job has no such rank on this node.
  const LocalProcess* Find(Rank rank) const;
  LocalProcess& of_rank(Rank rank) { return processes_[by_rank_.at(rank)]; }
  std::vector<RankState> States() const;

  // Describes the next process of a rank whose last one has ended, and kills
  // the remaining processes of that one's group. Returns null if the
  // incarnation is not the next one, or if the number of `fds` differs from the
  // number that the rank names.
  LocalProcess* Replace(RestartRank restart, const std::vector<UniqueFd>& fds);

  // Indexes the processes that were started by their process ids.
  void NoteStarted();
  // Records the end of a process. Returns null if the child is not a process of
  // the job itself.
  LocalProcess* NoteEnd(const Reaped& reaped);

  // Signals the running processes of these ranks (empty: all), with their
  // process groups.
  void Signal(const std::vector<Rank>& ranks, int signal);
  // Sends SIGKILL, also to the remaining members of the groups of ended
  // processes.
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
