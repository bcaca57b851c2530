#include "server/core/job/streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/core/job/output_tap.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// If a stream outlives its process and has no output for this time, a process
// that the rank left behind is assumed to hold it open.
constexpr TimeNs kDrainIdle = 3'000'000'000;

}  // namespace

JobStreams::JobStreams(JobPart& part, const JobProgress& progress)
    : part_(part),
      progress_(progress),
      output_(*part.spec()),
      input_(static_cast<uint32_t>(part.spec()->nodes.size())) {}

NodeId JobStreams::AgentOf(uint32_t node) const {
  return part_.spec()->nodes[node].agent;
}

// The copy of the input that the predecessor had is lost. The launcher retains
// the input that the ranks have not consumed, and pushed input is pushed again.
void JobStreams::AwaitLauncher(TimeNs now) {
  acknowledges_ = detached_ = true;
  if (part_.spec()->forwarding.input) {
    run_ = static_cast<uint64_t>(now);
  } else {
    input_log_.Forget();
  }
}

void JobStreams::OnLauncherReattached(const JobStep& step,
                                      const LauncherReattached& in) {
  detached_ = asked_ = false;
  discards_ = !in.received.has_value();
  if (in.received) output_.SetReceived(*in.received);
  if (in.input_begin && input_log_.BeginAt(*in.input_begin)) {
    input_.SetBegin(*in.input_begin);
  }
  for (uint32_t i = 0; i < part_.spec()->nodes.size(); ++i) {
    requested_.insert(i);
    RequestOutput(step, i);
  }
}

void JobStreams::RequestOutput(const JobStep& step, uint32_t node) const {
  const OutputCredit credit{part_.nspace(), 0, output_.consumed(node), true};
  if (AgentOf(node) == step.self) {
    part_.streams().OnOutputCredit(step, credit);
  } else if (step.tree.alive(AgentOf(node))) {
    step.Send(AgentOf(node), credit);
  }
}

// A node whose route has changed resends its output unasked. But it may have
// done so before this agent had its launcher again.
void JobStreams::OnNodeLost(const JobStep& step) const {
  if (detached_) return;
  for (const uint32_t node : requested_) RequestOutput(step, node);
}

void JobStreams::OnNodeRestarted(const JobStep& step, NodeId node) {
  for (uint32_t i = 0; i < part_.spec()->nodes.size(); ++i) {
    if (LeadsOver(step.tree, step.self, AgentOf(i), node)) {
      ResendCredit(step, i);
    }
  }
}

// ---------------------------------------------------------------- output ---

bool JobStreams::OnOutput(const JobStep& step, const OutputData& output) {
  const JobSpec& spec = *part_.spec();
  // Output is dropped while no launcher is attached. A launcher that reattaches
  // requests it again.
  if (output.rank >= spec.procs.size() || detached_) return false;
  const uint32_t node = spec.procs[output.rank].node;
  const uint64_t size = output.data.size();
  // If the launcher will not reattach, output before this piece has no reader
  // and is not awaited.
  if (discards_ && output.end > size) output_.SkipTo(node, output.end - size);
  if (drain_ != kNever) drain_ = step.now + kDrainIdle;
  const auto known = output_.OnDelivered(node, size, output.end);
  // If earlier output was lost on the way, it will be resent, and then this
  // output too.
  if (!known) return false;
  requested_.erase(node);
  if (size > 0) {
    if (*known == size) {
      ResendCredit(step, node);
      return false;
    }
    Deliver(step, output, output.data.Slice(*known, size));
    return false;
  }
  if (!output_.IsOpen(output.rank, output.channel)) return false;
  if (step.tap != nullptr) {
    step.tap->OnOutput(step, {part_.nspace(), node, output.end, output.rank,
                              output.channel, output.data});
  }
  step.out.push_back(
      DeliverOutput{part_.nspace(), output.rank, output.channel, {}});
  output_.OnClosed(output.rank, output.channel);
  return true;
}

void JobStreams::Deliver(const JobStep& step, const OutputData& output,
                         Bytes data) const {
  DeliverOutput delivery{part_.nspace(), output.rank, output.channel,
                         std::move(data)};
  const uint32_t node = part_.spec()->procs[output.rank].node;
  if (step.tap != nullptr &&
      step.tap->OnOutput(step, {part_.nspace(), node, output.end, output.rank,
                                output.channel, delivery.data})) {
    delivery.redirected = std::exchange(delivery.data, {}).size();
  }
  step.out.push_back(std::move(delivery));
}

bool JobStreams::OnConsumed(const JobStep& step, const OutputConsumed& in) {
  const JobSpec& spec = *part_.spec();
  if (in.rank >= spec.procs.size()) return false;
  const uint32_t node = spec.procs[in.rank].node;
  const uint64_t total = output_.OnConsumed(node, in.bytes);
  if (drain_ != kNever) drain_ = step.now + kDrainIdle;
  if (AgentOf(node) == step.self) {
    step.out.push_back(CreditOutput{in.nspace, in.bytes, total});
  } else if (step.tree.alive(AgentOf(node))) {
    step.Send(AgentOf(node), OutputCredit{in.nspace, in.bytes, total});
  }
  return asked_;
}

// Sends the total of the credit, because credit may have been lost with an
// agent that forwarded it.
void JobStreams::ResendCredit(const JobStep& step, uint32_t node) const {
  const NodeId agent = AgentOf(node);
  const uint64_t total = output_.consumed(node);
  if (detached_ || total == 0 || agent == step.self ||
      !step.tree.alive(agent)) {
    return;
  }
  step.Send(agent, OutputCredit{part_.nspace(), 0, total});
}

bool JobStreams::AllDelivered(const JobStep& step) {
  if (!output_.all_closed()) {
    if (drain_ == kNever && !detached_) drain_ = step.now + kDrainIdle;
    return false;
  }
  drain_ = kNever;
  if (!acknowledges_ || output_.unconsumed() == 0) return true;
  if (!std::exchange(asked_, true)) {
    step.out.push_back(OutputDelivered{part_.nspace()});
  }
  return false;
}

bool JobStreams::OnDrainTimeout(const JobStep& step) {
  if (output_.unconsumed() > 0) {
    // The launcher is slow, so the processes may be waiting for it.
    drain_ = step.now + kDrainIdle;
    return false;
  }
  // The release of the job will end the processes left behind.
  step.Log(LogLine::Level::kWarning,
           "job " + part_.nspace() + ": processes that " +
               DescribeRanks(OpenRanks()) +
               " left behind hold its output open; not waiting for them",
           part_.spec()->uid);
  return true;
}

// ----------------------------------------------------------------- input ---

void JobStreams::SendInput(const JobStep& step) {
  for (const InputLog::Piece& piece : input_log_.TakeNew()) {
    SendPiece(step, piece);
  }
  ReportTaken(step, input_.Advance(progress_.InputNodes()));
}

void JobStreams::ReportTaken(const JobStep& step, uint64_t bytes) {
  if (bytes == 0) return;
  input_log_.Release(input_.done());
  if (step.tap != nullptr && part_.spec()->forwarding.input) {
    step.tap->OnInputTaken(step, part_.nspace(), bytes);
  } else {
    step.out.push_back(InputConsumed{part_.nspace(), bytes});
  }
}

void JobStreams::SendPiece(const JobStep& step, const InputLog::Piece& piece) {
  input_.OnSent(piece.data.size());
  if (progress_.InputNodes().empty()) return;
  const JobSpec& spec = *part_.spec();
  InputData message{part_.nspace(), {}, piece.data, piece.end, run_};
  if (spec.stdin_target == StdinTarget::kAll) {
    return part_.streams().OnInput(step, message);
  }
  message.ranks = {spec.stdin_rank};
  const NodeId agent = AgentOf(spec.procs[spec.stdin_rank].node);
  if (agent == step.self) return part_.streams().OnInput(step, message);
  if (step.tree.alive(agent)) step.Send(agent, std::move(message));
}

void JobStreams::OnInputTaken(const JobStep& step, uint32_t node,
                              const InputCredit& in) {
  // The message counts an earlier input run (InputData::run), so the node's
  // ranks have received nothing of the present input run.
  if (in.run != run_) {
    if (in.resend) ResendInput(step, node, 0);
    return;
  }
  uint64_t total = in.total;
  if (!input_log_.positioned()) {
    input_.NoteTaken(node, std::exchange(total, 0));
  }
  ReportTaken(step,
              input_.OnTaken(node, in.bytes, total, progress_.InputNodes()));
  if (in.resend) ResendInput(step, node, in.total);
}

// Resends input to the ranks of `node` alone, even if the input is for all
// ranks.
void JobStreams::ResendInput(const JobStep& step, uint32_t node,
                             uint64_t from) const {
  if (std::ranges::count(progress_.InputNodes(), node) == 0) return;
  const JobSpec& spec = *part_.spec();
  InputData message{part_.nspace(), {}, {}, 0, run_};
  if (spec.stdin_target == StdinTarget::kAll) {
    message.ranks = part_.layout()->ranks_on(node);
  } else {
    message.ranks = {spec.stdin_rank};
  }
  const NodeId agent = AgentOf(node);
  for (InputLog::Piece& piece : input_log_.From(from)) {
    message.data = std::move(piece.data);
    message.end = piece.end;
    if (agent == step.self) {
      part_.streams().OnInput(step, message);
    } else if (step.tree.alive(agent)) {
      step.Send(agent, message);
    }
  }
}

}  // namespace canopy::core
