// The connection of one job's launcher to the agent that controls the job.
#ifndef CANOPY_CLIENT_CLI_CONTROL_RUN_CONNECTION_H_
#define CANOPY_CLIENT_CLI_CONTROL_RUN_CONNECTION_H_

#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// One thread reads; any thread writes.
class RunConnection {
 public:
  virtual ~RunConnection() = default;
  // Sends a request. May block until there is room. Returns false if the
  // connection is broken; the reader notices this too. Requests written shortly
  // before may be lost.
  virtual bool Write(const control::v1::RunRequest& request) = 0;
  // Waits for the next event. Returns false at the end of the stream.
  virtual bool Read(control::v1::RunEvent* event) = 0;
  // Returns the reason given by the side that ended the connection; may be
  // empty. Valid after Read returned false.
  virtual std::string WhyEnded() = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_RUN_CONNECTION_H_
