#include "server/core/collective/collective_text.h"

#include <set>
#include <utility>
#include <variant>

#include "common/time_units.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxNamed = 8;  // maximum number of processes named in a text

std::string Names(const std::vector<ProcId>& procs) {
  std::string out;
  for (size_t i = 0; i < procs.size() && i < kMaxNamed; ++i) {
    if (i > 0) out += ", ";
    out += ToString(procs[i]);
  }
  if (procs.size() > kMaxNamed) {
    out += " and " + std::to_string(procs.size() - kMaxNamed) + " more";
  }
  return out;
}

// Returns, for example, "fence" or "group construct \"g\"".
std::string Operation(const CollectiveId& id) {
  std::string text = NameOf(id.op);
  if (!id.name.empty()) text += " \"" + id.name + "\"";
  return text;
}

std::string Title(const CollectiveId& id, uint64_t sequence) {
  return Operation(id) + " #" + std::to_string(sequence) + " of " +
         Names(id.participants);
}

Waiting DescribeDeferred(const Series& series) {
  Waiting waiting;
  waiting.nspace = series.id.participants.front().nspace;
  waiting.operation = Operation(series.id) + " of " +
                      Names(series.id.participants) +
                      ", asking the root for the map of a job";
  for (const DeferredCollective& one : series.deferred) {
    waiting.callers += std::holds_alternative<CollectiveArrived>(one.what);
  }
  return waiting;
}

}  // namespace

const char* NameOf(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kFence:
      return "fence";
    case CollectiveOp::kConnect:
      return "connect";
    case CollectiveOp::kDisconnect:
      return "disconnect";
    case CollectiveOp::kGroupConstruct:
      return "group construct";
    case CollectiveOp::kGroupDestruct:
      return "group destruct";
  }
  return "collective";
}

std::string FailureText(const CollectiveId& id, uint64_t sequence,
                        const CompletedCollective& completed) {
  std::string text = Title(id, sequence) + " failed with status " +
                     std::to_string(completed.status);
  if (!completed.missing.empty()) {
    text += ": missing " + Names(completed.missing);
  }
  return text;
}

std::vector<MissingProc> MissingIn(const Series& series,
                                   const Instance& instance,
                                   const JobTable& jobs, NodeId self) {
  std::vector<MissingProc> out;
  for (size_t i = 0; i < instance.arrived.size(); ++i) {
    if (!instance.arrived[i]) {
      out.push_back({series.members->local[i], self, true});
    }
  }
  const auto& nodes =
      series.place.top ? series.members->nodes : series.place.below;
  std::set<NodeId> awaited;
  for (const NodeId node : nodes) {
    if (node != self && !instance.contributions.contains(node)) {
      awaited.insert(node);
    }
  }
  if (awaited.empty()) return out;
  for (const ProcId& proc : MembersWhere(series.id.participants, jobs,
                                         [&](NodeId node, const RankState&) {
                                           return awaited.contains(node);
                                         })) {
    const Job* job = jobs.Find(proc.nspace);
    out.push_back({proc, job->agent_of(proc.rank), false});
  }
  return out;
}

void Describe(TimeNs now, const Series& series, const JobTable& jobs,
              NodeId self, std::vector<Waiting>* out) {
  if (!series.members && !series.deferred.empty()) {
    out->push_back(DescribeDeferred(series));
  }
  if (!series.members || !series.place.member) return;
  for (const auto& [sequence, instance] : series.active) {
    Waiting waiting;
    waiting.nspace = series.id.participants.front().nspace;
    waiting.operation = Title(series.id, sequence);
    waiting.age_ms = static_cast<uint64_t>(now - instance.started) / kNsPerMs;
    waiting.callers = static_cast<uint32_t>(instance.waiters.size());
    waiting.missing = MissingIn(series, instance, jobs, self);
    if (waiting.missing.size() > kMaxMissing) {
      waiting.more_missing = waiting.missing.size() - kMaxMissing;
      waiting.missing.resize(kMaxMissing);
    }
    out->push_back(std::move(waiting));
  }
}

}  // namespace canopy::core
