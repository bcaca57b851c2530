// The end of groups that members have left.
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

// A process that has left a group no longer takes part in the group's end. Its
// agent arrives in place of the process. A successor agent knows from records
// which processes have left, but not which of them have received the reply.
// Used by one thread.
class GroupEnds {
 public:
  struct Parts {
    const JobTable& jobs;
    SeriesTable& table;
    Groups& groups;
    MemberLookup& lookup;
    CollectiveProgress& progress;
  };
  // The parts outlive this object.
  explicit GroupEnds(const Parts& parts) : p_(parts) {}

  // Handles the leave of a process. Returns false if the process is not a
  // member. A nonzero `made` names one group (GroupRecord), which may not exist
  // at this agent yet; 0 stands for any group of that name.
  bool OnLeft(const StepContext& step, const ProcId& proc,
              const std::string& group, uint64_t made);
  // Returns true, once, if the process has left a group of that name under a
  // predecessor. The process repeats its request, because it may not have
  // received the reply.
  bool TakeLeftBefore(const ProcId& proc, const std::string& group) {
    const auto left = left_before_.find({proc, group});
    return left != left_before_.end() &&
           !std::exchange(left->second.answered, true);
  }
  // Returns whether the process has left the last group of the series `end`
  // under a predecessor.
  bool HasLeftBefore(const ProcId& proc, const CollectiveId& end) const;
  // Advances the process's count past the end of a group that it has left,
  // because the process does not count that end.
  void SkipLeft(Series& series, int index) const;
  // Called before a group is dropped with one of its jobs; `series` is that of
  // the group's destructs. Returns, for each local member, the number of ends
  // whose results the member need not request. Returns an empty map for other
  // series, and if there is no such group.
  std::map<ProcId, uint64_t> EndsBefore(const Series& series) const;
  // Called when a local process takes part in the construct of another group of
  // that name.
  void OnConstructing(const ProcId& proc, const std::string& group) {
    left_before_.erase({proc, group});
  }

  // Restores the record of a construct, even if the group has ended since.
  void Recover(const CollectiveId& construct, const std::vector<ProcId>& left);
  // Called when this agent has the map of the job. Processes of the job may
  // have left groups whose end the predecessor has not reported to other
  // agents.
  void Resume(const StepContext& step, const std::string& nspace);
  void DropJob(const std::string& nspace);

 private:
  // The last groups of one name that a process has left, by participants.
  struct LeftBefore {
    std::set<std::vector<ProcId>> groups;
    bool answered = false;  // the process has repeated its request
  };

  void EndFor(const StepContext& step, Series& series, int index);
  std::vector<CollectiveId> EndsWithoutSome(const std::string& nspace) const;

  const Parts p_;
  // Local processes and the groups that they left under the predecessor.
  std::map<std::pair<ProcId, std::string>, LeftBefore> left_before_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_ENDS_H_
