// The construct and the destruct of a process group as operations: collectives
// with a result, which the top computes from the directives and the data of the
// members (PMIx Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_GROUP_OPERATIONS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_GROUP_OPERATIONS_H_

#include <cstdint>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/operation.h"
#include "server/core/collective/series.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// The base of both operations on groups.
class GroupOperation : public Operation {
 public:
  using Operation::Operation;

  bool has_result() const override { return true; }
  void OnContribution(const Bytes& data, Instance* instance) const override;
  void FillRelease(const CompletedCollective& completed, NodeId to,
                   CollectiveDown* down) const override;
  void FillRecovered(const Series& series, uint64_t sequence,
                     CollectiveDown* down) const override;
  bool IsInEffect(const CollectiveId& id) const override;
};

class GroupConstruct final : public GroupOperation {
 public:
  using GroupOperation::GroupOperation;

  // Sets whether records for a successor of this agent are emitted.
  void set_persists(bool persists) { persists_ = persists; }

  Bytes OwnContribution(const Series& series,
                        Instance* instance) const override;
  void MakeResult(TimeNs now, const Series& series,
                  Instance* instance) override;
  void StoreData(const StepContext& step,
                 const CompletedCollective& completed) const override;
  void OnCompleted(const StepContext& step, Series& series, uint64_t sequence,
                   const Instance& instance,
                   CompletedCollective* completed) override;
  void OnFailed(const StepContext& step, const Series& series,
                const Instance& instance,
                const CompletedCollective& completed) const override;

  // Persists, for a successor, which members have left the group.
  void PersistLeft(const StepContext& step, const Group& group) const;
  // Called when the group has ended: drops the results of its construct, at
  // this agent and in the journals. `group` is null if no member was on this
  // node.
  void Forget(const StepContext& step, const Series& destruct,
              const Group* group) const;

 private:
  void Announce(const StepContext& step, const Series& series,
                const Group& group) const;

  bool persists_ = false;
  // number of the last group that was made by this agent
  uint64_t last_made_ = 0;
};

class GroupDestruct final : public GroupOperation {
 public:
  // `construct` outlives this object.
  GroupDestruct(const CollectiveParts& parts, const GroupConstruct& construct)
      : GroupOperation(parts), construct_(construct) {}

  bool asks_agents_of_gone_members() const override { return true; }
  void OnBegin(Series& series, uint64_t sequence,
               Instance* instance) const override;
  Bytes OwnContribution(const Series& series,
                        Instance* instance) const override;
  void MakeResult(TimeNs now, const Series& series,
                  Instance* instance) override;
  void StoreData(const StepContext& /*step*/,
                 const CompletedCollective& /*completed*/) const override {}
  void OnCompleted(const StepContext& step, Series& series, uint64_t sequence,
                   const Instance& instance,
                   CompletedCollective* completed) override;

 private:
  const GroupConstruct& construct_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_GROUP_OPERATIONS_H_
