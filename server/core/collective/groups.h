// The process groups that have members on this node: from the end of their
// construction to that of their destruction.
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
  // As in the identity of its construction, which that of its end repeats,
  // whoever has left.
  std::vector<ProcId> participants;
  uint64_t sequence = 0;  // of its construction
  // The result of the construction, and as it came: a successor answers with
  // it whoever has not had it.
  GroupRecord record;
  Bytes result;
  std::vector<ProcId> left;  // members that have left since, ascending

  // It is a member: a participant that took part and has not left.
  bool Has(const ProcId& proc) const;
  // All members, ascending; those of jobs that are not known are left out.
  std::vector<ProcId> Members(const JobTable& jobs) const;
};

// Who has left groups that are not known here: the latest alone are kept.
inline constexpr size_t kMaxLeftEarly = 1024;

// Several groups may have one name where no process is in two of them. Pointers
// stay valid until the group ends. One thread.
class Groups {
 public:
  // A construct or destruct has ended here; `result` is a GroupRecord.
  void OnCompleted(const CollectiveId& id, int status, const Bytes& result);
  // What a predecessor knew; `left` as in Group.
  void Recover(const CollectiveId& id, bool exists, const Bytes& result,
               std::vector<ProcId> left);
  void DropJob(const std::string& nspace);

  // Null when there is none.
  const Group* Find(const std::string& name,
                    const std::vector<ProcId>& participants) const;
  // The one of that name in which the process is a member.
  const Group* FindOf(const std::string& name, const ProcId& proc) const;
  // Replaces names of groups among `procs`, in which `proc` must be a member,
  // by their members: all of them for the wildcard, otherwise the one at that
  // place of Members. False if a group has no such place.
  bool ReplaceNames(const ProcId& proc, const JobTable& jobs,
                    std::vector<ProcId>* procs) const;
  // All in which the process is a member.
  std::vector<const Group*> Of(const ProcId& proc) const;
  // The process is a member no more. Null when it was none, else its group.
  // `made`: of that one alone (GroupRecord); 0: whichever there is.
  const Group* Leave(const std::string& name, const ProcId& proc,
                     uint64_t made = 0);
  // A process has left a group that may yet be to come here.
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
