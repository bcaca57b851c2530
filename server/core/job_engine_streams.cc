// Output and input of a job, at its controller: handed out once and in order,
// with credit to the nodes that it comes from.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "server/core/job_engine.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

// Silence after which a stream that outlives its process is taken for held
// open by something that the process left behind.
constexpr TimeNs kDrainIdle = 3'000'000'000;

}  // namespace

void JobEngine::DeliverStream(StepContext& step, JobState& job,
                              const OutputData& output) {
  if (output.rank >= job.spec->procs.size()) return;
  JobHead& head = *job.head;
  // It comes again.
  if (head.detached) return;
  const uint32_t node = job.spec->procs[output.rank].node;
  const uint64_t size = output.data.size();
  if (head.discards && output.end > size) {
    head.progress.SkipTo(node, output.end - size);
  }
  if (head.drain != kNever) head.drain = step.now + kDrainIdle;
  const auto known = head.progress.OnDelivered(node, size, output.end);
  // What is missing before it was lost on the way and comes again, and this
  // with it.
  if (!known) return;
  if (size > 0) {
    if (*known == size) return ResendCredit(step, job, node);
    step.out.push_back(DeliverOutput{job.nspace(), output.rank, output.channel,
                                     output.data.Slice(*known, size)});
    return;
  }
  if (!head.progress.IsStreamOpen(output.rank, output.channel)) return;
  step.out.push_back(
      DeliverOutput{job.nspace(), output.rank, output.channel, {}});
  head.progress.OnStreamClosed(output.rank, output.channel);
  Advance(step, job);
}

void JobEngine::OnOutputConsumed(TimeNs now, const OutputConsumed& in,
                                 Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr || in.rank >= job->spec->procs.size()) return;
  JobHead& head = *job->head;
  const uint32_t node = job->spec->procs[in.rank].node;
  const uint64_t total = head.progress.OnConsumed(node, in.bytes);
  if (head.drain != kNever) head.drain = now + kDrainIdle;
  const NodeId agent = job->spec->nodes[node].agent;
  if (agent == self_) {
    step.out.push_back(CreditOutput{in.nspace, in.bytes, total});
  } else if (tree_.alive(agent)) {
    Send(step, agent, OutputCredit{in.nspace, in.bytes, total});
  }
  if (head.asked) Advance(step, *job);
}

// Credit may have been lost with an agent that was to pass it on.
void JobEngine::ResendCredit(StepContext& step, const JobState& job,
                             uint32_t node) {
  const NodeId agent = job.spec->nodes[node].agent;
  const uint64_t total = job.head->progress.consumed(node);
  if (job.head->detached || total == 0 || agent == self_ ||
      !tree_.alive(agent)) {
    return;
  }
  Send(step, agent, OutputCredit{job.nspace(), 0, total});
}

// The end of a job's output, after that of its processes.
bool JobEngine::AllDelivered(StepContext& step, JobState& job) {
  JobHead& head = *job.head;
  if (!head.progress.all_streams_closed()) {
    if (head.drain == kNever && !head.detached) {
      head.drain = step.now + kDrainIdle;
    }
    return false;
  }
  head.drain = kNever;
  if (!head.acknowledges || head.progress.unconsumed() == 0) return true;
  if (!std::exchange(head.asked, true)) {
    step.out.push_back(OutputDelivered{job.nspace()});
  }
  return false;
}

void JobEngine::OnDrainTimeout(StepContext& step, JobState& job) {
  JobHead& head = *job.head;
  if (head.progress.unconsumed() > 0) {
    // Our reader is slow, so the writers may well be waiting for it.
    head.drain = step.now + kDrainIdle;
    return;
  }
  // Forgetting the job ends what it left behind.
  Log(step, LogLine::Level::kWarning,
      "job " + job.nspace() + ": processes that " +
          DescribeRanks(head.progress.WithOpenStreams()) +
          " left behind hold its output open; not waiting for them");
  Finish(step, job);
}

void JobEngine::OnInputOffered(TimeNs now, const InputOffered& in,
                               Actions* actions) {
  StepContext step{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr) return;
  job->head->input.Add(in.position, in.data);
  Advance(step, *job);
}

void JobEngine::SendInput(StepContext& step, JobState& job,
                          const InputLog::Piece& piece) {
  JobProgress& control = job.head->progress;
  control.OnInputSent(piece.data.size());
  if (control.InputNodes().empty()) return;
  InputData message{job.nspace(), {}, piece.data, piece.end};
  if (job.spec->stdin_target == StdinTarget::kAll) {
    return On(step, self_, message);
  }
  const Rank rank = job.spec->stdin_rank;
  message.ranks = {rank};
  const NodeId agent = job.spec->nodes[job.spec->procs[rank].node].agent;
  if (agent == self_) return On(step, self_, message);
  if (tree_.alive(agent)) Send(step, agent, std::move(message));
}

void JobEngine::TakeInput(StepContext& step, JobState& job, uint32_t node,
                          uint64_t bytes, uint64_t total) {
  JobHead& head = *job.head;
  if (!head.input.positioned()) {
    head.progress.NoteInputTaken(node, std::exchange(total, 0));
  }
  const uint64_t done = head.progress.OnInputTaken(node, bytes, total);
  if (done == 0) return;
  step.out.push_back(InputConsumed{job.nspace(), done});
  head.input.Release(head.progress.input_done());
}

// To the ranks of one node, straight.
void JobEngine::ResendInput(StepContext& step, JobState& job, uint32_t node,
                            uint64_t from) {
  if (std::ranges::count(job.head->progress.InputNodes(), node) == 0) return;
  InputData message{job.nspace(), {}, {}};
  if (job.spec->stdin_target == StdinTarget::kAll) {
    message.ranks = job.layout->ranks_on(node);
  } else {
    message.ranks = {job.spec->stdin_rank};
  }
  const NodeId agent = job.spec->nodes[node].agent;
  for (InputLog::Piece& piece : job.head->input.From(from)) {
    message.data = std::move(piece.data);
    message.end = piece.end;
    if (agent == self_) {
      On(step, self_, message);
    } else if (tree_.alive(agent)) {
      Send(step, agent, message);
    }
  }
}

}  // namespace canopy::core
