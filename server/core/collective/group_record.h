// What agents tell each other about a process group: a node's contribution to
// its construction or end, and the result, which the top of the collective's
// tree makes of all contributions.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// What a member asked for by its directives. They hold for the group as soon as
// one member has asked. The numbers are part of the overlay's protocol.
enum GroupFlag : uint32_t {
  kGroupAssignsContextId = 1,  // PMIX_GROUP_ASSIGN_CONTEXT_ID
  kGroupIsOptional = 2,        // PMIX_GROUP_OPTIONAL
  kGroupAdapts = 4,            // PMIX_GROUP_FT_COLLECTIVE
  kGroupNotifies = 8,          // PMIX_GROUP_NOTIFY_TERMINATION
};

struct GroupRecord {
  uint32_t flags = 0;  // of GroupFlag
  // Tells the group from any other, also of the same name: of the result of its
  // construct, and of contributions to its end and the result of that.
  uint64_t made = 0;
  uint64_t context_id = 0;  // of results; 0: none was asked for
  ProcId leader;            // an empty namespace: none
  // Participants that are no members: they ended before they took part.
  std::vector<ProcId> missing;
  // Members that are not the first processes of their ranks, and how many came
  // before each.
  std::vector<std::pair<ProcId, uint32_t>> restarted;
  // What members share (PMIX_GROUP_INFO, PMIX_GROUP_ENDPT_DATA): so many INFO
  // in codec form, back to back.
  size_t num_shared = 0;
  std::string shared;

  // Goes on without participants that have ended.
  bool tolerant() const {
    return (flags & (kGroupIsOptional | kGroupAdapts | kGroupNotifies)) != 0;
  }
  // Adds what another node, or another member, brings.
  void Merge(const GroupRecord& other);
};

Bytes EncodeGroupRecord(const GroupRecord& record);
// Nothing when it is malformed.
std::optional<GroupRecord> DecodeGroupRecord(const Bytes& bytes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_RECORD_H_
