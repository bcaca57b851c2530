#include "server/core/why.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/wire.h"

namespace canopy::core {
namespace {

constexpr uint64_t kAnswerFormat = 1;

void PutWaiting(WireWriter& w, const Waiting& waiting) {
  w.String(waiting.nspace);
  w.String(waiting.operation);
  w.Uint(waiting.age_ms);
  w.Uint(waiting.callers);
  w.Uint(waiting.missing.size());
  for (const MissingProc& m : waiting.missing) {
    w.Proc(m.proc);
    w.Uint(m.node);
    w.Bool(m.sure);
  }
  w.Uint(waiting.more_missing);
}

Waiting GetWaiting(WireReader& r) {
  Waiting waiting;
  waiting.nspace = r.String();
  waiting.operation = r.String();
  waiting.age_ms = r.Uint();
  waiting.callers = r.Uint32();
  waiting.missing.resize(r.Count(4));
  for (MissingProc& m : waiting.missing) {
    m.proc = r.Proc();
    m.node = r.Uint32();
    m.sure = r.Bool();
  }
  waiting.more_missing = r.Uint();
  return waiting;
}

void PutJob(WireWriter& w, const JobReport& job) {
  w.String(job.nspace);
  w.Uint(job.num_procs);
  w.Uint(job.local_procs);
  w.Uint(job.local_ended);
  w.Uint(job.connected);
}

JobReport GetJob(WireReader& r) {
  JobReport job;
  job.nspace = r.String();
  job.num_procs = r.Uint32();
  job.local_procs = r.Uint32();
  job.local_ended = r.Uint32();
  job.connected = r.Uint32();
  return job;
}

using Operation = std::pair<std::string, std::string>;

struct Merged {
  Waiting waiting;
  std::set<NodeId> answered;
  std::set<MissingProc> missing;
};

Waiting Finish(Merged merged) {
  for (const MissingProc& m : merged.missing) {
    if (!m.sure && merged.answered.contains(m.node)) continue;
    MissingProc sure = m;
    sure.sure = true;
    if (!m.sure && merged.missing.contains(sure)) continue;
    if (merged.waiting.missing.size() < kMaxMissing) {
      merged.waiting.missing.push_back(m);
    } else {
      ++merged.waiting.more_missing;
    }
  }
  return std::move(merged.waiting);
}

}  // namespace

std::string EncodeStateAnswer(const StateAnswer& answer) {
  WireWriter w;
  w.Uint(kAnswerFormat);
  w.Uint(answer.node);
  w.Uint(answer.parent);
  w.String(answer.about);
  w.Uint(answer.jobs.size());
  for (const JobReport& job : answer.jobs) PutJob(w, job);
  w.Uint(answer.waiting.size());
  for (const Waiting& waiting : answer.waiting) PutWaiting(w, waiting);
  return w.Take();
}

Result<StateAnswer> DecodeStateAnswer(std::string_view bytes) {
  WireReader r(bytes);
  if (r.Uint() != kAnswerFormat) {
    return Status(kErrUnpackFailure, "state of an agent in an unknown format");
  }
  StateAnswer answer;
  answer.node = r.Uint32();
  answer.parent = r.Uint32();
  answer.about = r.String();
  answer.jobs.resize(r.Count(5));
  for (JobReport& job : answer.jobs) job = GetJob(r);
  answer.waiting.resize(r.Count(6));
  for (Waiting& waiting : answer.waiting) waiting = GetWaiting(r);
  if (!r.done()) {
    return Status(kErrUnpackFailure, "malformed state of an agent");
  }
  return answer;
}

std::vector<Waiting> MergeWaiting(const std::vector<StateAnswer>& answers) {
  std::map<Operation, Merged> merged;
  for (const StateAnswer& answer : answers) {
    for (const Waiting& waiting : answer.waiting) {
      Merged& m = merged[{waiting.nspace, waiting.operation}];
      m.waiting.nspace = waiting.nspace;
      m.waiting.operation = waiting.operation;
      m.waiting.age_ms = std::max(m.waiting.age_ms, waiting.age_ms);
      m.waiting.callers += waiting.callers;
      m.waiting.more_missing =
          std::max(m.waiting.more_missing, waiting.more_missing);
      m.answered.insert(answer.node);
      m.missing.insert(waiting.missing.begin(), waiting.missing.end());
    }
  }
  std::vector<Waiting> out;
  for (auto& [operation, m] : merged) out.push_back(Finish(std::move(m)));
  return out;
}

}  // namespace canopy::core
