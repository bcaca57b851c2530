#include "server/core/collective/collective_records.h"

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

// Identifies the series of a record, in the record's key. A successor decodes
// it from there.
struct SeriesKey {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;
  std::string name;
  // The sequence of a failed collective, which has a record of its own. No
  // value in the record of a success.
  std::optional<uint64_t> failure;
};

template <typename V>
void Describe(V& v, wire::Is<SeriesKey> auto& m) {
  v.Choice(1, m.op, CollectiveOp::kGroupDestruct);
  v.Field(2, m.participants);
  v.Bounded(3, m.name, kMaxNspaceLen);
  v.Field(4, m.failure);
}

SeriesKey KeyFor(const CollectiveId& series, const CollectiveRecord& record) {
  SeriesKey key{series.op, series.participants, series.name, {}};
  if (record.status != kSuccess) key.failure = record.sequence;
  return key;
}

}  // namespace

PersistRecord EncodeCollective(const std::string& nspace,
                               const CollectiveId& series,
                               const CollectiveRecord& record) {
  return {nspace, KeyOf(JournalRecordType::kCollective, KeyFor(series, record)),
          Bytes(wire::Encode(record))};
}

std::optional<std::pair<CollectiveId, CollectiveRecord>> DecodeCollective(
    const PersistedRecord& record) {
  SeriesKey key;
  CollectiveRecord out;
  if (!ReadKey(JournalRecordType::kCollective, record.key, &key) ||
      key.op < CollectiveOp::kFence || key.participants.empty() ||
      record.value.empty() || !wire::Decode(record.value, &out)) {
    return std::nullopt;
  }
  CollectiveId id;
  id.op = key.op;
  id.participants = std::move(key.participants);
  id.name = std::move(key.name);
  return std::pair(std::move(id), std::move(out));
}

}  // namespace canopy::core
