// What an agent persists of a job for a successor. The other agents resend the
// rest during resynchronisation.
#ifndef CANOPY_SERVER_CORE_JOB_RECORDS_H_
#define CANOPY_SERVER_CORE_JOB_RECORDS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "server/core/job/progress.h"
#include "server/core/job/step.h"
#include "server/core/job/stream_flow.h"
#include "server/core/step/clock.h"
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// State of the job head.
struct HeadRecord {
  bool started = false;  // the start may have been sent
  bool ending = false;   // and the kill
  uint32_t kill_requests = 0;
  TimeNs since = 0;  // as in JobHead
  TimeNs timeout = kNever;
  bool out_of_time = false;
  std::optional<JobFailure> failure;
  std::vector<Rank> expected;  // whose end was requested
  std::vector<NodeId> lost;    // with their ranks
  uint16_t port = 0;           // as in JobPrepared, once all are prepared
  uint32_t limits = 0;         // time limits that were set after the launch
  TimeNs warn_at = kNever;     // of the last of them
};

std::string EncodeHeadRecord(const HeadRecord& record);
// Nothing for what EncodeHeadRecord does not write.
std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes);

// Persists the head's state before the effects that depend on it.
class HeadPersistence {
 public:
  // Without `enabled`, Persist has no effect.
  explicit HeadPersistence(bool enabled) : enabled_(enabled) {}

  bool enabled() const { return enabled_; }
  // Emits PersistControlState when the record differs from the last one.
  void Persist(const JobStep& step, const std::string& nspace,
               const HeadRecord& record);

 private:
  const bool enabled_;
  std::string last_;
};

// The record of who controls a job, beside those of its ranks.
PersistRecord ControllerRecord(const std::string& nspace, NodeId controller);

// The record of local ranks that were told to end: a process that follows is
// not to be.
PersistRecord KilledRecord(const std::string& nspace,
                           const std::set<Rank>& killed);
std::set<Rank> RecoverKilled(const std::vector<PersistedRecord>& records);

// The record of where the input of a run begins at the ranks of a node.
PersistRecord InputRunRecord(const std::string& nspace,
                             const InputOrder::Run& run);
InputOrder::Run RecoverInputRun(const std::vector<PersistedRecord>& records);

// Who this agent is to a job that it recovers.
struct RecoveredRole {
  NodeId controller = kNoNode;
  std::optional<HeadRecord> head;  // this agent's, if it can be read
  // False: this agent controlled the job, and its record cannot be read.
  bool Usable(NodeId self) const { return controller != self || head; }
};
// `in` is not over. `self` is the successor's node, `root` and `num_nodes` are
// of its tree: the root controls a job whose records do not name another.
RecoveredRole ReadRole(TimeNs now, const JobRecovered& in, NodeId self,
                       NodeId root, uint32_t num_nodes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RECORDS_H_
