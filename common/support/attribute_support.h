// The functions and attributes that this release supports, at the levels that
// PMIX_QUERY_ATTRIBUTE_SUPPORT distinguishes. They are derived from the tables
// of the headers, without the attributes that neither Canopy nor its scheduler
// honours.
#ifndef CANOPY_COMMON_SUPPORT_ATTRIBUTE_SUPPORT_H_
#define CANOPY_COMMON_SUPPORT_ATTRIBUTE_SUPPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/values/value.h"

namespace canopy::support {

enum class Level : uint8_t { kClient, kServer, kHost, kTool };

// A query's request: functions, and attributes of functions, by level.
struct Levels {
  std::vector<Level> functions;
  std::vector<Level> attributes;
};

// The features that only a scheduler can provide, and whether the present
// scheduler provides them.
struct Scheduler {
  bool places_jobs = false;  // PMIX_ALLOC_* of PMIx_Spawn
  bool allocates = false;    // PMIx_Allocation_request
};

// Returns the levels that the keys of the query's qualifiers request
// (PMIX_CLIENT_FUNCTIONS, PMIX_HOST_ATTRIBUTES, ...); other keys are ignored.
// Without such keys, the result is the attributes of all levels.
Levels LevelsOf(std::span<const std::string> keys);

// An attribute as PMIx_Register_attributes declares it.
struct Attribute {
  std::string name;  // its macro, "PMIX_TIMEOUT"
  std::string key;
  uint16_t type = 0;  // pmix_data_type_t; 0: not fixed
  std::vector<std::string> description;
};

// Returns the functions of each level, separated by commas, with the key that
// requests them (PMIX_CLIENT_FUNCTIONS, ...).
std::vector<std::pair<std::string, std::string>> Functions(
    const Levels& levels, const Scheduler& scheduler = {});
// Returns the attributes of a function at one level; empty if the function is
// not supported there or takes none.
std::vector<Attribute> AttributesAt(std::string_view function, Level level,
                                    const Scheduler& scheduler = {});
// Returns the key of the attributes of a level, such as "pmix.client.attrs".
std::string_view KeyOf(Level level);
// Returns a data array of pmix_regattr_t.
Value RegattrArray(std::span<const Attribute> attributes);
// Returns the answer to a query for a function's attributes: a data array of
// infos, one for each of these levels that has attributes; the value of an info
// is a RegattrArray. Returns the empty value if no level has attributes.
Value AttributesOf(std::string_view function, const Levels& levels,
                   const Scheduler& scheduler = {});

// Return the answers to PMIX_QUERY_SPAWN_SUPPORT and PMIX_QUERY_DEBUG_SUPPORT:
// the keys of the attributes, separated by commas.
std::string SpawnAttributes(const Scheduler& scheduler = {});
std::string DebugAttributes();

}  // namespace canopy::support

#endif  // CANOPY_COMMON_SUPPORT_ATTRIBUTE_SUPPORT_H_
