#include "tests/sim/standard_input.h"

#include <algorithm>

#include "common/bytes.h"
#include "common/job.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/process_inputs.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

// Size of a launcher's reads from a pipe. It is small, so that a few hundred
// bytes take many messages.
constexpr uint64_t kPiece = 64;

}  // namespace

StandardInput::StandardInput(uint32_t nodes, const Settings& settings,
                             const JobCatalog& jobs, EventQueue& queue,
                             AgentInputs& inputs, Random& random,
                             Oracle& oracle)
    : settings_(settings),
      jobs_(jobs),
      queue_(queue),
      inputs_(inputs),
      random_(random),
      oracle_(oracle),
      sinks_(nodes) {}

// ------------------------------------------------------ the launcher's end ---

void StandardInput::Open(const std::string& nspace, NodeId controller) {
  sources_[nspace].controller = controller;
}

void StandardInput::Offer(const std::string& nspace, uint64_t bytes) {
  Source& source = sources_.at(nspace);
  const uint64_t begin = source.end;
  source.end += bytes;
  oracle_.OnInputOffered(nspace, source.end);
  Send(nspace, begin);
}

void StandardInput::Close(const std::string& nspace) {
  sources_.at(nspace).closed = true;
  SendEnd(nspace);
}

void StandardInput::Send(const std::string& nspace, uint64_t begin) {
  const Source& source = sources_.at(nspace);
  if (!source.attached) return;
  while (begin < source.end) {
    const uint64_t end = std::min(source.end, begin + kPiece);
    inputs_.Post(source.controller,
                 InputOffered{nspace, Bytes(InputText(begin, end)), begin});
    begin = end;
  }
}

void StandardInput::SendEnd(const std::string& nspace) {
  const Source& source = sources_.at(nspace);
  if (!source.attached || !source.closed) return;
  inputs_.Post(source.controller, InputOffered{nspace, {}, source.end});
}

void StandardInput::On(NodeId node, InputConsumed& a) {
  Source& source = sources_.at(a.nspace);
  // If the launcher is detached, the agent's report has no receiver.
  if (!source.attached || source.controller != node) return;
  source.begin = std::min(source.end, source.begin + a.bytes);
}

uint64_t StandardInput::retained(const std::string& nspace) const {
  const Source& source = sources_.at(nspace);
  return source.end - source.begin;
}

std::optional<uint64_t> StandardInput::BeginOf(
    const std::string& nspace) const {
  const JobSpec& job = jobs_.Find(nspace);
  if (job.stdin_target == StdinTarget::kNone || job.forwarding.input) {
    return std::nullopt;
  }
  return sources_.at(nspace).begin;
}

void StandardInput::OfferAgain(const std::string& nspace) {
  Source& source = sources_.at(nspace);
  source.attached = true;
  if (jobs_.Find(nspace).forwarding.input) return;
  Send(nspace, source.begin);
  SendEnd(nspace);
}

// --------------------------------------------------------- the shims' end ---

// Drops data that was received before, and data that leaves a gap.
void StandardInput::On(NodeId node, FeedInput& a) {
  Sink& sink = sinks_[node][a.nspace];
  const uint64_t size = a.data.size();
  // Data without a position follows the data received before.
  if (a.end == 0) a.end = sink.taken + size;
  if (size == 0) {
    if (a.end != sink.taken || sink.closed) return;
    sink.closed = true;
    return PassOn(node, a, 0);
  }
  if (a.end - size > sink.taken || a.end <= sink.taken) return;
  const uint64_t fresh = a.end - sink.taken;
  sink.taken = a.end;
  PassOn(node, a, fresh);
}

// Passes the last `bytes` of the data on to processes, which read them after a
// time. If `bytes` is 0, passes the end of the input on.
void StandardInput::PassOn(NodeId node, const FeedInput& a, uint64_t bytes) {
  const bool pushed = jobs_.Find(a.nspace).forwarding.input;
  const std::string_view fresh = a.data.view().substr(a.data.size() - bytes);
  for (const Rank rank : a.ranks) {
    const ProcId proc{a.nspace, rank};
    if (bytes == 0) {
      if (!pushed) oracle_.OnInputEnd(proc, sources_.at(a.nspace).closed);
      if (settings_.hooks.on_input_end) settings_.hooks.on_input_end(proc);
    } else if (!pushed) {
      oracle_.OnInputRead(proc, fresh);
    } else if (settings_.hooks.on_pushed_input) {
      settings_.hooks.on_pushed_input(proc, fresh);
    }
  }
  if (bytes == 0) return;
  queue_.Post(
      queue_.now() + random_.Delay(),
      Callback([this, node, nspace = a.nspace, bytes] {
        const auto sink = sinks_[node].find(nspace);
        if (sink == sinks_[node].end()) return;
        sink->second.read += bytes;
        inputs_.Post(node, LocalInputDone{nspace, bytes, sink->second.read});
      }));
}

void StandardInput::ReportAgain(NodeId node, const std::string& nspace) {
  if (jobs_.Find(nspace).stdin_target == StdinTarget::kNone) return;
  const Sink& sink = sinks_[node][nspace];
  inputs_.Post(
      node, LocalInputDone{nspace, 0, sink.read, /*resend=*/true, sink.taken});
}

// ----------------------------------------------------------------- faults ---

void StandardInput::Reset(NodeId node) {
  sinks_[node].clear();
  LoseAgent(node);
}

void StandardInput::LoseAgent(NodeId node) {
  for (auto& [nspace, source] : sources_) {
    if (source.controller == node) source.attached = false;
  }
}

}  // namespace canopy::sim
