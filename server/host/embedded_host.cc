#include "server/host/embedded_host.h"

namespace canopy::host {

void EmbeddedHost::Ask(const core::AskHost& request) {
  (*open_)[request.number] = request.source.nspace;
  const Answer answer = [sink = sink_, number = request.number,
                         calls = std::weak_ptr(open_)](const Status& status,
                                                       Bytes results) {
    const auto open = calls.lock();
    if (open == nullptr || open->erase(number) == 0) return;
    sink->OnInput(
        core::HostAnswered{number, status.code(), std::move(results)});
  };
  const auto decider = deciders_.find(request.op);
  if (decider == deciders_.end()) {
    return answer(Status(kErrNotSupported, "no such service"), {});
  }
  decider->second(request, answer);
}

void EmbeddedHost::DropJob(const std::string& nspace) {
  std::erase_if(*open_,
                [&](const auto& call) { return call.second == nspace; });
  for (const Drop& drop : drops_) drop(nspace);
}

}  // namespace canopy::host
