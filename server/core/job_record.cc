#include "server/core/job_record.h"

#include "common/wire.h"

namespace canopy::core {

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
  if (!in.done()) return std::nullopt;
  return record;
}

}  // namespace canopy::core
