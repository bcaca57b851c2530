#include "server/core/collective/group_record.h"

#include "common/wire.h"

namespace canopy::core {

void GroupRecord::Merge(const GroupRecord& other) {
  flags |= other.flags;
  if (leader.nspace.empty()) leader = other.leader;
  missing.insert(missing.end(), other.missing.begin(), other.missing.end());
  restarted.insert(restarted.end(), other.restarted.begin(),
                   other.restarted.end());
  num_shared += other.num_shared;
  shared += other.shared;
}

Bytes EncodeGroupRecord(const GroupRecord& record) {
  WireWriter out;
  out.Uint(record.flags);
  out.Uint(record.context_id);
  out.Proc(record.leader);
  out.Uint(record.missing.size());
  for (const ProcId& proc : record.missing) out.Proc(proc);
  out.Uint(record.num_shared);
  out.String(record.shared);
  out.Uint(record.made);
  out.Uint(record.restarted.size());
  for (const auto& [proc, number] : record.restarted) {
    out.Proc(proc);
    out.Uint(number);
  }
  out.String(record.committed);
  return Bytes(out.Take());
}

std::optional<GroupRecord> DecodeGroupRecord(const Bytes& bytes) {
  WireReader in(bytes.view());
  GroupRecord record;
  record.flags = in.Uint32();
  record.context_id = in.Uint();
  record.leader = in.Proc();
  record.missing.resize(in.Count(2));
  for (ProcId& proc : record.missing) proc = in.Proc();
  record.num_shared = in.Uint();
  record.shared = in.String();
  record.made = in.Uint();
  record.restarted.resize(in.Count(3));
  for (auto& [proc, number] : record.restarted) {
    proc = in.Proc();
    number = in.Uint32();
  }
  record.committed = in.String();
  // An INFO takes more than a byte.
  if (!in.ok() || record.num_shared > record.shared.size()) return std::nullopt;
  return record;
}

}  // namespace canopy::core
