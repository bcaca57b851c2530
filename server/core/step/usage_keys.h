// The statistics of resource usage that agents can measure, as tables of keys.
// The position of a key is its bit in UsageFields, so the order never changes:
// new keys are added at the end.
#ifndef CANOPY_SERVER_CORE_STEP_USAGE_KEYS_H_
#define CANOPY_SERVER_CORE_STEP_USAGE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "pmix_common.h"

namespace canopy::core {

inline constexpr std::string_view kProcUsage[] = {
    PMIX_CMD_LINE,         PMIX_PROC_OS_STATE, PMIX_PROC_TIME,
    PMIX_PROC_PERCENT_CPU, PMIX_PROC_PRIORITY, PMIX_PROC_NUM_THREADS,
    PMIX_PROC_PSS,         PMIX_PROC_VSIZE,    PMIX_PROC_RSS,
    PMIX_PROC_PEAK_VSIZE,  PMIX_PROC_CPU};

inline constexpr std::string_view kNodeUsage[] = {
    PMIX_NODE_LOAD_AVG,       PMIX_NODE_LOAD_AVG5,
    PMIX_NODE_LOAD_AVG15,     PMIX_NODE_MEM_TOTAL,
    PMIX_NODE_MEM_FREE,       PMIX_NODE_MEM_BUFFERS,
    PMIX_NODE_MEM_CACHED,     PMIX_NODE_MEM_SWAP_CACHED,
    PMIX_NODE_MEM_SWAP_TOTAL, PMIX_NODE_MEM_SWAP_FREE,
    PMIX_NODE_MEM_MAPPED};

inline constexpr std::string_view kDiskUsage[] = {
    PMIX_DISK_READ_COMPLETED,  PMIX_DISK_READ_MERGED,
    PMIX_DISK_READ_SECTORS,    PMIX_DISK_READ_MILLISEC,
    PMIX_DISK_WRITE_COMPLETED, PMIX_DISK_WRITE_MERGED,
    PMIX_DISK_WRITE_SECTORS,   PMIX_DISK_WRITE_MILLISEC,
    PMIX_DISK_IO_IN_PROGRESS,  PMIX_DISK_IO_MILLISEC,
    PMIX_DISK_IO_WEIGHTED};

inline constexpr std::string_view kNetUsage[] = {
    PMIX_NET_RECVD_BYTES, PMIX_NET_RECVD_PCKTS, PMIX_NET_RECVD_ERRS,
    PMIX_NET_SENT_BYTES,  PMIX_NET_SENT_PCKTS,  PMIX_NET_SENT_ERRS};

// Returns the bits of all keys of a table.
constexpr uint64_t AllUsage(std::span<const std::string_view> table) {
  return (uint64_t{1} << table.size()) - 1;
}

// Returns the bit of a key; 0 if the table does not contain the key.
constexpr uint64_t UsageBit(std::span<const std::string_view> table,
                            std::string_view key) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == key) return uint64_t{1} << i;
  }
  return 0;
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_USAGE_KEYS_H_
