// How jobs go on when an agent is replaced: what is kept for it, what it makes
// of that, and what the others say again to it.
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

// kNoNode: not kept, so the root.
NodeId KeptController(const std::vector<KeptRecord>& records) {
  for (const KeptRecord& record : records) {
    if (record.key != kController) continue;
    WireReader in(record.value.view());
    const NodeId node = in.Uint32();
    if (in.done()) return node;
  }
  return kNoNode;
}

}  // namespace

void JobEngine::KeepController(Turn& turn, const JobState& job) {
  if (!remembers_ || !job.has_local()) return;
  WireWriter value;
  value.Uint(job.controller);
  turn.out.push_back(Remember{job.nspace(), kController, Bytes(value.Take())});
}

void JobEngine::KeepHead(Turn& turn, JobState& job) {
  if (!remembers_ || !job.head) return;
  JobHead& head = *job.head;
  HeadRecord record;
  record.started = job.stage != LaunchStage::kPreparing;
  record.ending = head.ending;
  record.kill_requests = head.kill_requests;
  record.since = head.since;
  record.timeout = head.timeout;
  record.out_of_time = head.out_of_time;
  record.failure = head.control.failure();
  record.expected = head.control.Expected();
  record.lost.assign(job.lost.begin(), job.lost.end());
  std::string kept = EncodeHeadRecord(record);
  if (kept == head.kept) return;
  head.kept = std::move(kept);
  turn.out.push_back(RememberControl{job.nspace(), Bytes(head.kept)});
}

void JobEngine::set_began(TimeNs when) {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (n != self_) untold_.insert(n);
  }
  untold_until_ = untold_.empty() ? kNever : when + kHearing;
}

bool JobEngine::LastTold(NodeId node) {
  if (untold_.erase(node) == 0 || !untold_.empty()) return false;
  untold_until_ = kNever;
  return true;
}

// What was kept of a job that this agent controls.
std::optional<HeadRecord> JobEngine::RecordOf(TimeNs now,
                                              const JobRecovered& in) {
  if (!in.control) return std::nullopt;
  if (!in.control->empty()) return DecodeHeadRecord(in.control->view());
  // It was about to be launched.
  HeadRecord record;
  record.since = now;
  if (in.job->timeout_seconds > 0) {
    record.timeout = now + in.job->timeout_seconds * kSecond;
  }
  return record;
}

void JobEngine::DropRecovered(Turn& turn, const JobRecovered& in) {
  NoteFinished(in.job->nspace, &over_);
  if (in.has_shim) turn.out.push_back(ForgetLocal{in.job->nspace});
}

void JobEngine::OnRecovered(TimeNs now, const JobRecovered& in,
                            Actions* actions) {
  Turn turn{now, *actions};
  const std::string& nspace = in.job->nspace;
  if (in.over) return DropRecovered(turn, in);
  NodeId controller = KeptController(in.records);
  if (in.control) controller = self_;
  if (controller >= tree_.size()) controller = tree_.root();
  const std::optional<HeadRecord> record = RecordOf(now, in);
  if (jobs_.contains(nspace) || (controller == self_ && !record)) {
    Log(turn, LogLine::Level::kError,
        "job " + nspace + ": its controller ended; ending what runs here");
    return DropRecovered(turn, in);
  }
  JobPrepare part{Bytes(EncodeJobSpec(*in.job)), controller, {}};
  if (record) {
    part.lost = record->lost;
    // What it had started here is gone.
    if (!in.has_shim && record->started) part.lost.push_back(self_);
  }
  JobState& job = Add(turn, in.job, part);
  Log(turn, LogLine::Level::kInfo,
      "job " + nspace + ": going on with " + (record ? "it" : "its processes"));
  if (record) ReviveHead(turn, job, *record);
  if (job.has_local()) ReviveLocal(turn, job, in);
  for (const NodeId child : job.children) TellNewChild(turn, job, child);
  Settle(turn, job);
}

void JobEngine::ReviveHead(Turn& turn, JobState& job,
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
    head.control.Fail(*record.failure);
    if (record.ending) {
      job.kill = JobKill{
          job.nspace(), {}, record.failure->status, record.failure->text};
    }
  }
  for (const Rank rank : record.expected) {
    if (rank < job.spec->procs.size()) head.control.ExpectEnd(rank);
  }
  const std::set<NodeId> lost = job.lost;
  for (const NodeId node : lost) LoseRanks(turn, job, node, "");
}

void JobEngine::ReviveLocal(Turn& turn, JobState& job, const JobRecovered& in) {
  if (!in.has_shim) {
    turn.out.push_back(PrepareLocal{job.spec, job.layout});
    return KeepController(turn, job);
  }
  job.prepare.Answer(self_, {1, {}});
  // The shim tells, if it knows.
  job.input_taken.reset();
  if (in.started) {
    job.stage = LaunchStage::kStarting;
    job.start.Answer(self_, {job.local_left, {}});
  } else if (job.stage != LaunchStage::kPreparing) {
    turn.out.push_back(StartLocal{job.nspace()});
  }
  if (job.kill && in.started) {
    turn.out.push_back(
        KillLocal{job.nspace(), {}, job.spec->kill_grace_seconds * 1000});
  }
}

// What was on its way here may be lost.
void JobEngine::AskForInput(Turn& turn, const JobState& job) {
  if (!job.takes_input() || !job.input_taken ||
      job.stage == LaunchStage::kPreparing || !tree_.alive(job.controller)) {
    return;
  }
  Send(turn, job.controller,
       InputCredit{job.nspace(), 0, *job.input_taken, true});
}

void JobEngine::OnCallerAttached(TimeNs now, const CallerAttached& in,
                                 Actions* actions) {
  Turn turn{now, *actions};
  JobState* const job = FindControlled(in.nspace);
  if (job == nullptr) return;
  JobHead& head = *job->head;
  head.detached = head.asked = false;
  head.discards = !in.received.has_value();
  head.changed = true;
  if (in.received) head.control.SetReceived(*in.received);
  if (in.input_begin && head.input.BeginAt(*in.input_begin)) {
    head.control.SetInputBegin(*in.input_begin);
  }
  for (uint32_t i = 0; i < job->spec->nodes.size(); ++i) {
    const NodeId agent = job->spec->nodes[i].agent;
    const uint64_t total = head.control.consumed(i);
    if (agent != self_ && tree_.alive(agent)) {
      Send(turn, agent, OutputCredit{in.nspace, 0, total, true});
    } else if (agent == self_ && job->has_local()) {
      turn.out.push_back(CreditOutput{in.nspace, 0, total});
      turn.out.push_back(ResendOutput{in.nspace});
    }
  }
  Settle(turn, *job);
}

void JobEngine::OnNodeRestarted(TimeNs now, NodeId node, Actions* actions) {
  Turn turn{now, *actions};
  for (auto& [nspace, agents] : askers_) {
    if (node == tree_.root()) Send(turn, node, JobExits{nspace, {}});
  }
  for (const auto& [nspace, held] : early_) {
    if (held.front().first == node) Send(turn, node, JobExits{nspace, {}});
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState* const found = Find(nspace);
    if (found == nullptr) continue;
    JobState& job = *found;
    if (std::ranges::binary_search(job.children, node)) {
      TellNewChild(turn, job, node);
    }
    if (job.head) {
      for (uint32_t i = 0; i < job.spec->nodes.size(); ++i) {
        if (LeadsOver(tree_, self_, job.spec->nodes[i].agent, node)) {
          CreditAgain(turn, job, i);
        }
      }
    } else if (std::ranges::count(job.route, node) > 0) {
      if (node == job.parent) AnswerAgain(job);
      // The controller asks for it when it has somebody to give it to.
      if (job.has_local() && node != job.controller) {
        turn.out.push_back(ResendOutput{nspace});
      }
      AskForInput(turn, job);
    }
    Settle(turn, job);
  }
}

// Only the root speaks for all.
void JobEngine::SayAllTold(NodeId node, Actions* actions) const {
  if (node != tree_.root()) return;
  actions->push_back(SendPeer{{self_, node, JobForget{"", true}}});
}

}  // namespace canopy::core
