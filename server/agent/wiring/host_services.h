// The operations, except job control, that processes request from the host, and
// the services that decide them.
#ifndef CANOPY_SERVER_AGENT_WIRING_HOST_SERVICES_H_
#define CANOPY_SERVER_AGENT_WIRING_HOST_SERVICES_H_

#include <optional>

#include "common/event_loop.h"
#include "protos/bootstrap.pb.h"
#include "server/credential/credential_service.h"
#include "server/host/embedded_host.h"
#include "server/log/log_service.h"
#include "server/log/syslog.h"
#include "server/monitor/monitor_service.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_text.h"
#include "server/security/cluster_key.h"

namespace canopy::agent {

// Loop thread only.
class HostServices {
 public:
  struct Parts {
    EventLoop* loop = nullptr;  // outlives this object, like `sink`
    InputSink* sink = nullptr;
    const bootstrap::v1::Config* config = nullptr;
    std::optional<security::ClusterKey> key;  // no value: there is none
    PutText put_text;
  };
  explicit HostServices(const Parts& parts);
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // Adds the services to a host. This object must exist as long as the host
  // calls them.
  void AddTo(host::EmbeddedHost* host);
  log::Syslog& syslog() { return syslog_; }
  monitor::MonitorService& monitors() { return monitors_; }

 private:
  void AddCredentials(host::EmbeddedHost* host);

  credential::CredentialService credentials_;
  log::Syslog syslog_;
  log::LogService log_;
  monitor::MonitorService monitors_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_HOST_SERVICES_H_
