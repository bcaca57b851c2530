// What a successor must know of collectives, as persisted records.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// One collective of a series that has completed here. The last record of a list
// of participants, of any kind, has the valid `connected`.
struct CollectiveRecord {
  uint64_t sequence = 0;
  int status = 0;
  bool connected = false;  // its participants, afterwards; or the group exists
  bool collect = true;     // it carried data
  Bytes result = {};       // of a group's operation, as in CollectiveDown
  // Of a group's construction: members that have left since, ascending. Once
  // the group has ended, those of this node. Of its end: its members here.
  std::vector<ProcId> left = {};
};

// The latest success of a series replaces the one before; failures have records
// of their own. Of `series`, which has participants, the sequence does not
// matter. `nspace` is the job whose journal holds the record.
PersistRecord EncodeCollective(const std::string& nspace,
                               const CollectiveId& series,
                               const CollectiveRecord& record);
// Nothing when it is another kind of record, or malformed.
std::optional<std::pair<CollectiveId, CollectiveRecord>> DecodeCollective(
    const PersistedRecord& record);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_RECORDS_H_
