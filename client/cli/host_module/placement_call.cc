#include "client/cli/host_module/placement_call.h"

#include <chrono>
#include <memory>
#include <utility>

#include "client/cli/host_module/well_formed.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;
using Clock = std::chrono::steady_clock;

}  // namespace

PlacementCall::PlacementCall(const Probe* probe, v1h::PlaceJobRequest request)
    : probe_(probe), request_(std::move(request)) {
  thread_ = std::thread([this] { Run(); });
}

PlacementCall::~PlacementCall() {
  Cancel();
  thread_.join();
}

void PlacementCall::Run() {
  const std::unique_ptr<grpc::ClientReader<v1h::PlaceJobResponse>> stream =
      probe_->stub()->PlaceJob(&context_, request_);
  v1h::PlaceJobResponse update;
  while (stream->Read(&update)) {
    const MutexLock lock(mutex_);
    Take(update);
    changed_.NotifyAll();
  }
  const scheduler::CallEnd end = EndOf(stream->Finish());
  const MutexLock lock(mutex_);
  ended_ = true;
  end_ = end;
  changed_.NotifyAll();
}

void PlacementCall::Take(const v1h::PlaceJobResponse& update) {
  std::string problem;
  if (granted_) {
    problem = "an answer after the decision";
  } else if (update.has_granted()) {
    granted_ = update.granted();
    problem = ProblemOf(update.granted());
  } else if (update.has_queued()) {
    problem = ProblemOf(update.queued(), NowMs());
  } else {
    problem = "an update of no kind";
  }
  if (problem_.empty()) problem_ = problem;
}

bool PlacementCall::Wait(int milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  MutexLock lock(mutex_);
  while (!Decided()) {
    if (!changed_.WaitUntil(mutex_, deadline)) return Decided();
  }
  return true;
}

std::string PlacementCall::WaitEnd(int milliseconds) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  MutexLock lock(mutex_);
  while (!ended_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  if (!problem_.empty()) return problem_;
  if (!ended_) return "a stream that continues after the decision";
  if (granted_ && !end_.ok()) {
    return StatusText(end_) + " after the decision";
  }
  return {};
}

std::optional<v1h::Granted> PlacementCall::granted() {
  const MutexLock lock(mutex_);
  return granted_;
}

std::optional<Status> PlacementCall::refused() {
  const MutexLock lock(mutex_);
  if (granted_ || !ended_ || end_.ok() || end_.leaves_undecided()) {
    return std::nullopt;
  }
  return StatusOf(end_);
}

std::string PlacementCall::Outcome() {
  const MutexLock lock(mutex_);
  if (granted_) {
    std::string text = "a grant of";
    for (const v1h::GrantedNode& node : granted_->nodes()) {
      text += " " + node.name() + ":" + std::to_string(node.slots());
    }
    return text;
  }
  if (!problem_.empty()) return problem_;
  if (!ended_) return "no decision";
  if (end_.ok() || end_.leaves_undecided()) {
    return "the stream's end without a decision, " + StatusText(end_);
  }
  return "a refusal with " + StatusText(end_);
}

void PlacementCall::Cancel() { context_.TryCancel(); }

}  // namespace canopy::cli
