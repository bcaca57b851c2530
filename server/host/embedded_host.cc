#include "server/host/embedded_host.h"

namespace canopy::host {

void EmbeddedHost::Ask(const core::AskHost& request) {
  const Answer answer = [sink = sink_, number = request.number](
                            const Status& status, Bytes results) {
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
  for (const Drop& drop : drops_) drop(nspace);
}

}  // namespace canopy::host
