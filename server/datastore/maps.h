// Text forms of node lists and process maps, as PMIx keys contain them.
#ifndef CANOPY_SERVER_DATASTORE_MAPS_H_
#define CANOPY_SERVER_DATASTORE_MAPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"

namespace canopy::datastore {

// Returns "0,1,2", for example.
std::string RankList(const std::vector<Rank>& ranks);
// Returns "a,b,c", for example.
std::string Join(const std::vector<std::string>& texts, char separator);

// Returns PMIX_PROC_MAP_RAW: the ranks of each node; semicolons separate the
// nodes.
std::string ProcMapRaw(const std::vector<std::vector<Rank>>& ranks);
// Returns PMIX_PROC_MAP: the same data with ranges, such as "pmix[0-3;4-7]".
std::string ProcMapRegex(const std::vector<std::vector<Rank>>& ranks);

// Returns PMIX_ANL_MAP and PMI-1's PMI_process_mapping: "(vector,(N,C,P),...)".
// Each group stands for C nodes from number N with P ranks each, in the order
// of the ranks; the whole list repeats if ranks are mapped round-robin.
// `node_of_rank[r]` is the node of rank r.
std::string ProcessMapping(const std::vector<uint32_t>& node_of_rank);

}  // namespace canopy::datastore

#endif  // CANOPY_SERVER_DATASTORE_MAPS_H_
