// The texts in which hosts write where processes run.
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

// Each reads an entry that is there and gives nothing, with a *problem, when it
// is malformed or larger than the limits of registration.h. Maps are plain
// lists, what PMIx_generate_regex and PMIx_generate_ppn of this or another
// library give of them ("pmix[...]", "raw:...", "blob:" and a zlib stream), as
// a text, as bytes, or as a PMIX_REGEX.

// PMIX_NODE_MAP and its kind: names, none of them twice.
std::optional<std::vector<std::string>> ReadNodeMap(const pmix_info_t& info,
                                                    Problem* problem);

// PMIX_PROC_MAP and its kind: the ranks of each node.
std::optional<std::vector<std::vector<Rank>>> ReadRankMap(
    const pmix_info_t& info, Problem* problem);

// PMIX_ANL_MAP of a job of `num_ranks` on `num_nodes`: "(vector,(0,2,4))" for 4
// ranks on each of 2 nodes from node 0 on; the groups repeat while ranks are
// left. The ranks of each node.
std::optional<std::vector<std::vector<Rank>>> ReadVectorMap(
    const pmix_info_t& info, uint32_t num_nodes, uint32_t num_ranks,
    Problem* problem);

// PMIX_LOCAL_PEERS: "0,2-4", or an array of ranks or processes.
std::optional<std::vector<Rank>> ReadRankList(const pmix_info_t& info,
                                              Problem* problem);

// Names of one node, separated by commas, or as an array.
std::optional<std::vector<std::string>> ReadNames(const pmix_info_t& info,
                                                  Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_MAP_TEXTS_H_
