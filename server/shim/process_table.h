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
  // `fds`: what the ranks inherit, in their order; they are copied. False when
  // a rank is there already, or these are not as many as the ranks name.
  bool Add(std::vector<RankSpec> ranks, const std::vector<UniqueFd>& fds);

  // None is added once pointers to them are held.
  std::vector<LocalProcess>& all() { return processes_; }
  LocalProcess& of_rank(Rank rank) { return processes_[by_rank_.at(rank)]; }
  std::vector<RankState> States() const;

  // Describes the next process of a rank whose last one has ended; what is left
  // of that one's group is killed. Null when the number is not the next one, or
  // `fds` are not as many as the rank names.
  LocalProcess* Replace(RestartRank restart, const std::vector<UniqueFd>& fds);

  // Processes were started: they are found by their ids from now on.
  void NoteStarted();
  // Notes the end of a process; null when the child is none of the job's own.
  LocalProcess* NoteEnd(const Reaped& reaped);

  // To the running ones of these ranks (empty: all), each with its process
  // group.
  void Signal(const std::vector<Rank>& ranks, int signal);
  // SIGKILL, also to what is left of the groups of processes that have ended.
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
