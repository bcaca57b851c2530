// The host in C as the agent's core asks it.
#ifndef CANOPY_SERVER_LIBRARY_MODULE_HOST_H_
#define CANOPY_SERVER_LIBRARY_MODULE_HOST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "pmix_server.h"
#include "server/core/step/host.h"
#include "server/library/host_calls.h"
#include "server/library/upcalls.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"

namespace canopy::library {

// Loop thread only. A host that never answers is waited for as long as who asks
// is there.
class ModuleHost : public HostPort {
 public:
  // All outlive it; the calls may outlive it.
  ModuleHost(const canopy_server_module_t* module, Upcalls* upcalls,
             InputSink* sink)
      : calls_(module, upcalls), sink_(sink) {}

  void Ask(const core::AskHost& request) override;
  void DropJob(const std::string& nspace) override;

 private:
  HostCalls calls_;
  InputSink* const sink_;
  // The calls under way, and who asks.
  using Pending = std::map<uint64_t, std::string>;
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_MODULE_HOST_H_
