// Determines the identity of a connection from its greeting.
#ifndef CANOPY_SERVER_OPENPMIX_ADMISSION_H_
#define CANOPY_SERVER_OPENPMIX_ADMISSION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/status.h"
#include "server/endpoint/tool_registry.h"
#include "server/openpmix/connection.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/jobs.h"
#include "server/openpmix/options.h"

namespace canopy::openpmix {

// A connection that has proved its identity is kProved; when it is admitted, it
// is kServing and its welcome is queued. A rank whose process is not known yet
// is kWaiting. The caller closes rejected connections. Loop thread only;
// `options` and `jobs` must outlive this object.
class Admission {
 public:
  Admission(const OpenPmixOptions* options, Jobs* jobs);

  // Handles the greeting of a connection that is kNew. An error means that the
  // connection is rejected.
  Status Greet(Connection& c, std::string_view payload);
  // Checks a connection that claims to be a rank; called again when the rank's
  // process becomes known. An error means that the connection is rejected.
  Status Identify(Connection& c);
  // Admits a connection that is kProved. A tool that requests an identity
  // becomes `name`, or gets a unique name if the namespace of `name` is empty.
  // An error means that the connection is rejected.
  Status Admit(Connection& c, const ProcId& name);
  // Records that a connection is closed.
  void OnClosed(const Connection& c);

 private:
  Status GreetTool(Connection& c, const ConnectMessage& message);
  Status AdmitTool(Connection& c, const ProcId& name);
  Status Prove(const Connection& c, const Jobs::Process& rank) const;

  const OpenPmixOptions* const options_;
  Jobs* const jobs_;
  const std::shared_ptr<endpoint::ToolRegistry> tools_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_ADMISSION_H_
