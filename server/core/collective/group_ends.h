// How groups end for those who have left them, and without those who left.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_ENDS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_ENDS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/collective_progress.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/member_lookup.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// A process that has left a group takes part in its end no more: its agent
// arrives there for it. A successor agent knows from records who has left, but
// not which of them were told so. One thread.
class GroupEnds {
 public:
  struct Parts {
    const JobTable& jobs;
    SeriesTable& table;
    Groups& groups;
    MemberLookup& lookup;
    CollectiveProgress& progress;
  };
  // The parts outlive it.
  explicit GroupEnds(const Parts& parts) : p_(parts) {}

  // The process leaves the group. False when it is no member. `made`: of that
  // group alone, which may be yet to come here (GroupRecord); 0: whichever
  // there is.
  bool OnLeft(StepContext& step, const ProcId& proc, const std::string& group,
              uint64_t made);
  // The process has left such a group under a predecessor, and asks again, as
  // it does not know: true once.
  bool TakeLeftBefore(const ProcId& proc, const std::string& group) {
    const auto left = left_before_.find({proc, group});
    return left != left_before_.end() &&
           !std::exchange(left->second.answered, true);
  }
  // It has left the last group of this series under a predecessor.
  bool HasLeftBefore(const ProcId& proc, const CollectiveId& end) const;
  // A process does not count the end of a group that it has left.
  void SkipLeft(Series& series, int index) const;
  // Local members of a group that is forgotten with one of its jobs, and how
  // many ends of such groups they need not ask for.
  std::map<ProcId, uint64_t> EndsBefore(const Series& series) const;
  // A local process takes part in the construction of another of that name.
  void OnConstructing(const ProcId& proc, const std::string& group) {
    left_before_.erase({proc, group});
  }

  // Of the record of a construct, also if the group has ended since.
  void Recover(const CollectiveId& construct, const std::vector<ProcId>& left);
  // The map of that job is here: its members may have left groups whose ends a
  // predecessor told nobody of.
  void Resume(StepContext& step, const std::string& nspace);
  void DropJob(const std::string& nspace);

 private:
  // The last groups of one name that a process has left, by participants.
  struct LeftBefore {
    std::set<std::vector<ProcId>> groups;
    bool answered = false;  // it has asked again
  };

  void EndFor(StepContext& step, Series& series, int index);
  std::vector<CollectiveId> EndsWithoutSome(const std::string& nspace) const;

  const Parts p_;
  // Local processes and the groups that they left under the predecessor.
  std::map<std::pair<ProcId, std::string>, LeftBefore> left_before_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_ENDS_H_
