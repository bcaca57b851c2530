#include "server/openpmix/peer_traits.h"

#include <algorithm>

namespace canopy::openpmix {
namespace {

struct CodecRow {
  std::string_view name;
  CodecForm form;
};

constexpr CodecForm Modern(pmix_data_type_t max_type) {
  CodecForm form;
  form.max_type = max_type;
  return form;
}

constexpr CodecRow kCodecs[] = {
    {"v3", kV3Form},
    {"v4", Modern(PMIX_PROC_NSPACE)},
    {"v41", Modern(PMIX_STOR_ACCESS_TYPE)},
    {"v51", Modern(PMIX_RESOURCE_UNIT)},
    {"v61", Modern(PMIX_ALLOC_INHERIT)},
};

constexpr uint32_t Version(uint32_t major, uint32_t minor, uint32_t release) {
  return major << 16 | minor << 8 | release;
}

uint32_t ParseVersion(std::string_view text) {
  uint32_t parts[3] = {};
  size_t at = 0;
  for (uint32_t& part : parts) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      part = std::min(part * 10 + static_cast<uint32_t>(text[at++] - '0'),
                      uint32_t{255});
    }
    if (at >= text.size() || text[at++] != '.') break;
  }
  return Version(parts[0], parts[1], parts[2]);
}

PeerTraits::GroupReply GroupReplyOf(uint32_t version) {
  if (version < Version(4, 2, 4)) return PeerTraits::GroupReply::kContextId;
  if (version < Version(6, 0, 0)) return PeerTraits::GroupReply::kMembers;
  if (version < Version(6, 1, 0)) return PeerTraits::GroupReply::kFlagged;
  return PeerTraits::GroupReply::kWithShared;
}

size_t MaxReply(uint32_t version) {
  if (version >= Version(6, 1, 0)) return size_t{32} << 20;
  if (version >= Version(4, 2, 0) || version < Version(4, 1, 0)) {
    return SIZE_MAX;
  }
  return size_t{16} << 20;
}

}  // namespace

std::optional<PeerTraits> TraitsOf(std::string_view version,
                                   std::string_view codec, bool described) {
  const auto* row = std::ranges::find(kCodecs, codec, &CodecRow::name);
  if (row == std::end(kCodecs)) return std::nullopt;
  const uint32_t v = ParseVersion(version);
  PeerTraits traits;
  traits.form = row->form;
  traits.form.described = described;
  traits.form.undef_array_has_size = v < Version(6, 1, 0);
  traits.max_reply_bytes = MaxReply(v);
  traits.iof_pull_has_handle = v >= Version(4, 1, 0);
  traits.group_destruct_has_procs = v >= Version(4, 2, 4);
  traits.group_reply = GroupReplyOf(v);
  traits.asks_for_places = v >= Version(4, 2, 0);
  traits.reads_statistics = v < Version(6, 1, 0);
  return traits;
}

}  // namespace canopy::openpmix
