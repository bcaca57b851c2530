// The map of a job for people.
#ifndef CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_
#define CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// Returns a table of the ranks on each node.
std::string MapText(const control::v1::JobMapped& mapped);
// Returns the job's nodes and their slots.
std::string AllocationText(const control::v1::JobMapped& mapped);
// Returns one line for each rank with the CPUs to which it is bound: as a list,
// and also as a picture if the map has the topology of the node.
std::string BindingsText(const control::v1::JobMapped& mapped);

// Returns sorted numbers as ranges, such as "0-3,7".
std::string RangesText(std::span<const uint32_t> sorted);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_MAP_TEXT_H_
