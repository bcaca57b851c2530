// The ends of a job's ranks, and of earlier processes of restarted ranks, that
// this agent reports upwards.
#ifndef CANOPY_SERVER_CORE_JOB_RANK_ENDS_H_
#define CANOPY_SERVER_CORE_JOB_RANK_ENDS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/core/messages.h"

namespace canopy::core {

// The end of one rank: its process has ended, or the rank was lost with its
// node.
struct RankEnd {
  ProcExit exit;  // of a rank lost with its node: only `rank` is set
  bool lost_with_node = false;
};

// Ends are kept in order of arrival, because the controller takes the first
// failure for the cause of the others. Used by one thread.
class RankEnds {
 public:
  explicit RankEnds(size_t num_ranks) : known_(num_ranks) {}

  // Adds an end. Returns false if there is no such rank, or if its end is
  // known. The exit of a process that was restarted is not the end of its rank:
  // the last such exit of each rank is kept, and false is returned for an
  // earlier one.
  bool Add(const RankEnd& end);
  // Returns JobExits and NodeLost messages with the ends added since the last
  // call; restarts come first.
  std::vector<MessageBody> TakeUnsent(const std::string& nspace);
  // Makes TakeUnsent return all ends again, for a parent that may not have
  // them.
  void Resend();

 private:
  bool AddRestart(const ProcExit& exit);

  std::vector<bool> known_;  // by rank
  std::vector<RankEnd> ends_;
  size_t sent_ = 0;
  std::map<Rank, ProcExit> restarts_;
  std::set<Rank> unsent_restarts_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RANK_ENDS_H_
