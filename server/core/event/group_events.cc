#include "server/core/event/group_events.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/event/events.h"
#include "server/core/step/group_keys.h"

namespace canopy::core {
namespace {

constexpr int kGroupLeft = -160;          // PMIX_GROUP_LEFT
constexpr int kGroupMemberFailed = -170;  // PMIX_GROUP_MEMBER_FAILED

// Marks the identity of the event that a process has left a group; the rest of
// the number identifies the group. The identities of events about ends have
// lower numbers.
constexpr uint64_t kIsLeft = uint64_t{1} << 62;

uint64_t IdOfLeft(const Group& group) {
  return kAgentsEvent | kIsLeft | (group.record.made & (kIsLeft - 1));
}

Bytes InfoAbout(const Group& group, const ProcId& proc) {
  Encoder out;
  out.PutSize(2);
  out.PutString(kGroupIdKey);
  out.PutUint32(0);
  out.PutUint16(PMIX_STRING);
  out.PutString(group.name);
  out.PutString(kAffectedProcKey);
  out.PutUint32(0);
  out.PutUint16(PMIX_PROC);
  out.PutProc(proc);
  return Bytes(out.Take());
}

// Maximum number of members to which an event is addressed one by one. An event
// of a larger group is addressed to the group's participants (possibly whole
// jobs), although some of them may not be members, and is sent to every agent.
constexpr size_t kMaxTargets = 1024;

// Returns all members except `proc`. For a large group of whole jobs, returns
// the participants without looking at each member.
std::vector<ProcId> OthersIn(const Group& group, const ProcId& proc,
                             const JobTable& jobs) {
  if (group.participants.size() <= kMaxTargets &&
      CountMembers(group.participants, jobs) > kMaxTargets) {
    return group.participants;
  }
  std::vector<ProcId> members = group.Members(jobs);
  std::erase(members, proc);
  return members;
}

EventRaised About(const Group& group, int status, const ProcId& proc,
                  std::vector<ProcId> targets) {
  EventRaised event;
  event.status = status;
  event.source = proc;
  event.range = static_cast<uint8_t>(DataRange::kCustom);
  event.targets = std::move(targets);
  event.info = InfoAbout(group, proc);
  return event;
}

}  // namespace

// Groups of one name differ in the number of their construct (`made`).
uint64_t IdOfGroup(const Group& group) {
  uint64_t hash = 14695981039346656037u ^ group.record.made;
  for (const char c : group.name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return hash | 1;
}

EventRaised MemberFailed(const Group& group, const ProcId& member,
                         const JobTable& jobs) {
  const ProcId& leader = group.record.leader;
  const bool led = !leader.nspace.empty() && leader != member;
  return About(
      group, kGroupMemberFailed, member,
      led ? std::vector<ProcId>{leader} : OthersIn(group, member, jobs));
}

EventRaised MemberLeft(const Group& group, const ProcId& process,
                       const JobTable& jobs) {
  EventRaised event =
      About(group, kGroupLeft, process, OthersIn(group, process, jobs));
  event.id = IdOfLeft(group);
  return event;
}

std::optional<LeftGroup> GroupLeft(const EventMessage& event) {
  constexpr uint64_t kMarks = kAgentsEvent | kIsLeft;
  if (event.status != kGroupLeft || (event.request & kMarks) != kMarks) {
    return std::nullopt;
  }
  Decoder in(event.info.view());
  uint16_t type = 0;
  std::string_view name;
  if (!SeekInfo(kGroupIdKey, &in) || !in.GetUint16(&type) ||
      type != PMIX_STRING || !in.GetString(&name)) {
    return std::nullopt;
  }
  return LeftGroup{std::string(name), event.request & (kIsLeft - 1)};
}

}  // namespace canopy::core
