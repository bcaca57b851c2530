// The lists of participants that are connected: after PMIx_Connect and before
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

// Lists are canonical (collective_plan.h). Used by one thread.
class Connections {
 public:
  // Records that a collective of the operation has completed. Only connects and
  // disconnects have an effect.
  void OnCompleted(CollectiveOp op, const std::vector<ProcId>& participants,
                   int status);
  // Restores a predecessor's record, which states whether the participants are
  // connected.
  void Recover(const std::vector<ProcId>& participants, bool connected);
  void DropJob(const std::string& nspace);

  bool Contains(const std::vector<ProcId>& participants) const {
    return lists_.contains(participants);
  }
  // Returns the lists over several namespaces that contain the process.
  std::vector<std::vector<ProcId>> Of(const ProcId& proc) const;
  size_t size() const { return lists_.size(); }

 private:
  std::set<std::vector<ProcId>> lists_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_CONNECTIONS_H_
