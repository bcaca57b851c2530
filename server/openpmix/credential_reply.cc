#include "server/openpmix/credential_reply.h"

#include <optional>
#include <string>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/openpmix/kvals.h"

namespace canopy::openpmix {

bool PackCredential(const PeerTraits& peer, std::string_view results,
                    Encoder* out) {
  InfoList infos;
  if (!DecodeInfos(results, &infos)) return false;
  const pmix_info_t* info = infos.Find(PMIX_CREDENTIAL);
  if (info == nullptr) return false;
  const std::optional<std::string_view> bytes = BytesOf(info->value);
  if (!bytes) return false;
  out->PackByteObject(*bytes);
  infos.Remove(PMIX_CREDENTIAL);
  std::string others;
  return EncodeInfos(infos.data(), infos.size(), &others) == PMIX_SUCCESS &&
         PackInfos(peer, others, out);
}

}  // namespace canopy::openpmix
