// The directives of PMIx_Group_construct and PMIx_Group_destruct.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_DIRECTIVES_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_DIRECTIVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/group_record.h"
#include "server/core/messages.h"

namespace canopy::core {

// Maximum number of bytes that one member may share with its group; a larger
// amount is refused.
inline constexpr size_t kMaxSharedBytes = 1 << 20;
// Maximum number of bytes shared by all members together. The agent of every
// member receives these bytes, and keeps them while another agent may need
// them. A construct with more fails with kErrOutOfResource.
inline constexpr size_t kMaxSharedOfGroup = 16 << 20;

struct GroupDirectives {
  GroupRecord record;  // without the leader
  bool leads = false;  // PMIX_GROUP_LEADER
  bool local_only = false;
  bool keeps_data = false;           // PMIX_COLLECT_DATA with false
  std::vector<std::string> ignored;  // optional directives without effect
};

// Reads the directives that `member` has given to a call of `op`, which is
// kGroupConstruct or kGroupDestruct. `info` is SIZE n and n INFO in codec form,
// or empty. A destruct honours only PMIX_TIMEOUT and PMIX_GROUP_ID; other
// directives count as unknown. Data that the member shares is marked with its
// name (group_shared.h). Returns kErrNotSupported for a directive that is not
// honoured but is required, or that changes the meaning of the call;
// kErrOutOfResource for more shared data than kMaxSharedBytes; kErrBadParam for
// malformed directives.
int ParseGroupDirectives(const Bytes& info, const ProcId& member,
                         CollectiveOp op, GroupDirectives* out);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_DIRECTIVES_H_
