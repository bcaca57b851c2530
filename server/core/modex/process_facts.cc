#include "server/core/modex/process_facts.h"

#include "common/codec/encoder.h"
#include "common/process_keys.h"
#include "common/status.h"

namespace canopy::core {
namespace {

const LocalProcess* Find(const Job& job, Rank rank) {
  const auto it = job.processes.find(rank);
  return it == job.processes.end() ? nullptr : &it->second;
}

Bytes Kval(std::string_view key, pmix_data_type_t type, int number) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(type);
  if (type == PMIX_PID) {
    encoder.PutPid(number);
  } else {
    encoder.PutInt(number);
  }
  return Bytes(encoder.Take());
}

}  // namespace

std::optional<int> DecideFact(const Job& job, Rank rank, std::string_view key) {
  const LocalProcess* process = Find(job, rank);
  if (key == kExitCodeKey) {
    const bool ended = process != nullptr && process->exit_code.has_value();
    return ended ? kSuccess : kErrNotFound;
  }
  if (process != nullptr && process->pid != 0) return kSuccess;
  if (job.ranks[rank].ended) return kErrNotFound;
  return std::nullopt;
}

Bytes FactOf(const Job& job, Rank rank, std::string_view key) {
  if (DecideFact(job, rank, key) != kSuccess) return {};
  const LocalProcess& process = *Find(job, rank);
  return key == kPidKey ? Kval(key, PMIX_PID, process.pid)
                        : Kval(key, PMIX_INT, *process.exit_code);
}

}  // namespace canopy::core
