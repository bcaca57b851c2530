#include "server/openpmix/queries.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

class Answerer {
 public:
  Answerer(const ProcId& caller, const std::vector<KnownJob>& jobs)
      : caller_(caller), jobs_(jobs) {}

  std::optional<Value> Answer(const std::string& key,
                              const InfoList& qualifiers) const {
    if (key == PMIX_QUERY_NAMESPACES) return Namespaces();
    const KnownJob* job = JobOf(qualifiers);
    if (job == nullptr) return std::nullopt;
    if (key == PMIX_QUERY_PROC_TABLE) return Table(*job, false);
    if (key == PMIX_QUERY_LOCAL_PROC_TABLE) return Table(*job, true);
    return JobKey(*job, key);
  }

 private:
  Value Namespaces() const {
    std::string list;
    for (const KnownJob& job : jobs_) {
      if (!list.empty()) list += ',';
      list += job.spec->nspace;
    }
    return Value::String(list);
  }

  const KnownJob* JobOf(const InfoList& qualifiers) const {
    const std::string nspace =
        qualifiers.FindString(PMIX_NSPACE).value_or(caller_.nspace);
    const auto it = std::ranges::find_if(
        jobs_, [&](const KnownJob& job) { return job.spec->nspace == nspace; });
    return it == jobs_.end() ? nullptr : &*it;
  }

  static const LocalProcess* FindLocal(const KnownJob& job, Rank rank) {
    const auto it =
        std::ranges::lower_bound(job.local, rank, {}, &LocalProcess::rank);
    return it == job.local.end() || it->rank != rank ? nullptr : &*it;
  }

  // Processes of other nodes have no number and no state here.
  static void PutProcess(const KnownJob& job, Rank rank,
                         const LocalProcess* local, Encoder* out) {
    const ProcPlacement& placement = job.spec->procs[rank];
    const int pid = local == nullptr ? 0 : local->pid;
    uint8_t state = PMIX_PROC_STATE_UNDEF;
    if (local != nullptr) {
      state = PMIX_PROC_STATE_PREPPED;
      if (pid != 0) {
        const bool gone = kill(pid, 0) != 0 && errno == ESRCH;
        state = gone ? PMIX_PROC_STATE_TERMINATED : PMIX_PROC_STATE_RUNNING;
      }
    }
    out->PutProc(ProcId{job.spec->nspace, rank});
    out->PutString(job.spec->nodes[placement.node].name);
    out->PutString(job.spec->apps[placement.app].cmd);
    out->PutPid(pid);
    out->PutByte(state);
  }

  static std::optional<Value> Table(const KnownJob& job, bool local_only) {
    Encoder rows;
    size_t count = 0;
    for (Rank rank = 0; rank < job.spec->procs.size(); ++rank) {
      const LocalProcess* local = FindLocal(job, rank);
      if (local_only && local == nullptr) continue;
      PutProcess(job, rank, local, &rows);
      ++count;
    }
    Encoder table;
    table.PutUint16(PMIX_DATA_ARRAY);
    table.PutUint16(PMIX_PROC_INFO);
    table.PutSize(count);
    table.PutRaw(rows.Take());
    return Decoded(table.Take());
  }

  static std::optional<Value> JobKey(const KnownJob& job,
                                     const std::string& key) {
    if (job.data == nullptr) return std::nullopt;
    auto encoded = job.data->FindJob(key);
    if (!encoded) encoded = job.data->FindSession(key);
    if (!encoded) return std::nullopt;
    return Decoded(*encoded);
  }

  static std::optional<Value> Decoded(std::string_view encoded) {
    Result<Value> value = DecodeValue(encoded);
    if (!value.ok()) return std::nullopt;
    return *std::move(value);
  }

  const ProcId& caller_;
  const std::vector<KnownJob>& jobs_;
};

}  // namespace

bool IsNamed(const JobNode& node, std::string_view name) {
  return node.name == name ||
         std::ranges::find(node.aliases, name) != node.aliases.end();
}

std::string NodeNames(const std::vector<const JobSpec*>& jobs) {
  std::unordered_set<std::string_view> seen;
  std::string list;
  for (const JobSpec* job : jobs) {
    for (const JobNode& node : job->nodes) {
      if (!seen.insert(node.name).second) continue;
      if (!list.empty()) list += ',';
      list += node.name;
    }
  }
  return list;
}

int AnswerQueries(const std::vector<OneQuery>& queries, const ProcId& caller,
                  const std::vector<KnownJob>& jobs, InfoList* results) {
  const Answerer answerer(caller, jobs);
  size_t asked = 0;
  for (const OneQuery& query : queries) {
    for (const std::string& key : query.keys) {
      ++asked;
      if (auto value = answerer.Answer(key, query.qualifiers)) {
        results->Add(key, *std::move(value));
      }
    }
  }
  if (results->empty()) return kErrNotFound;
  return results->size() == asked ? kSuccess : kErrPartialSuccess;
}

}  // namespace canopy::openpmix
