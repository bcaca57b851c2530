#include "client/cli/host_module/placement_call.h"

#include <chrono>
#include <memory>
#include <utility>

#include "client/cli/host_module/well_formed.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;
using Clock = std::chrono::steady_clock;

constexpr const char* kCodes[] = {"OK",
                                  "CANCELLED",
                                  "UNKNOWN",
                                  "INVALID_ARGUMENT",
                                  "DEADLINE_EXCEEDED",
                                  "NOT_FOUND",
                                  "ALREADY_EXISTS",
                                  "PERMISSION_DENIED",
                                  "RESOURCE_EXHAUSTED",
                                  "FAILED_PRECONDITION",
                                  "ABORTED",
                                  "OUT_OF_RANGE",
                                  "UNIMPLEMENTED",
                                  "INTERNAL",
                                  "UNAVAILABLE",
                                  "DATA_LOSS",
                                  "UNAUTHENTICATED"};

}  // namespace

std::string StatusText(const grpc::Status& status) {
  const auto code = static_cast<size_t>(status.error_code());
  std::string text = "status ";
  text += code < std::size(kCodes) ? kCodes[code] : std::to_string(code);
  if (!status.error_message().empty()) {
    text += " (" + status.error_message().substr(0, 200) + ")";
  }
  return text;
}

PlacementCall::PlacementCall(const Probe* probe, v1h::PlaceJobRequest request)
    : probe_(probe), request_(std::move(request)) {
  thread_ = std::thread([this] { Run(); });
}

PlacementCall::~PlacementCall() {
  Cancel();
  thread_.join();
}

void PlacementCall::Run() {
  const std::unique_ptr<grpc::ClientReader<v1h::PlacementUpdate>> stream =
      probe_->stub()->PlaceJob(&context_, request_);
  v1h::PlacementUpdate update;
  while (stream->Read(&update)) {
    const MutexLock lock(mutex_);
    Take(update);
    changed_.NotifyAll();
  }
  const grpc::Status status = stream->Finish();
  const MutexLock lock(mutex_);
  ended_ = true;
  status_ = status;
  changed_.NotifyAll();
}

void PlacementCall::Take(const v1h::PlacementUpdate& update) {
  std::string problem;
  if (granted_ || refused_) {
    problem = "an answer after the decision";
  } else if (update.has_granted()) {
    granted_ = update.granted();
    problem = ProblemOf(update.granted());
  } else if (update.has_refused()) {
    refused_ = update.refused();
    problem = ProblemOf(update.refused());
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
  if (!ended_) return "a stream that goes on after the decision";
  if (!status_.ok()) return StatusText(status_) + " after the decision";
  return {};
}

std::optional<v1h::Granted> PlacementCall::granted() {
  const MutexLock lock(mutex_);
  return granted_;
}

std::optional<v1h::Refused> PlacementCall::refused() {
  const MutexLock lock(mutex_);
  return refused_;
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
  if (refused_) {
    return "a refusal with status " + std::to_string(refused_->status()) +
           (refused_->message().empty() ? "" : ": " + refused_->message());
  }
  if (!problem_.empty()) return problem_;
  if (!ended_) return "no decision";
  return "the stream's end without a decision, " + StatusText(status_);
}

void PlacementCall::Cancel() { context_.TryCancel(); }

}  // namespace canopy::cli
