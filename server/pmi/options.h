// Configuration of the endpoint for PMI clients.
#ifndef CANOPY_SERVER_PMI_OPTIONS_H_
#define CANOPY_SERVER_PMI_OPTIONS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/core/step/log_line.h"
#include "server/endpoint/rotation.h"
#include "server/ports/fd_store_port.h"

namespace canopy::pmi {

struct PmiOptions {
  NodeId self = 0;
  // Returns the VALUE (codec form) of a key that any rank of the namespace
  // committed; no value if there is none.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_key;
  // Returns the VALUE of a job-level key; no value if there is none.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_job_key;
  std::function<void(const core::LogLine&)> log;
  // Stores the file of each job's rank states, and the ranks' sockets. Null:
  // there is no successor.
  FdStorePort* fd_store = nullptr;
  endpoint::Budget budget;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_OPTIONS_H_
