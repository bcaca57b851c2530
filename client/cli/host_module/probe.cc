#include "client/cli/host_module/probe.h"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>

namespace canopy::cli {
namespace {

std::string RandomId() {
  std::string id(16, '\0');
  (void)!getrandom(id.data(), id.size(), 0);
  return id;
}

}  // namespace

std::string AliasOf(const std::string& node) { return node + ".cluster"; }

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Probe::Probe(const std::shared_ptr<grpc::Channel>& channel, int timeout_ms)
    : stub_(hostmodule::v1::HostModuleService::NewStub(channel)),
      timeout_ms_(timeout_ms),
      overlay_id_(RandomId()) {}

Probe::Probe(const Probe& other)
    : stub_(other.stub_),
      timeout_ms_(other.timeout_ms_),
      overlay_id_(RandomId()) {}

void Probe::SetDeadline(grpc::ClientContext* context) const {
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(timeout_ms_));
}

hostmodule::v1::Overlay Probe::overlay() const {
  hostmodule::v1::Overlay overlay;
  overlay.set_overlay_id(overlay_id_);
  overlay.set_context("host-module-check");
  overlay.set_agent(kProbeNodes[0]);
  return overlay;
}

hostmodule::v1::Caller Probe::caller() const {
  hostmodule::v1::Caller caller;
  caller.mutable_user()->set_uid(geteuid());
  caller.mutable_user()->set_gid(getegid());
  return caller;
}

std::string Probe::NextId(const std::string& kind) {
  return "check-" + kind + "-" + std::to_string(++last_id_);
}

}  // namespace canopy::cli
