#ifndef CANOPY_CLIENT_PMI_KEY_VALUES_H_
#define CANOPY_CLIENT_PMI_KEY_VALUES_H_

#include <string>
#include <utility>
#include <vector>

namespace canopy::pmi {

// Pairs of a name and its value, in the order in which they were given.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_KEY_VALUES_H_
