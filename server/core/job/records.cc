#include "server/core/job/records.h"

#include <utility>

#include "common/wire.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

NodeId RecoveredController(const std::vector<PersistedRecord>& records) {
  for (const PersistedRecord& record : records) {
    const auto key = ParseKey(record.key);
    if (!key || key->type != JournalRecordType::kController) continue;
    WireReader in(record.value.view());
    const NodeId node = in.Uint32();
    if (in.done()) return node;
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
    record.timeout = now + in.job->timeout_seconds * kSecond;
  }
  return record;
}

}  // namespace

std::string EncodeHeadRecord(const HeadRecord& record) {
  WireWriter out;
  out.Bool(record.started);
  out.Bool(record.ending);
  out.Uint(record.kill_requests);
  out.Int(record.since);
  out.Int(record.timeout);
  out.Bool(record.out_of_time);
  out.Bool(record.failure.has_value());
  if (record.failure) {
    out.Int(record.failure->exit_code);
    out.Int(record.failure->status);
    out.Uint(record.failure->rank);
    out.String(record.failure->text);
  }
  out.Uint(record.expected.size());
  for (const Rank rank : record.expected) out.Uint(rank);
  out.Uint(record.lost.size());
  for (const NodeId node : record.lost) out.Uint(node);
  const bool has_limit = record.limits != 0;
  if (record.port != 0 || has_limit) out.Uint(record.port);
  if (has_limit) {
    out.Uint(record.limits);
    out.Int(record.warn_at);
  }
  return out.Take();
}

std::optional<HeadRecord> DecodeHeadRecord(std::string_view bytes) {
  WireReader in(bytes);
  HeadRecord record;
  record.started = in.Bool();
  record.ending = in.Bool();
  record.kill_requests = in.Uint32();
  record.since = in.Int();
  record.timeout = in.Int();
  record.out_of_time = in.Bool();
  if (in.Bool()) {
    JobFailure& failure = record.failure.emplace();
    failure.exit_code = static_cast<int>(in.Int());
    failure.status = static_cast<int>(in.Int());
    failure.rank = in.Uint32();
    failure.text = in.String();
  }
  record.expected.resize(in.Count());
  for (Rank& rank : record.expected) rank = in.Uint32();
  record.lost.resize(in.Count());
  for (NodeId& node : record.lost) node = in.Uint32();
  if (!in.done()) record.port = static_cast<uint16_t>(in.Uint32());
  if (in.ok() && !in.done()) {
    record.limits = in.Uint32();
    record.warn_at = in.Int();
  }
  if (!in.done()) return std::nullopt;
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
  WireWriter value;
  value.Uint(controller);
  return {nspace, BeginKey(JournalRecordType::kController).Take(),
          Bytes(value.Take())};
}

PersistRecord KilledRecord(const std::string& nspace,
                           const std::set<Rank>& killed) {
  WireWriter value;
  value.Uint(killed.size());
  for (const Rank rank : killed) value.Uint(rank);
  return {nspace, BeginKey(JournalRecordType::kKilled).Take(),
          Bytes(value.Take())};
}

std::set<Rank> RecoverKilled(const std::vector<PersistedRecord>& records) {
  std::set<Rank> killed;
  for (const PersistedRecord& record : records) {
    const auto key = ParseKey(record.key);
    if (!key || key->type != JournalRecordType::kKilled) continue;
    WireReader in(record.value.view());
    for (size_t left = in.Count(); left > 0; --left) killed.insert(in.Uint32());
    if (!in.done()) return {};
  }
  return killed;
}

PersistRecord InputRunRecord(const std::string& nspace,
                             const InputOrder::Run& run) {
  WireWriter value;
  value.Uint(run.id);
  value.Uint(run.begin);
  return {nspace, BeginKey(JournalRecordType::kInputRun).Take(),
          Bytes(value.Take())};
}

InputOrder::Run RecoverInputRun(const std::vector<PersistedRecord>& records) {
  InputOrder::Run last;
  for (const PersistedRecord& record : records) {
    const auto key = ParseKey(record.key);
    if (!key || key->type != JournalRecordType::kInputRun) continue;
    WireReader in(record.value.view());
    const uint64_t id = in.Uint();
    const uint64_t begin = in.Uint();
    if (in.done() && id > last.id) last = {id, begin};
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
