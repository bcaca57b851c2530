// Which lists of participants are connected: after PMIx_Connect, before
// PMIx_Disconnect.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_CONNECTIONS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_CONNECTIONS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

// Lists are canonical (collective_plan.h). One thread.
class Connections {
 public:
  // A collective of the operation has completed; only connects and disconnects
  // have an effect.
  void OnCompleted(CollectiveOp op, const std::vector<ProcId>& participants,
                   int status);
  // What a predecessor knew.
  void Recover(const std::vector<ProcId>& participants, bool connected);
  void DropJob(const std::string& nspace);

  bool Contains(const std::vector<ProcId>& participants) const {
    return lists_.contains(participants);
  }
  // Lists over several namespaces with the process in them.
  std::vector<std::vector<ProcId>> Of(const ProcId& proc) const;
  size_t size() const { return lists_.size(); }

 private:
  std::set<std::vector<ProcId>> lists_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_CONNECTIONS_H_
