#include "server/core/collective/group_record.h"

namespace canopy::core {

void GroupRecord::Merge(const GroupRecord& other) {
  flags |= other.flags;
  if (leader.nspace.empty()) leader = other.leader;
  missing.insert(missing.end(), other.missing.begin(), other.missing.end());
  restarted.insert(restarted.end(), other.restarted.begin(),
                   other.restarted.end());
  num_shared += other.num_shared;
  shared += other.shared;
}

Bytes EncodeGroupRecord(const GroupRecord& record) {
  return Bytes(wire::Encode(record));
}

std::optional<GroupRecord> DecodeGroupRecord(const Bytes& bytes) {
  GroupRecord record;
  // Each shared INFO takes more than a byte.
  if (bytes.empty() || !wire::Decode(bytes, &record) ||
      record.num_shared > record.shared.size()) {
    return std::nullopt;
  }
  return record;
}

}  // namespace canopy::core
