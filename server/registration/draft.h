// The entries of a registration, sorted by the objects that they describe,
// before contradictions are resolved.
#ifndef CANOPY_SERVER_REGISTRATION_DRAFT_H_
#define CANOPY_SERVER_REGISTRATION_DRAFT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix_types.h"
#include "server/registration/entry.h"
#include "server/registration/problem.h"

namespace canopy::registration {

// The content of one PMIX_NODE_INFO_ARRAY; several arrays may describe one
// node.
struct DraftNode {
  std::string name;  // empty: only its number is known
  std::vector<std::string> aliases;
  std::optional<uint32_t> id;
  std::optional<std::vector<Rank>> peers;  // PMIX_LOCAL_PEERS
  Level level;
};

struct DraftProc {
  // The application (key of Draft::apps) whose array contains the process.
  std::optional<uint32_t> app;
  // The node (index in Draft::nodes) whose array contains the process.
  std::optional<size_t> node;
  Level level;
};

struct Draft {
  Level session;
  Level job;  // includes the entries outside all arrays
  std::map<uint32_t, Level> apps;
  std::vector<DraftNode> nodes;
  std::map<Rank, DraftProc> procs;
  // Entries that were packed in other entries.
  std::deque<InfoList> unpacked;
};

// Sorts the entries of the call. Levels point to `infos`, which must outlive
// the draft. Returns false and sets *problem if an entry is invalid.
bool MakeDraft(const std::string& nspace, std::span<const pmix_info_t> infos,
               Draft* draft, Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_DRAFT_H_
