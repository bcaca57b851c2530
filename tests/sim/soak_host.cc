// Calls of processes to the host and to all agents: signals for other
// processes, and tables of processes.
#include <algorithm>
#include <string>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/query/query_testing.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr char kControl[] = "control";
constexpr char kTable[] = "table";
constexpr char kNamespaces[] = "namespaces";
// No other signal is sent with one of these numbers.
constexpr int kFirstSignal = 20;
constexpr int kLastSignal = 63;

Bytes SignalCall(int number) {
  Encoder out;
  out.PutSize(1);
  out.PutString(PMIX_JOB_CTRL_SIGNAL);
  out.PutUint32(0);
  out.PutUint16(PMIX_INT);
  out.PutInt(number);
  return Bytes(out.Take());
}

}  // namespace

// --------------------------------------------------------------- signals ---

void Soak::BeginControl(const ProcId& proc, Actor& actor, const Op& op) {
  if (kFirstSignal + next_signal_ > kLastSignal) return;
  actor.signal = kFirstSignal + next_signal_++;
  actor.targets = op.some;
  actor.operation = kControl;
  for (const ProcId& target : EachOf(op.some)) {
    signalled_[actor.signal].insert(target);
  }
  actor.waiting =
      cluster_.clients().ControlJob(proc, op.some, SignalCall(actor.signal));
}

std::vector<ProcId> Soak::EachOf(const std::vector<ProcId>& targets) const {
  std::vector<ProcId> out;
  for (const ProcId& target : targets) {
    if (target.rank != kRankWildcard) {
      out.push_back(target);
      continue;
    }
    for (const auto& job : jobs_) {
      if (job->spec.nspace != target.nspace) continue;
      for (Rank rank = 0; rank < job->spec.procs.size(); ++rank) {
        out.push_back({target.nspace, rank});
      }
    }
  }
  return out;
}

// Returns the statuses that a signal may have. One job whose processes cannot
// be signalled is enough for an error.
std::set<int> Soak::StatusesOfControl(const Actor& actor) const {
  std::set<int> out = {kSuccess};
  for (const auto& job : jobs_) {
    const std::string& nspace = job->spec.nspace;
    if (std::ranges::count(actor.targets, nspace, &ProcId::nspace) == 0) {
      continue;
    }
    const bool foreign = job->spec.uid != actor.job->spec.uid;
    if (foreign) out.insert(kErrNoPermissions);
    if (foreign && job->launched && !IsOver(*job)) out.erase(kSuccess);
  }
  const bool gone = std::ranges::any_of(
      EachOf(actor.targets),
      [&](const ProcId& target) { return !actors_.contains(target); });
  if (gone || any_fault_) out.insert({kSuccess, kErrNotFound});
  return out;
}

// Checks an answer that has just arrived: every running target has received the
// signal.
void Soak::CheckControl(const ProcId& proc, const Actor& actor, int status) {
  if (status != kSuccess || any_fault_) return;
  for (const ProcId& target : EachOf(actor.targets)) {
    // Agents may have dropped a job that is being ended.
    const auto actor_of = actors_.find(target);
    if (actor_of == actors_.end() || IsHarmed(*actor_of->second.job)) continue;
    if (cluster_.shims().signals(target, actor.signal) == 1) continue;
    Error("signal " + std::to_string(actor.signal) + " of " + ToString(proc) +
          " is answered and has not come to " + ToString(target));
  }
}

// Checks that no process has received the signal twice, and that no process
// except the targets has received it, whatever the reply was.
void Soak::CheckControls() {
  for (const auto& job : jobs_) {
    for (Rank rank = 0; rank < job->spec.procs.size(); ++rank) {
      const ProcId proc{job->spec.nspace, rank};
      for (int signal = kFirstSignal; signal <= kLastSignal; ++signal) {
        const uint32_t times = cluster_.shims().signals(proc, signal);
        const auto sent = signalled_.find(signal);
        const bool is_target =
            sent != signalled_.end() && sent->second.contains(proc);
        if (times <= (is_target ? 1 : 0)) continue;
        Error(ToString(proc) + " got signal " + std::to_string(signal) + " " +
              std::to_string(times) + " times");
      }
    }
  }
}

// --------------------------------------------------------------- queries ---

void Soak::BeginQuery(const ProcId& proc, Actor& actor, const Op& op) {
  constexpr uint32_t kKinds = 4;
  const bool table = op.number % kKinds != 0;
  TestQuery query{{table ? PMIX_QUERY_PROC_TABLE : PMIX_QUERY_NAMESPACES}};
  actor.operation = table ? kTable : kNamespaces;
  actor.targets = {proc};
  if (table && op.number % kKinds == 1) {
    const PlannedJob& other = *jobs_[op.number % jobs_.size()];
    query.qualifiers.Add(PMIX_NSPACE, Value::String(other.spec.nspace));
    actor.targets = {{other.spec.nspace, 0}};
    // The job may not have begun, or be over.
    if (&other != actor.job) actor.expected = {kSuccess, kErrNotFound};
  }
  if (any_fault_) actor.expected.insert({kErrNotFound, kErrPartialSuccess});
  actor.asked = cluster_.now();
  actor.waiting = cluster_.clients().Query(proc, Encoded({query}));
}

// Checks a table of processes. It must have all processes of the job, each
// once. A running process must not be listed as ended. It must be listed as
// running if it ran when the query was sent, unless its agent got the request
// before it knew the job.
void Soak::CheckTable(const Actor& actor, const Answer& answer) {
  if (answer.status != kSuccess) return;
  InfoList results;
  const pmix_info_t* info = nullptr;
  if (DecodeInfos(answer.payload, &results)) {
    info = results.Find(PMIX_QUERY_PROC_TABLE);
  }
  if (info == nullptr || info->value.type != PMIX_DATA_ARRAY) {
    return Error("no table in the answer to a query");
  }
  const std::string& nspace = actor.targets.front().nspace;
  const pmix_data_array_t& array = *info->value.data.darray;
  const auto* rows = static_cast<const pmix_proc_info_t*>(array.array);
  if (array.size != EachOf({{nspace, kRankWildcard}}).size()) {
    Error("a table of " + nspace + " has " + std::to_string(array.size) +
          " rows");
  }
  for (size_t i = 0; i < array.size; ++i) {
    const ProcId proc{rows[i].proc.nspace, rows[i].proc.rank};
    const auto running = actors_.find(proc);
    if (proc != ProcId{nspace, static_cast<Rank>(i)}) {
      Error("row " + std::to_string(i) + " of a table of " + nspace +
            " is of " + ToString(proc));
    }
    if (running == actors_.end() || any_fault_) continue;
    const bool ended = rows[i].state >= PMIX_PROC_STATE_TERMINATED;
    const bool unknown = rows[i].state == PMIX_PROC_STATE_UNDEF;
    const bool ran = running->second.started < actor.asked;
    if (!ended && !(unknown && ran)) continue;
    Error(ToString(proc) + " runs and is said to be in state " +
          std::to_string(rows[i].state));
  }
}

}  // namespace canopy::sim
