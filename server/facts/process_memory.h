// Memory usage of processes.
#ifndef CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_
#define CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_

#include <cstdint>

namespace canopy::facts {

// Returns the resident bytes of a process, including shared memory. Returns 0
// if there is no such process, or if access is denied. Takes a few
// microseconds. Thread-safe.
uint64_t ResidentBytes(int pid);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_
