// Resources that an agent holds, by kind, for tests and leak checks.
#ifndef CANOPY_SERVER_CORE_RESOURCE_COUNTS_H_
#define CANOPY_SERVER_CORE_RESOURCE_COUNTS_H_

#include <compare>
#include <cstddef>

namespace canopy::core {

// A job's resources are released with the job: all counts of an agent without
// jobs and clients are 0 after the other agents have reported which jobs have
// ended. Publications that outlive their job are not counted.
struct ResourceCounts {
  size_t jobs = 0;         // jobs whose map the agent has
  size_t launched = 0;     // jobs of which this agent has a part
  size_t clients = 0;      // connected processes and tools
  size_t collectives = 0;  // collective series
  size_t connections = 0;  // connected participant lists
  size_t groups = 0;       // process groups with local members
  size_t deadlines = 0;    // of collectives
  size_t gets = 0;         // held for clients and other agents
  size_t fetches = 0;      // pending direct modex requests
  size_t modex_jobs = 0;   // jobs with committed data
  size_t modex_keys = 0;   // in the indices of gets with rank UNDEF
  size_t map_requests = 0;
  size_t aborts = 0;  // not known to have reached the job's controller
  size_t spawns = 0;  // requests held or in progress
  size_t questions = 0;
  size_t queries = 0;  // calls in progress, and measurements for other agents
  size_t host_calls = 0;  // calls in progress, and their targets
  size_t forwarding = 0;  // pullers, and pending reads of output
  size_t listeners = 0;   // clients with event handlers
  size_t process_sets = 0;
  size_t publications = 0;  // except those that outlive their jobs
  size_t publishing = 0;    // publishes, lookups and unpublishes in progress

  auto operator<=>(const ResourceCounts&) const = default;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_RESOURCE_COUNTS_H_
