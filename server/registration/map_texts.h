// Parses the texts by which hosts describe where processes run.
#ifndef CANOPY_SERVER_REGISTRATION_MAP_TEXTS_H_
#define CANOPY_SERVER_REGISTRATION_MAP_TEXTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "pmix_types.h"
#include "server/registration/problem.h"

namespace canopy::registration {

// Each function reads an existing entry. It returns no value and sets *problem
// if the entry is malformed or exceeds the limits of registration.h. Maps are
// plain lists or the output of PMIx_generate_regex and PMIx_generate_ppn of
// this or another library ("pmix[...]", "raw:...", "blob:" and a zlib stream),
// as a text, as bytes, or as a PMIX_REGEX.

// Reads PMIX_NODE_MAP and similar keys: names without duplicates.
std::optional<std::vector<std::string>> ReadNodeMap(const pmix_info_t& info,
                                                    Problem* problem);

// Reads PMIX_PROC_MAP and similar keys: the ranks of each node.
std::optional<std::vector<std::vector<Rank>>> ReadRankMap(
    const pmix_info_t& info, Problem* problem);

// Reads PMIX_ANL_MAP of a job of `num_ranks` ranks on `num_nodes` nodes:
// "(vector,(0,2,4))" stands for 4 ranks on each of 2 nodes from node 0; the
// groups repeat until all ranks are assigned. Returns the ranks of each node.
std::optional<std::vector<std::vector<Rank>>> ReadVectorMap(
    const pmix_info_t& info, uint32_t num_nodes, uint32_t num_ranks,
    Problem* problem);

// Reads PMIX_LOCAL_PEERS: "0,2-4", or an array of ranks or processes.
std::optional<std::vector<Rank>> ReadRankList(const pmix_info_t& info,
                                              Problem* problem);

// Reads the names of one node, separated by commas, or as an array.
std::optional<std::vector<std::string>> ReadNames(const pmix_info_t& info,
                                                  Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_MAP_TEXTS_H_
