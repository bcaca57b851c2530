// The host in C as the core's HostPort.
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

// A call waits for the host's answer as long as its source exists, even if the
// host never answers. Loop thread only.
class ModuleHost : public HostPort {
 public:
  // All arguments outlive the object; calls may outlive it.
  ModuleHost(const canopy_server_module_t* module, Upcalls* upcalls,
             InputSink* sink)
      : calls_(module, upcalls), sink_(sink) {}

  void Ask(const core::AskHost& request) override;
  void DropJob(const std::string& nspace) override;

 private:
  HostCalls calls_;
  InputSink* const sink_;
  // Pending calls, and the namespace of each source.
  using Pending = std::map<uint64_t, std::string>;
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_MODULE_HOST_H_
