#include "server/overlay/compatibility.h"

namespace canopy::overlay {
namespace {

// The first version with MemberState::version.
constexpr uint32_t kMemberVersions = 6;

}  // namespace

void RemoveNewerFields(uint32_t version, Frame* frame) {
  if (version >= kMemberVersions || !frame->members.has_value()) return;
  for (MemberState& member : frame->members->changes) member.version = 0;
}

}  // namespace canopy::overlay
