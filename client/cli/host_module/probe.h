// The channel to the service, and the identity of the check: a simulated
// overlay with two nodes of two slots each.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_PROBE_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_PROBE_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <cstdint>
#include <memory>
#include <string>

#include "protos/canopy/hostmodule/v1/host_module.grpc.pb.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::cli {

inline constexpr const char* kProbeNodes[] = {"check1", "check2"};
inline constexpr uint32_t kSlotsOfNode = 2;
inline constexpr uint32_t kAllSlots = 4;

// Returns the alias of a node.
std::string AliasOf(const std::string& node);

// Returns the milliseconds since 1970.
int64_t NowMs();

// Used by one thread, except for stub().
class Probe {
 public:
  // `timeout_ms` is the time for an answer. A tenth of that time is used to
  // confirm that an event does not happen.
  Probe(const std::shared_ptr<grpc::Channel>& channel, int timeout_ms);
  // Creates another overlay at the same service.
  Probe(const Probe& other);
  Probe& operator=(const Probe&) = delete;

  hostmodule::v1::HostModuleService::Stub* stub() const { return stub_.get(); }
  int timeout_ms() const { return timeout_ms_; }
  int quiet_ms() const { return timeout_ms_ / 10; }
  // Sets the deadline of a call that the service answers at once.
  void SetDeadline(grpc::ClientContext* context) const;

  hostmodule::v1::Overlay overlay() const;
  hostmodule::v1::Caller caller() const;
  // Returns an identifier that is unique in this check.
  std::string NextId(const std::string& kind);

 private:
  const std::shared_ptr<hostmodule::v1::HostModuleService::Stub> stub_;
  const int timeout_ms_;
  const std::string overlay_id_;
  int last_id_ = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_PROBE_H_
