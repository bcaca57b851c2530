#include "server/core/collective/collective_records.h"

#include <string_view>
#include <utility>

#include "common/status.h"
#include "common/wire.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

void PutProcs(const std::vector<ProcId>& procs, WireWriter* out) {
  out->Uint(procs.size());
  for (const ProcId& proc : procs) out->Proc(proc);
}

std::vector<ProcId> TakeProcs(WireReader* in) {
  std::vector<ProcId> procs(in->Count(2));
  for (ProcId& proc : procs) proc = in->Proc();
  return procs;
}

// The key identifies the series, which is decoded from it on recovery.
std::string KeyOf(const CollectiveId& series, const CollectiveRecord& record) {
  const bool failed = record.status != kSuccess;
  WireWriter out = BeginKey(JournalRecordType::kCollective);
  out.Uint(static_cast<uint64_t>(series.op));
  PutProcs(series.participants, &out);
  out.Bool(failed);
  if (IsGroupOp(series.op)) out.String(series.name);
  if (failed) out.Uint(record.sequence);
  return out.Take();
}

// An agent of an older release ignores the records of groups.
bool IsRecorded(uint64_t op) {
  return op >= static_cast<uint64_t>(CollectiveOp::kFence) &&
         op <= static_cast<uint64_t>(CollectiveOp::kGroupDestruct);
}

}  // namespace

PersistRecord EncodeCollective(const std::string& nspace,
                               const CollectiveId& series,
                               const CollectiveRecord& record) {
  WireWriter value;
  value.Uint(record.sequence);
  value.Int(record.status);
  value.Bool(record.connected);
  value.Bool(record.collect);
  if (IsGroupOp(series.op)) {
    value.String(record.result.view());
    PutProcs(record.left, &value);
  }
  return {nspace, KeyOf(series, record), Bytes(value.Take())};
}

std::optional<std::pair<CollectiveId, CollectiveRecord>> DecodeCollective(
    const PersistedRecord& record) {
  const auto stored = ParseKey(record.key);
  if (!stored || stored->type != JournalRecordType::kCollective) {
    return std::nullopt;
  }
  CollectiveId id;
  CollectiveRecord out;
  WireReader key(stored->id);
  const uint64_t op = key.Uint();
  id.op = static_cast<CollectiveOp>(op);
  id.participants = TakeProcs(&key);
  if (IsGroupOp(id.op)) {
    key.Bool();
    id.name = key.String();
  }
  WireReader value(record.value.view());
  out.sequence = value.Uint();
  out.status = static_cast<int>(value.Int());
  out.connected = value.Bool();
  // Older agents omit the flag, and regenerated the data in any case.
  out.collect = value.rest().empty() || value.Bool();
  if (IsGroupOp(id.op)) {
    out.result = Bytes(std::string(value.String()));
    out.left = TakeProcs(&value);
  }
  if (!key.ok() || !value.ok() || !IsRecorded(op) || id.participants.empty()) {
    return std::nullopt;
  }
  return std::pair(std::move(id), out);
}

}  // namespace canopy::core
