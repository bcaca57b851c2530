#include "server/core/host/control_records.h"

#include <algorithm>

#include "common/bytes.h"
#include "common/wire.h"
#include "server/core/journal_key.h"

namespace canopy::core {

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
  WireWriter key = BeginKey(JournalRecordType::kHostCall);
  key.Uint(number % kControlsKept);
  WireWriter value;
  value.Uint(number);
  value.Proc(id.proc);
  value.Uint(id.request);
  return {nspace, key.Take(), Bytes(value.Take())};
}

void ControlRecords::Recover(const std::string& nspace,
                             const PersistedRecord& record) {
  const auto key = ParseKey(record.key);
  if (!key || key->type != JournalRecordType::kHostCall) return;
  WireReader in(record.value.view());
  const uint64_t number = in.Uint();
  ControlId id;
  id.proc = in.Proc();
  id.request = in.Uint();
  if (in.done()) Put(number, id, &jobs_[nspace]);
}

void ControlRecords::Put(uint64_t number, const ControlId& id, Ring* ring) {
  const size_t place = number % kControlsKept;
  if (ring->executed.size() <= place) ring->executed.resize(place + 1);
  ring->executed[place] = id;
  ring->count = std::max(ring->count, number + 1);
}

}  // namespace canopy::core
