#include "server/openpmix/group_reply.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

using GroupReply = PeerTraits::GroupReply;

std::vector<ProcId> MembersIn(const InfoList& results) {
  std::vector<ProcId> members;
  const pmix_info_t* info = results.Find(PMIX_GROUP_MEMBERSHIP);
  if (info == nullptr || info->value.type != PMIX_DATA_ARRAY) return members;
  const pmix_data_array_t* array = info->value.data.darray;
  if (array == nullptr || array->type != PMIX_PROC) return members;
  const auto* procs = static_cast<const pmix_proc_t*>(array->array);
  for (const pmix_proc_t& proc : std::span(procs, array->size)) {
    members.push_back(FromC(proc));
  }
  return members;
}

// Returns the arrays of INFO with the data that members share.
std::vector<const pmix_info_t*> SharedIn(const InfoList& results) {
  std::vector<const pmix_info_t*> shared;
  for (const pmix_info_t& info : results) {
    if (KeyOf(info) == PMIX_GROUP_INFO) shared.push_back(&info);
  }
  return shared;
}

}  // namespace

bool PackGroup(const PeerTraits& peer, std::string_view results, Encoder* out) {
  InfoList infos;
  if (!DecodeInfos(results, &infos)) return false;
  const std::optional<uint64_t> context = infos.FindUint(PMIX_GROUP_CONTEXT_ID);
  if (peer.group_reply != GroupReply::kContextId) {
    const std::vector<ProcId> members = MembersIn(infos);
    out->PackSize(members.size());
    out->PackProcs(members);
  }
  if (peer.group_reply == GroupReply::kFlagged ||
      peer.group_reply == GroupReply::kWithShared) {
    out->PackByte(PMIX_BOOL, context.has_value() ? 1 : 0);
  }
  if (context) out->PackSize(*context);
  if (peer.group_reply != GroupReply::kWithShared) return out->ok();
  const std::vector<const pmix_info_t*> shared = SharedIn(infos);
  out->PackSize(shared.size());
  for (const pmix_info_t* info : shared) out->PackInfos({info, 1});
  return out->ok();
}

}  // namespace canopy::openpmix
