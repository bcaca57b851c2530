#include "server/core/host/control_records.h"

#include <algorithm>
#include <utility>

#include "common/bytes.h"
#include "common/describe_procs.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

// The value of a record.
struct StoredControl {
  uint64_t number = 0;
  ProcId proc;
  uint64_t request = 0;
};

template <typename V>
void Describe(V& v, wire::Is<StoredControl> auto& m) {
  v.Field(1, m.number);
  v.Field(2, m.proc);
  v.Field(3, m.request);
}

}  // namespace

bool ControlRecords::Contains(const std::string& nspace,
                              const ControlId& id) const {
  const auto job = jobs_.find(nspace);
  return job != jobs_.end() && std::ranges::find(job->second.executed, id) !=
                                   job->second.executed.end();
}

PersistRecord ControlRecords::Add(const std::string& nspace,
                                  const ControlId& id) {
  Ring& ring = jobs_[nspace];
  const uint64_t number = ring.count;
  Put(number, id, &ring);
  const auto slot = static_cast<uint32_t>(number % kControlsKept);
  return {nspace, KeyOf(JournalRecordType::kHostCall, JournalSlot{slot}),
          Bytes(wire::Encode(StoredControl{number, id.proc, id.request}))};
}

void ControlRecords::Recover(const std::string& nspace,
                             const PersistedRecord& record) {
  StoredControl stored;
  if (!IsKeyOf(JournalRecordType::kHostCall, record.key) ||
      !wire::Decode(record.value, &stored) || stored.proc.nspace.empty()) {
    return;
  }
  Put(stored.number, {std::move(stored.proc), stored.request}, &jobs_[nspace]);
}

void ControlRecords::Put(uint64_t number, const ControlId& id, Ring* ring) {
  const size_t place = number % kControlsKept;
  if (ring->executed.size() <= place) ring->executed.resize(place + 1);
  ring->executed[place] = id;
  ring->count = std::max(ring->count, number + 1);
}

}  // namespace canopy::core
