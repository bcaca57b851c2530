#include "server/core/job/records.h"

#include <utility>

#include "common/time_units.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

struct StoredController {
  NodeId node = kNoNode;
};

template <typename V>
void Describe(V& v, wire::Is<StoredController> auto& m) {
  v.Always(1, m.node);
}

struct StoredKills {
  std::vector<Rank> ranks;
};

template <typename V>
void Describe(V& v, wire::Is<StoredKills> auto& m) {
  v.Field(1, m.ranks);
}

struct StoredInputRun {
  uint64_t id = 0;
  uint64_t begin = 0;
};

template <typename V>
void Describe(V& v, wire::Is<StoredInputRun> auto& m) {
  v.Field(1, m.id);
  v.Field(2, m.begin);
}

NodeId RecoveredController(const std::vector<PersistedRecord>& records) {
  for (const PersistedRecord& record : records) {
    StoredController stored;
    if (IsKeyOf(JournalRecordType::kController, record.key) &&
        wire::Decode(record.value, &stored)) {
      return stored.node;
    }
  }
  return kNoNode;
}

std::optional<HeadRecord> RecordOf(TimeNs now, const JobRecovered& in) {
  if (!in.control) return std::nullopt;
  if (!in.control->empty()) return DecodeHeadRecord(in.control->view());
  // The record is empty because the launch had not begun.
  HeadRecord record;
  record.since = now;
  if (in.job->timeout_seconds > 0) {
    record.timeout = now + in.job->timeout_seconds * kNsPerSecond;
  }
  return record;
}

}  // namespace

std::string EncodeHeadRecord(const HeadRecord& record) {
  return wire::Encode(record);
}

std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes) {
  HeadRecord record;
  if (bytes.empty() || !wire::Decode(bytes, &record)) return std::nullopt;
  return record;
}

void HeadPersistence::Persist(const JobStep& step, const std::string& nspace,
                              const HeadRecord& record) {
  if (!enabled_) return;
  std::string encoded = EncodeHeadRecord(record);
  if (encoded == last_) return;
  last_ = std::move(encoded);
  step.out.push_back(PersistControlState{nspace, Bytes(last_)});
}

PersistRecord ControllerRecord(const std::string& nspace, NodeId controller) {
  return {nspace, KeyOf(JournalRecordType::kController),
          Bytes(wire::Encode(StoredController{controller}))};
}

PersistRecord KilledRecord(const std::string& nspace,
                           const std::set<Rank>& killed) {
  return {nspace, KeyOf(JournalRecordType::kKilled),
          Bytes(wire::Encode(StoredKills{{killed.begin(), killed.end()}}))};
}

std::set<Rank> RecoverKilled(const std::vector<PersistedRecord>& records) {
  std::set<Rank> killed;
  for (const PersistedRecord& record : records) {
    if (!IsKeyOf(JournalRecordType::kKilled, record.key)) continue;
    StoredKills stored;
    if (!wire::Decode(record.value, &stored)) return {};
    killed.insert(stored.ranks.begin(), stored.ranks.end());
  }
  return killed;
}

PersistRecord InputRunRecord(const std::string& nspace,
                             const InputOrder::Run& run) {
  return {nspace, KeyOf(JournalRecordType::kInputRun),
          Bytes(wire::Encode(StoredInputRun{run.id, run.begin}))};
}

InputOrder::Run RecoverInputRun(const std::vector<PersistedRecord>& records) {
  InputOrder::Run last;
  for (const PersistedRecord& record : records) {
    StoredInputRun stored;
    if (IsKeyOf(JournalRecordType::kInputRun, record.key) &&
        wire::Decode(record.value, &stored) && stored.id > last.id) {
      last = {stored.id, stored.begin};
    }
  }
  return last;
}

RecoveredRole ReadRole(TimeNs now, const JobRecovered& in, NodeId self,
                       NodeId root, uint32_t num_nodes) {
  RecoveredRole role{RecoveredController(in.records), RecordOf(now, in)};
  if (in.control) role.controller = self;
  if (role.controller >= num_nodes) role.controller = root;
  return role;
}

}  // namespace canopy::core
