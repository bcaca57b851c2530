// The persisted records of collectives, from which a successor recovers them.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// A collective of a series that has completed at this agent. `connected` is
// valid only in the last record of a list of participants, whatever the
// operation of that record.
struct CollectiveRecord {
  uint64_t sequence = 0;
  int status = 0;
  // the participants are connected, or the group exists
  bool connected = false;
  bool collect = true;  // the collective carried data
  Bytes result = {};    // of a group operation, as in CollectiveDown
  // In the record of a group's construct, the members that have left the group
  // since, ascending; after the group's end, only those of this node. In the
  // record of a destruct, the group's members on this node.
  std::vector<ProcId> left = {};
};

template <typename V>
void Describe(V& v, wire::Is<CollectiveRecord> auto& m) {
  v.Always(1, m.sequence);
  v.Field(2, m.status);
  v.Field(3, m.connected);
  v.Field(4, m.collect);
  v.Field(5, m.result);
  v.Field(6, m.left);
}

// Encodes a record. The latest success of a series replaces the previous one;
// failures have separate records. `series` must have participants; its sequence
// is ignored. `nspace` is the job whose journal holds the record.
PersistRecord EncodeCollective(const std::string& nspace,
                               const CollectiveId& series,
                               const CollectiveRecord& record);
// Decodes a record. Returns no value if the record is of another type or
// malformed.
std::optional<std::pair<CollectiveId, CollectiveRecord>> DecodeCollective(
    const PersistedRecord& record);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_
