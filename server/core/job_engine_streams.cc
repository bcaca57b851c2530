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

void JobEngine::DeliverStream(Turn& turn, JobState& job,
                              const OutputData& output) {
  if (output.rank >= job.spec->procs.size()) return;
  JobHead& head = *job.head;
  // It comes again.
  if (head.detached) return;
  const uint32_t node = job.spec->procs[output.rank].node;
  const uint64_t size = output.data.size();
  if (head.discards && output.end > size) {
    head.control.SkipTo(node, output.end - size);
  }
  if (head.drain != kNever) head.drain = turn.now + kDrainIdle;
  const auto known = head.control.OnDelivered(node, size, output.end);
  // What is missing before it was lost on the way and comes again, and this
  // with it.
  if (!known) return;
  if (size > 0) {
    if (*known == size) return CreditAgain(turn, job, node);
    turn.out.push_back(DeliverOutput{job.nspace(), output.rank, output.channel,
                                     output.data.Slice(*known, size)});
    return;
  }
  if (!head.control.IsStreamOpen(output.rank, output.channel)) return;
  turn.out.push_back(
      DeliverOutput{job.nspace(), output.rank, output.channel, {}});
  head.control.OnStreamClosed(output.rank, output.channel);
  Settle(turn, job);
}

void JobEngine::OnOutputConsumed(TimeNs now, const OutputConsumed& in,
                                 Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr || in.rank >= job->spec->procs.size()) return;
  JobHead& head = *job->head;
  const uint32_t node = job->spec->procs[in.rank].node;
  const uint64_t total = head.control.OnConsumed(node, in.bytes);
  if (head.drain != kNever) head.drain = now + kDrainIdle;
  const NodeId agent = job->spec->nodes[node].agent;
  if (agent == self_) {
    turn.out.push_back(CreditOutput{in.nspace, in.bytes, total});
  } else if (tree_.alive(agent)) {
    Send(turn, agent, OutputCredit{in.nspace, in.bytes, total});
  }
  if (head.asked) Settle(turn, *job);
}

// Credit may have been lost with an agent that was to pass it on.
void JobEngine::CreditAgain(Turn& turn, const JobState& job, uint32_t node) {
  const NodeId agent = job.spec->nodes[node].agent;
  const uint64_t total = job.head->control.consumed(node);
  if (job.head->detached || total == 0 || agent == self_ ||
      !tree_.alive(agent)) {
    return;
  }
  Send(turn, agent, OutputCredit{job.nspace(), 0, total});
}

// The end of a job's output, after that of its processes.
bool JobEngine::AllDelivered(Turn& turn, JobState& job) {
  JobHead& head = *job.head;
  if (!head.control.all_streams_closed()) {
    if (head.drain == kNever && !head.detached) {
      head.drain = turn.now + kDrainIdle;
    }
    return false;
  }
  head.drain = kNever;
  if (!head.acknowledges || head.control.unconsumed() == 0) return true;
  if (!std::exchange(head.asked, true)) {
    turn.out.push_back(OutputDelivered{job.nspace()});
  }
  return false;
}

void JobEngine::OnDrainTimeout(Turn& turn, JobState& job) {
  JobHead& head = *job.head;
  if (head.control.unconsumed() > 0) {
    // Our reader is slow, so the writers may well be waiting for it.
    head.drain = turn.now + kDrainIdle;
    return;
  }
  // Forgetting the job ends what it left behind.
  Log(turn, LogLine::Level::kWarning,
      "job " + job.nspace() + ": processes that " +
          DescribeRanks(head.control.WithOpenStreams()) +
          " left behind hold its output open; not waiting for them");
  Finish(turn, job);
}

void JobEngine::OnInputOffered(TimeNs now, const InputOffered& in,
                               Actions* actions) {
  Turn turn{now, *actions};
  JobState* job = FindControlled(in.nspace);
  if (job == nullptr) return;
  job->head->input.Add(in.position, in.data);
  Settle(turn, *job);
}

void JobEngine::SendInput(Turn& turn, JobState& job,
                          const InputLog::Piece& piece) {
  JobControl& control = job.head->control;
  control.OnInputSent(piece.data.size());
  if (control.InputNodes().empty()) return;
  InputData message{job.nspace(), {}, piece.data, piece.end};
  if (job.spec->stdin_target == StdinTarget::kAll) {
    return On(turn, self_, message);
  }
  const Rank rank = job.spec->stdin_rank;
  message.ranks = {rank};
  const NodeId agent = job.spec->nodes[job.spec->procs[rank].node].agent;
  if (agent == self_) return On(turn, self_, message);
  if (tree_.alive(agent)) Send(turn, agent, std::move(message));
}

void JobEngine::TakeInput(Turn& turn, JobState& job, uint32_t node,
                          uint64_t bytes, uint64_t total) {
  JobHead& head = *job.head;
  if (!head.input.positioned()) {
    head.control.NoteInputTaken(node, std::exchange(total, 0));
  }
  const uint64_t done = head.control.OnInputTaken(node, bytes, total);
  if (done == 0) return;
  turn.out.push_back(InputConsumed{job.nspace(), done});
  head.input.Release(head.control.input_done());
}

// To the ranks of one node, straight.
void JobEngine::SendInputAgain(Turn& turn, JobState& job, uint32_t node,
                               uint64_t from) {
  if (std::ranges::count(job.head->control.InputNodes(), node) == 0) return;
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
      On(turn, self_, message);
    } else if (tree_.alive(agent)) {
      Send(turn, agent, message);
    }
  }
}

}  // namespace canopy::core
