#include "server/library/module_host.h"

#include <utility>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::library {

void ModuleHost::Ask(const core::AskHost& request) {
  (*pending_)[request.number] = request.source.nspace;
  const int status =
      calls_.Call(request, [sink = sink_, number = request.number,
                            alive = std::weak_ptr<Pending>(pending_)](
                               int answer, std::string results) {
        const auto pending = alive.lock();
        if (pending == nullptr || pending->erase(number) == 0) return;
        sink->OnInput(
            core::HostAnswered{number, answer, Bytes(std::move(results))});
      });
  if (status == kSuccess) return;
  pending_->erase(request.number);
  sink_->OnInput(core::HostAnswered{request.number, status, {}});
}

void ModuleHost::DropJob(const std::string& nspace) {
  std::erase_if(*pending_,
                [&](const auto& call) { return call.second == nspace; });
}

}  // namespace canopy::library
