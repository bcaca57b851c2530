// The map of a job for people.
#ifndef CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_
#define CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// Which ranks run where, as a table.
std::string MapText(const control::v1::JobMapped& mapped);
// The job's nodes and their slots.
std::string AllocationText(const control::v1::JobMapped& mapped);
// One line for each rank: the CPUs that it is bound to.
std::string BindingsText(const control::v1::JobMapped& mapped);

// "0-3,7" of sorted numbers.
std::string RangesText(std::span<const uint32_t> sorted);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_
