// The information that agents exchange about a process group: a node's
// contribution to the group's construct or destruct, and the result, which the
// top of the collective's tree computes from all contributions.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/describe_procs.h"
#include "common/ids.h"

namespace canopy::core {

// Directives of a member. A flag holds for the group as soon as one member has
// set it. The numbers are part of the overlay's protocol.
enum GroupFlag : uint32_t {
  kGroupAssignsContextId = 1,  // PMIX_GROUP_ASSIGN_CONTEXT_ID
  kGroupIsOptional = 2,        // PMIX_GROUP_OPTIONAL
  kGroupAdapts = 4,            // PMIX_GROUP_FT_COLLECTIVE
  kGroupNotifies = 8,          // PMIX_GROUP_NOTIFY_TERMINATION
};

// A member whose rank was restarted.
struct RestartedMember {
  ProcId proc;
  uint32_t before = 0;  // number of earlier processes of the rank

  auto operator<=>(const RestartedMember&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<RestartedMember> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.before);
}

struct GroupRecord {
  uint32_t flags = 0;  // bits of GroupFlag
  // Number that distinguishes the group from every other group, even one of the
  // same name. Set in the result of its construct, in contributions to its end,
  // and in the result of its end.
  uint64_t made = 0;
  uint64_t context_id = 0;  // set in results; 0: not requested
  ProcId leader;            // an empty namespace: none
  // Participants that are not members, because they ended before they took
  // part.
  std::vector<ProcId> missing;
  std::vector<RestartedMember> restarted;
  // Infos that members share (PMIX_GROUP_INFO, PMIX_GROUP_ENDPT_DATA):
  // `num_shared` INFO in codec form, back to back.
  size_t num_shared = 0;
  std::string shared;
  // Only in contributions to a construct: the data that the node's members have
  // committed for other nodes, in the format of ModexWriter.
  std::string committed;

  // Returns whether the group continues without participants that have ended.
  bool tolerant() const {
    return (flags & (kGroupIsOptional | kGroupAdapts | kGroupNotifies)) != 0;
  }
  // Adds the contribution of another node or member.
  void Merge(const GroupRecord& other);
};

template <typename V>
void Describe(V& v, wire::Is<GroupRecord> auto& m) {
  v.Always(1, m.flags);
  v.Field(2, m.context_id);
  v.Field(3, m.leader);
  v.Field(4, m.missing);
  v.Field(5, m.num_shared);
  v.Field(6, m.shared);
  v.Field(7, m.made);
  v.Field(8, m.restarted);
  v.Field(9, m.committed);
}

Bytes EncodeGroupRecord(const GroupRecord& record);
// Decodes a record. Returns no value if the bytes are malformed.
std::optional<GroupRecord> DecodeGroupRecord(const Bytes& bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_
