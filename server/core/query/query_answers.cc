#include "server/core/query/query_answers.h"

#include <algorithm>

#include "common/codec/encoder.h"
#include "common/shown_program.h"
#include "common/support/attribute_support.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/query/process_memory.h"
#include "server/core/query/process_states.h"
#include "server/core/query/query_keys.h"
#include "server/core/step/host_services.h"

namespace canopy::core {
namespace {

const ProcessFacts* Find(const GatheredFacts& facts, const std::string& nspace,
                         Rank rank) {
  const auto job = facts.processes.find(nspace);
  if (job == facts.processes.end()) return nullptr;
  const auto it = job->second.find(rank);
  return it == job->second.end() ? nullptr : &it->second;
}

void PutRow(const Job& job, const ProcessFacts& process, Encoder* out) {
  const ProcPlacement& place = job.spec->procs[process.rank];
  out->PutProc(ProcId{job.nspace(), process.rank});
  out->PutString(job.spec->nodes[place.node].name);
  out->PutString(ShownProgram(job.spec->apps[place.app].cmd));
  out->PutPid(process.pid);
  out->PutByte(process.state);
}

support::Scheduler SchedulerOf(const GatheredFacts& facts) {
  return {(facts.host_services & kHostPlacesJobs) != 0,
          (facts.host_services & kHostAllocates) != 0};
}

}  // namespace

void QueryAnswers::Answer(const Query& query) {
  ++next_query_;
  const KeyKind first = KindOf(query.keys[0]);
  if (first == KeyKind::kAttributeSupport) return AnswerSupport(query);
  for (const std::string& key : query.keys) {
    const KeyKind kind = KindOf(key);
    if (kind == KeyKind::kSupportedQualifiers) {
      if (query.keys.size() == 1) writer_.AddNothing();
    } else if (query.of_qualifiers || first == KeyKind::kSupportedQualifiers) {
      writer_.Add(key, Value::String(SupportedQualifiers(key)));
    } else {
      AnswerKey(query, key);
    }
  }
}

void QueryAnswers::AnswerKey(const Query& query, const std::string& key) {
  // A full answer is rejected as a whole, so further keys need no work.
  if (writer_.full() || AddHost(key)) return;
  switch (KindOf(key)) {
    case KeyKind::kJobData:
      return AddData(key);
    case KeyKind::kNamespaces:
      return writer_.Add(key, Namespaces(query));
    case KeyKind::kNamespaceInfo:
      return writer_.Add(key, NamespaceInfo(query));
    case KeyKind::kJobStatus:
      return writer_.Add(key, JobStatus(query));
    case KeyKind::kProcTable:
      return writer_.Add(key, ProcTable(query, query.local_only));
    case KeyKind::kLocalProcTable:
      return writer_.Add(key, ProcTable(query, true));
    case KeyKind::kProcPid:
    case KeyKind::kProcState:
      return writer_.Add(key, ProcFact(query, key));
    case KeyKind::kMemoryUsage:
      return writer_.Add(key, MemoryUsage(query));
    case KeyKind::kDaemonMemory:
    case KeyKind::kClientAvgMemory:
      return writer_.Add(key, NodeMemory(query, key));
    case KeyKind::kNumPsets:
    case KeyKind::kPsetNames:
      return writer_.Add(key, PsetNames(key));
    case KeyKind::kPsetMembers:
      return writer_.Add(key, PsetMembers(query));
    case KeyKind::kSpawnSupport:
      return writer_.Add(
          key, Value::String(support::SpawnAttributes(SchedulerOf(facts_))));
    case KeyKind::kDebugSupport:
      return writer_.Add(key, Value::String(support::DebugAttributes()));
    case KeyKind::kSupportedKeys:
      return writer_.Add(
          key, Value::String(SupportedKeys(
                   (facts_.host_services & kHostAnswersQueries) != 0)));
    case KeyKind::kTimeRemaining:
      return writer_.Add(key, TimeRemaining(query));
    default:
      return writer_.AddNothing();
  }
}

void QueryAnswers::AddData(const std::string& key) {
  const size_t index = next_data_++;
  const bool found = index < facts_.data.size();
  writer_.Add(key, found ? facts_.data[index].view() : std::string_view());
}

bool QueryAnswers::AddHost(const std::string& key) {
  const auto it = facts_.host.find({next_query_ - 1, key});
  if (it == facts_.host.end()) return false;
  writer_.Add(key, it->second);
  return true;
}

// ------------------------------------------------------------ processes ---

std::string QueryAnswers::ProcTable(const Query& query, bool local) const {
  const Job* job = scope_.JobOf(query);
  if (job == nullptr) return "";
  Encoder rows;
  size_t count = 0;
  for (Rank rank = 0; rank < job->num_ranks(); ++rank) {
    if (local && !job->is_local(rank)) continue;
    const ProcessFacts* process = Find(facts_, job->nspace(), rank);
    PutRow(*job, process != nullptr ? *process : FactsOfRemote(*job, rank),
           &rows);
    ++count;
  }
  return EncodeArray(PMIX_PROC_INFO, count, rows.Take());
}

Value QueryAnswers::ProcFact(const Query& query, std::string_view key) const {
  const Job* job = scope_.JobOf(query);
  if (job == nullptr) return {};
  const ProcessFacts* process =
      Find(facts_, job->nspace(), scope_.RankOf(query));
  if (process == nullptr) return {};
  if (key == PMIX_PROC_STATE_STATUS) {
    return Value::Integer(PMIX_PROC_STATE, process->state);
  }
  return process->pid == 0 ? Value() : Value::Pid(process->pid);
}

Value QueryAnswers::MemoryUsage(const Query& query) const {
  const Job* job = scope_.JobOf(query);
  if (job == nullptr) return {};
  ProcessMemory memory;
  const auto it = facts_.processes.find(job->nspace());
  if (it == facts_.processes.end()) return {};
  const Rank wanted = query.names_rank() ? query.proc.rank : kRankWildcard;
  const auto node = scope_.NodeOf(query);
  for (const auto& [rank, process] : it->second) {
    if (wanted != kRankWildcard && rank != wanted) continue;
    if (query.local_only && !job->is_local(rank)) continue;
    if (QueryScope::NamesNode(query) && job->agent_of(rank) != node) continue;
    memory.Add(*job, process);
  }
  return memory.Report(query.average, query.minmax);
}

// ---------------------------------------------------------------- nodes ---

Value QueryAnswers::NodeMemory(const Query& query, std::string_view key) const {
  const auto node = scope_.NodeOf(query);
  const auto it = node ? facts_.memory.find(*node) : facts_.memory.end();
  if (it == facts_.memory.end()) return {};
  const MemoryFacts& memory = it->second;
  if (key == PMIX_DAEMON_MEMORY) return Megabytes(memory.agent);
  if (memory.num_clients == 0) return {};
  return Megabytes(memory.clients / memory.num_clients);
}

// ----------------------------------------------------------------- jobs ---

// Returns this agent's jobs for a local query, otherwise the jobs that the root
// has reported; null if the root has not answered.
const QueryAnswers::Jobs* QueryAnswers::JobsOf(const Query& query) const {
  if (query.local_only) return &facts_.local_jobs;
  return facts_.all_jobs ? &*facts_.all_jobs : nullptr;
}

Value QueryAnswers::Namespaces(const Query& query) const {
  const Jobs* known = JobsOf(query);
  if (known == nullptr) return {};
  std::string list;
  for (const auto& [nspace, job] : *known) {
    if (!scope_.MaySee(job.uid)) continue;
    if (!list.empty()) list += ',';
    list += nspace;
  }
  return list.empty() ? Value() : Value::String(list);
}

Value QueryAnswers::NamespaceInfo(const Query& query) const {
  const Jobs* known = JobsOf(query);
  if (known == nullptr) return {};
  InfoList jobs;
  for (const auto& [nspace, job] : *known) {
    if (!scope_.MaySee(job.uid)) continue;
    if (!query.proc.nspace.empty() && nspace != query.proc.nspace) continue;
    const InfoList one{{PMIX_NSPACE, Value::String(nspace)},
                       {PMIX_CMD_LINE, Value::String(job.command)}};
    jobs.Add(PMIX_JOB_INFO_ARRAY, Value::InfoArray(one));
  }
  return jobs.empty() ? Value() : Value::InfoArray(jobs);
}

Value QueryAnswers::JobStatus(const Query& query) const {
  const auto it = facts_.controlled.find(scope_.NspaceOf(query));
  if (it == facts_.controlled.end() || !scope_.MaySee(it->second.uid))
    return {};
  return Value::Status(it->second.status);
}

// Returns the seconds until the job's time limit, rounded up.
Value QueryAnswers::TimeRemaining(const Query& query) const {
  const auto it = facts_.controlled.find(scope_.NspaceOf(query));
  if (it == facts_.controlled.end() || !scope_.MaySee(it->second.uid) ||
      it->second.ends_in_ms == 0) {
    return {};
  }
  const uint64_t seconds = it->second.ends_in_ms / 1000 +
                           (it->second.ends_in_ms % 1000 == 0 ? 0 : 1);
  return Value::Uint32(
      static_cast<uint32_t>(std::min<uint64_t>(seconds, UINT32_MAX)));
}

// --------------------------------------------------------- process sets ---

// Returns whether the caller may see the set. If the job that owns the set is
// unknown to this agent, its user is that of the set's event. A set without a
// user is shown only if this process's host has defined it, because the host's
// sets belong to no job.
bool QueryAnswers::MaySee(const ProcessSets::Set& set) const {
  const Job* job = scope_.jobs().Find(set.owner);
  if (job != nullptr) return scope_.MaySee(job->spec->uid);
  if (set.user == 0) {
    return scope_.MaySeeAll() || set.raised_at == scope_.self();
  }
  return scope_.MaySee(static_cast<uint32_t>(set.user - 1));
}

Value QueryAnswers::PsetNames(const std::string& key) const {
  std::vector<std::string> names;
  for (const auto& [name, set] : sets_) {
    if (MaySee(set)) names.push_back(name);
  }
  return key == PMIX_QUERY_NUM_PSETS ? Value::Size(names.size())
                                     : Value::StringArray(names);
}

Value QueryAnswers::PsetMembers(const Query& query) const {
  const auto set = sets_.find(query.pset);
  if (set == sets_.end() || !MaySee(set->second)) return {};
  return Value::ProcArray(set->second.members);
}

// -------------------------------------------------------------- support ---

void QueryAnswers::AnswerSupport(const Query& query) {
  const support::Levels levels = support::LevelsOf(query.levels);
  const support::Scheduler scheduler = SchedulerOf(facts_);
  for (const auto& [key, names] : support::Functions(levels, scheduler)) {
    writer_.Add(key, Value::String(names));
  }
  for (size_t i = 1; i < query.keys.size(); ++i) {
    writer_.Add(query.keys[i],
                support::AttributesOf(query.keys[i], levels, scheduler));
  }
}

}  // namespace canopy::core
