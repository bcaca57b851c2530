#include "server/kubernetes/api/api_client.h"

#include <algorithm>
#include <utility>

#include "server/kubernetes/api/url.h"

namespace canopy::kubernetes {

ApiClient::ApiClient(EventLoop* loop, const ApiServer& server,
                     const CallLimits& limits)
    : loop_(loop), limits_(limits), connection_(loop, server) {}

ApiClient::~ApiClient() {
  for (const auto& [id, call] : calls_) {
    if (call.timer) loop_->CancelTimer(*call.timer);
  }
}

ApiClient::CallId ApiClient::Get(const std::string& path, Done done) {
  return Start(path, std::nullopt, std::move(done));
}

ApiClient::CallId ApiClient::Post(const std::string& path, const Json& object,
                                  Done done) {
  return Start(path, JsonText(object), std::move(done));
}

void ApiClient::Cancel(CallId id) {
  loop_->AssertOnThread();
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  if (found->second.timer) loop_->CancelTimer(*found->second.timer);
  connection_.Cancel(found->second.exchange);
  calls_.erase(found);
}

ApiClient::CallId ApiClient::Start(const std::string& path,
                                   std::optional<std::string> json, Done done) {
  loop_->AssertOnThread();
  const CallId id = next_++;
  const bool is_full = calls_.size() >= kMaxCalls;
  calls_.emplace(
      id, Call{path, std::move(json), std::move(done),
               EventLoop::Now() + limits_.deadline_ns,
               RetryPauses(limits_.first_pause_ns, limits_.longest_pause_ns)});
  if (is_full) {
    FailSoon(id, Status(kErrOutOfResource,
                        "too many calls of the Kubernetes API server are in "
                        "progress"));
  } else if (!IsUrlPath(path)) {
    FailSoon(id, Status(kErrBadParam, "the path of a call is malformed"));
  } else {
    Attempt(id);
  }
  return id;
}

void ApiClient::FailSoon(CallId id, const Status& status) {
  calls_.at(id).timer =
      loop_->AddTimer(0, [this, id, status] { End(id, status); });
}

void ApiClient::Attempt(CallId id) {
  Call& call = calls_.at(id);
  call.timer.reset();
  const int64_t left_ns = call.deadline_ns - EventLoop::Now();
  call.exchange = connection_.Exchange(
      {call.path, call.json, std::min(limits_.attempt_ns, left_ns),
       limits_.max_object},
      [this, id](const HttpAnswer& answer) { OnAnswer(id, answer); });
}

void ApiClient::OnAnswer(CallId id, const HttpAnswer& answer) {
  Call& call = calls_.at(id);
  call.exchange = 0;
  const auto pause_ns = PauseAfter(answer, &call);
  if (pause_ns && EventLoop::Now() + *pause_ns < call.deadline_ns) {
    call.failure = StatusOf(answer);
    AttemptLater(id, *pause_ns);
  } else if (answer.transport.code() == kErrTimeout && !call.failure.ok()) {
    // The last attempt may have had too little time to find the reason.
    End(id, call.failure);
  } else {
    End(id, ObjectOf(answer));
  }
}

std::optional<int64_t> ApiClient::PauseAfter(const HttpAnswer& answer,
                                             Call* call) {
  if (answer.code == 401 && !std::exchange(call->has_renewed_token, true) &&
      connection_.RenewToken(answer)) {
    return 0;
  }
  if (!IsTransient(answer)) return std::nullopt;
  return call->pauses.Next(answer.retry_after_ns);
}

void ApiClient::AttemptLater(CallId id, int64_t pause_ns) {
  calls_.at(id).timer = loop_->AddTimer(pause_ns, [this, id] { Attempt(id); });
}

void ApiClient::End(CallId id, Result<Json> result) {
  const Done done = std::move(calls_.extract(id).mapped().done);
  done(std::move(result));
}

}  // namespace canopy::kubernetes
