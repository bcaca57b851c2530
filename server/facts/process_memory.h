// Memory that processes use.
#ifndef CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_
#define CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_

#include <cstdint>

namespace canopy::facts {

// Bytes of a process that are in memory, those that it shares with others
// included; 0: there is no such process, or it may not be known. A few
// microseconds. Any thread.
uint64_t ResidentBytes(int pid);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_PROCESS_MEMORY_H_
