// The process groups that have members on this node, from the end of their
// construct to the end of their destruct.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUPS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/group_record.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"

namespace canopy::core {

struct Group {
  std::string name;
  // The participants that identify the group's construct. They also identify
  // its destruct, even if members have left.
  std::vector<ProcId> participants;
  uint64_t sequence = 0;  // the construct's sequence
  // The result of the construct, decoded and as received. A successor sends the
  // result to members that have not received it.
  GroupRecord record;
  Bytes result;
  std::vector<ProcId> left;  // members that have left since, ascending

  // Returns whether the process is a member: a participant that took part and
  // has not left.
  bool Has(const ProcId& proc) const;
  // Returns all members, ascending. Members of unknown jobs are left out.
  std::vector<ProcId> Members(const JobTable& jobs) const;
};

// Maximum number of records of processes that left a group which this agent
// does not know; the latest ones are kept.
inline constexpr size_t kMaxLeftEarly = 1024;

// Several groups may have one name if no process is in two of them. Pointers
// stay valid until the group ends. Used by one thread.
class Groups {
 public:
  // Records that a construct or destruct has ended at this agent. `result` is a
  // GroupRecord.
  void OnCompleted(const CollectiveId& id, int status, const Bytes& result);
  // Restores a predecessor's record of a construct or destruct, after which the
  // group `exists` or does not. `left` is as in Group.
  void Recover(const CollectiveId& id, bool exists, const Bytes& result,
               std::vector<ProcId> left);
  void DropJob(const std::string& nspace);

  // Returns the group; null if there is no such group.
  const Group* Find(const std::string& name,
                    const std::vector<ProcId>& participants) const;
  // Returns the group of that name of which the process is a member; null if
  // there is none.
  const Group* FindOf(const std::string& name, const ProcId& proc) const;
  // Replaces names of groups among `procs`, of which `proc` must be a member,
  // by their members: the wildcard by all members, a rank by the member at that
  // index of Members. Returns false if the index is out of range.
  bool ReplaceNames(const ProcId& proc, const JobTable& jobs,
                    std::vector<ProcId>* procs) const;
  // Returns all groups of which the process is a member.
  std::vector<const Group*> Of(const ProcId& proc) const;
  // Removes the process from the group and returns the group; null if it was
  // not a member. A nonzero `made` names one group (GroupRecord); 0 stands for
  // any group of that name.
  const Group* Leave(const std::string& name, const ProcId& proc,
                     uint64_t made = 0);
  // Records that a process has left a group that may not exist at this agent
  // yet.
  void NoteLeft(uint64_t made, const ProcId& proc);
  std::vector<ProcId> TakeLeftEarly(uint64_t made);

  using Key = std::pair<std::string, std::vector<ProcId>>;
  const std::map<Key, Group>& all() const { return groups_; }
  size_t size() const { return groups_.size(); }

 private:
  std::map<Key, Group> groups_;
  std::deque<std::pair<uint64_t, ProcId>> left_early_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUPS_H_
