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
  // May wait until there is room. False: the connection is broken, which the
  // reader learns too. What was written just before that may be lost.
  virtual bool Write(const control::v1::RunRequest& request) = 0;
  // Waits for the next event. False: there are no more.
  virtual bool Read(control::v1::RunEvent* event) = 0;
  // After Read gave false: why, in the words of who ended it; or empty.
  virtual std::string WhyEnded() = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_RUN_CONNECTION_H_
