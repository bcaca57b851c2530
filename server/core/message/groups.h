// Messages between agents about groups that are made by invitation. Plain
// values, see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_GROUPS_H_
#define CANOPY_SERVER_CORE_MESSAGE_GROUPS_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// PMIx_Group_join, from the agent of who joins to that of who has invited it,
// which answers with GroupFormed.
struct GroupJoin {
  std::string name;
  ProcId inviter;
  ProcId proc;               // who joins
  uint64_t request = 0;      // its own number
  uint32_t incarnation = 0;  // how many processes it had before
  bool accepts = false;
  Bytes info;  // its directives, codec form: SIZE n, then n INFO
};

// What became of an invitation: from the inviter's agent to those of the
// invited.
struct GroupFormed {
  std::string name;
  ProcId inviter;
  uint64_t request = 0;  // the inviter's own number
  int status = 0;
  Bytes record;  // a GroupRecord (collective/group_record.h)
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_GROUPS_H_
