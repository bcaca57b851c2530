// The records of a job that an agent persists for a successor. The other agents
// resend all other state during resynchronisation.
#ifndef CANOPY_SERVER_CORE_JOB_RECORDS_H_
#define CANOPY_SERVER_CORE_JOB_RECORDS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/describe.h"
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
  bool ending = false;   // the kill may have been sent
  uint32_t kill_requests = 0;
  TimeNs since = 0;  // as in JobHead
  TimeNs timeout = kNever;
  bool out_of_time = false;
  std::optional<JobFailure> failure;
  std::vector<Rank> expected;  // ranks whose end was requested
  std::vector<NodeId> lost;    // agents lost with their ranks
  uint16_t port = 0;           // as in JobPrepared; set with the start
  uint32_t limits = 0;         // time limits that were set after the launch
  TimeNs warn_at = kNever;     // when to warn of the last of these limits
};

template <typename V>
void Describe(V& v, wire::Is<JobFailure> auto& m) {
  v.Field(1, m.exit_code);
  v.Field(2, m.status);
  v.Field(3, m.rank);
  v.Field(4, m.text);
}

template <typename V>
void Describe(V& v, wire::Is<HeadRecord> auto& m) {
  v.Always(1, m.started);
  v.Field(2, m.ending);
  v.Field(3, m.kill_requests);
  v.Field(4, m.since);
  v.Field(5, m.timeout);
  v.Field(6, m.out_of_time);
  v.Field(7, m.failure);
  v.Field(8, m.expected);
  v.Field(9, m.lost);
  v.Field(10, m.port);
  v.Field(11, m.limits);
  v.Field(12, m.warn_at);
}

std::string EncodeHeadRecord(const HeadRecord& record);
// Decodes a record. Returns no value if the bytes are malformed.
std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes);

// Persists the head's state before the effects that depend on it.
class HeadPersistence {
 public:
  // Persist does nothing unless `enabled`.
  explicit HeadPersistence(bool enabled) : enabled_(enabled) {}

  bool enabled() const { return enabled_; }
  // Emits PersistControlState when the record differs from the last one.
  void Persist(const JobStep& step, const std::string& nspace,
               const HeadRecord& record);

 private:
  const bool enabled_;
  std::string last_;
};

// Returns the record of the job's controller, which is stored beside the
// records of the job's ranks.
PersistRecord ControllerRecord(const std::string& nspace, NodeId controller);

// Returns the record of local ranks that were ordered to end and must not be
// restarted.
PersistRecord KilledRecord(const std::string& nspace,
                           const std::set<Rank>& killed);
std::set<Rank> RecoverKilled(const std::vector<PersistedRecord>& records);

// Returns the record of the position at which an input run begins in the input
// of a node's ranks.
PersistRecord InputRunRecord(const std::string& nspace,
                             const InputOrder::Run& run);
InputOrder::Run RecoverInputRun(const std::vector<PersistedRecord>& records);

// The role of this agent in a job that it recovers.
struct RecoveredRole {
  NodeId controller = kNoNode;
  std::optional<HeadRecord> head;  // this agent's record, if it can be read
  // Returns false if this agent controlled the job and its record cannot be
  // read.
  bool Usable(NodeId self) const { return controller != self || head; }
};
// Returns the role of a successor in the job `in`, which must not be over.
// `self` is the successor's node; `root` and `num_nodes` come from its tree.
// The root controls a job whose records name no other controller.
RecoveredRole ReadRole(TimeNs now, const JobRecovered& in, NodeId self,
                       NodeId root, uint32_t num_nodes);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_RECORDS_H_
