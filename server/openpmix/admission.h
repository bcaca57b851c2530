// Decides who a connection is, by its greeting.
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

// Who has proved its identity is kProved, and kServing once it is admitted,
// with its welcome queued; a rank whose process is not known yet is kWaiting.
// The caller closes what is refused. Loop thread only; `options` and `jobs`
// outlive it.
class Admission {
 public:
  Admission(const OpenPmixOptions* options, Jobs* jobs);

  // The greeting of a connection that is kNew.
  Status Greet(Connection& c, std::string_view payload);
  // Of a connection that claims to be a rank: once more when the rank's process
  // has become known.
  Status Identify(Connection& c);
  // One that is kProved is served from now on. `name`: for a tool that wants
  // an identity; with an empty namespace it gets one that is unique.
  Status Admit(Connection& c, const ProcId& name);
  // One is closed.
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
