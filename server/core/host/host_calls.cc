#include "server/core/host/host_calls.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace canopy::core {

void HostCalls::OnArrived(const HostCallArrived& in, Actions* actions) {
  const ProcId* caller = jobs_.ProcOf(in.client);
  if (const int refusal = Refusal(caller, in.client); refusal != kSuccess) {
    actions->push_back(ReplyClient{in.client, in.request, refusal, {}});
    return;
  }
  const uint64_t number = next_++;
  calls_[number] = {in.client, in.request};
  const Job* job = jobs_.Find(caller->nspace);
  actions->push_back(
      AskHost{number, in.op, *caller, job == nullptr ? 0 : job->spec->uid,
              job == nullptr ? 0 : job->spec->gid, in.targets, in.call});
}

int HostCalls::Refusal(const ProcId* caller, ClientId client) const {
  if (caller == nullptr) return kErrInit;
  // A tool is of no job, whose rights the call would have.
  if (jobs_.Find(caller->nspace) == nullptr) return kErrNotSupported;
  const auto count = std::count_if(
      calls_.begin(), calls_.end(),
      [client](const auto& entry) { return entry.second.client == client; });
  return static_cast<size_t>(count) < kMaxHostCalls ? kSuccess
                                                    : kErrOutOfResource;
}

void HostCalls::OnAnswered(const HostAnswered& in, Actions* actions) {
  const auto call = calls_.extract(in.number);
  if (call.empty()) return;
  actions->push_back(ReplyClient{call.mapped().client, call.mapped().request,
                                 in.status, in.results});
}

void HostCalls::OnClientGone(ClientId client) {
  std::erase_if(calls_, [client](const auto& entry) {
    return entry.second.client == client;
  });
}

}  // namespace canopy::core
