// Recovery of jobs when an agent is replaced: what is persisted, how the
// successor restores it, and what other agents resend.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "common/wire.h"
#include "server/core/job_engine.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr char kController[] = "controller";

// kNoNode: not persisted, so the root.
NodeId RecoveredController(const std::vector<PersistedRecord>& records) {
  for (const PersistedRecord& record : records) {
    if (record.key != kController) continue;
    WireReader in(record.value.view());
    const NodeId node = in.Uint32();
    if (in.done()) return node;
  }
  return kNoNode;
}

}  // namespace

void JobEngine::PersistController(StepContext& step, const JobState& job) {
  if (!persists_ || !job.has_local()) return;
  WireWriter value;
  value.Uint(job.controller);
  step.out.push_back(
      PersistRecord{job.nspace(), kController, Bytes(value.Take())});
}

void JobEngine::PersistHead(StepContext& step, JobState& job) {
  if (!persists_ || !job.head) return;
  JobHead& head = *job.head;
  HeadRecord record;
  record.started = job.stage != LaunchStage::kPreparing;
  record.ending = head.ending;
  record.kill_requests = head.kill_requests;
  record.since = head.since;
  record.timeout = head.timeout;
  record.out_of_time = head.out_of_time;
  record.failure = head.progress.failure();
  record.expected = head.progress.Expected();
  record.lost.assign(job.lost.begin(), job.lost.end());
  std::string persisted = EncodeHeadRecord(record);
  if (persisted == head.persisted) return;
  head.persisted = std::move(persisted);
  step.out.push_back(PersistControlState{job.nspace(), Bytes(head.persisted)});
}

void JobEngine::set_began(TimeNs when) {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (n != self_) unsynced_members_.insert(n);
  }
  resync_deadline_ = unsynced_members_.empty() ? kNever : when + kResyncTimeout;
}

bool JobEngine::MarkSynced(NodeId node) {
  if (unsynced_members_.erase(node) == 0 || !unsynced_members_.empty())
    return false;
  resync_deadline_ = kNever;
  return true;
}

// The persisted record of a job that this agent controls.
std::optional<HeadRecord> JobEngine::RecordOf(TimeNs now,
                                              const JobRecovered& in) {
  if (!in.control) return std::nullopt;
  if (!in.control->empty()) return DecodeHeadRecord(in.control->view());
  // The launch had not begun.
  HeadRecord record;
  record.since = now;
  if (in.job->timeout_seconds > 0) {
    record.timeout = now + in.job->timeout_seconds * kSecond;
  }
  return record;
}

void JobEngine::DropRecovered(StepContext& step, const JobRecovered& in) {
  NoteFinished(in.job->nspace, &ended_everywhere_);
  if (in.has_shim) step.out.push_back(ForgetLocal{in.job->nspace});
}

void JobEngine::OnRecovered(TimeNs now, const JobRecovered& in,
                            Actions* actions) {
  StepContext step{now, *actions};
  const std::string& nspace = in.job->nspace;
  if (in.over) return DropRecovered(step, in);
  NodeId controller = RecoveredController(in.records);
  if (in.control) controller = self_;
  if (controller >= tree_.size()) controller = tree_.root();
  const std::optional<HeadRecord> record = RecordOf(now, in);
  if (jobs_.contains(nspace) || (controller == self_ && !record)) {
    Log(step, LogLine::Level::kError,
        "job " + nspace + ": its controller ended; ending what runs here");
    return DropRecovered(step, in);
  }
  JobPrepare part{Bytes(EncodeJobSpec(*in.job)), controller, {}};
  if (record) {
    part.lost = record->lost;
    // Its processes here are gone.
    if (!in.has_shim && record->started) part.lost.push_back(self_);
  }
  JobState& job = Add(step, in.job, part);
  Log(step, LogLine::Level::kInfo,
      "job " + nspace + ": going on with " + (record ? "it" : "its processes"));
  if (record) RecoverHead(step, job, *record);
  if (job.has_local()) RecoverLocalPart(step, job, in);
  for (const NodeId child : job.children) SyncChild(step, job, child);
  Advance(step, job);
}

void JobEngine::RecoverHead(StepContext& step, JobState& job,
                            const HeadRecord& record) {
  job.head = std::make_unique<JobHead>(job.spec, job.layout);
  JobHead& head = *job.head;
  head.acknowledges = head.detached = true;
  head.input.Forget();
  head.ending = record.ending;
  head.kill_requests = record.kill_requests;
  head.since = record.since;
  head.timeout = record.timeout;
  head.out_of_time = record.out_of_time;
  if (record.started) job.stage = LaunchStage::kStarting;
  if (record.failure) {
    head.progress.Fail(*record.failure);
    if (record.ending) {
      job.kill = JobKill{
          job.nspace(), {}, record.failure->status, record.failure->text};
    }
  }
  for (const Rank rank : record.expected) {
    if (rank < job.spec->procs.size()) head.progress.ExpectEnd(rank);
  }
  const std::set<NodeId> lost = job.lost;
  for (const NodeId node : lost) MarkRanksLost(step, job, node, "");
}

void JobEngine::RecoverLocalPart(StepContext& step, JobState& job,
                                 const JobRecovered& in) {
  if (!in.has_shim) {
    step.out.push_back(PrepareLocal{job.spec, job.layout});
    return PersistController(step, job);
  }
  job.prepare.Answer(self_, {1, {}});
  // Unknown until the shim reports it.
  job.input_taken.reset();
  if (in.started) {
    job.stage = LaunchStage::kStarting;
    job.start.Answer(self_, {job.local_left, {}});
  } else if (job.stage != LaunchStage::kPreparing) {
    step.out.push_back(StartLocal{job.nspace()});
  }
  if (job.kill && in.started) {
    step.out.push_back(
        KillLocal{job.nspace(), {}, job.spec->kill_grace_seconds * 1000});
  }
}

// Input in flight to this node may be lost.
void JobEngine::RequestInput(StepContext& step, const JobState& job) {
  if (!job.takes_input() || !job.input_taken ||
      job.stage == LaunchStage::kPreparing || !tree_.alive(job.controller)) {
    return;
  }
  Send(step, job.controller,
       InputCredit{job.nspace(), 0, *job.input_taken, true});
}

void JobEngine::OnLauncherReattached(TimeNs now, const LauncherReattached& in,
                                     Actions* actions) {
  StepContext step{now, *actions};
  JobState* const job = FindControlled(in.nspace);
  if (job == nullptr) return;
  JobHead& head = *job->head;
  head.detached = head.asked = false;
  head.discards = !in.received.has_value();
  head.changed = true;
  if (in.received) head.progress.SetReceived(*in.received);
  if (in.input_begin && head.input.BeginAt(*in.input_begin)) {
    head.progress.SetInputBegin(*in.input_begin);
  }
  for (uint32_t i = 0; i < job->spec->nodes.size(); ++i) {
    const NodeId agent = job->spec->nodes[i].agent;
    const uint64_t total = head.progress.consumed(i);
    if (agent != self_ && tree_.alive(agent)) {
      Send(step, agent, OutputCredit{in.nspace, 0, total, true});
    } else if (agent == self_ && job->has_local()) {
      step.out.push_back(CreditOutput{in.nspace, 0, total});
      step.out.push_back(ResendOutput{in.nspace});
    }
  }
  Advance(step, *job);
}

void JobEngine::OnNodeRestarted(TimeNs now, NodeId node, Actions* actions) {
  StepContext step{now, *actions};
  for (auto& [nspace, agents] : inquirers_) {
    if (node == tree_.root()) Send(step, node, JobExits{nspace, {}});
  }
  for (const auto& [nspace, deferred] : deferred_) {
    if (deferred.front().first == node) Send(step, node, JobExits{nspace, {}});
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState* const found = Find(nspace);
    if (found == nullptr) continue;
    JobState& job = *found;
    if (std::ranges::binary_search(job.children, node)) {
      SyncChild(step, job, node);
    }
    if (job.head) {
      for (uint32_t i = 0; i < job.spec->nodes.size(); ++i) {
        if (LeadsOver(tree_, self_, job.spec->nodes[i].agent, node)) {
          ResendCredit(step, job, i);
        }
      }
    } else if (std::ranges::count(job.route, node) > 0) {
      if (node == job.parent) ResendAnswers(job);
      // A recovered controller requests it once its launcher has reattached.
      if (job.has_local() && node != job.controller) {
        step.out.push_back(ResendOutput{nspace});
      }
      RequestInput(step, job);
    }
    Advance(step, job);
  }
}

// Only the root is authoritative for all jobs.
void JobEngine::SendSyncComplete(NodeId node, Actions* actions) const {
  if (node != tree_.root()) return;
  actions->push_back(SendPeer{{self_, node, JobForget{"", true}}});
}

}  // namespace canopy::core
