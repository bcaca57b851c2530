#include "server/core/event/lifecycle.h"

#include <sys/wait.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/data_range.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/event_info.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// A code's index is its bit in messages between agents, so new codes are only
// appended.
constexpr int kCodes[] = {kEventProcTerminated,  kErrProcKilledByCmd,
                          kErrProcFailedToStart, kErrProcAbortedBySig,
                          kErrExitNonzeroTerm,   kEventJobStart,
                          kEventLaunchComplete,  kEventJobEnd,
                          kErrJobAborted,        kErrJobKilledByCmd,
                          kErrJobAbortedBySig,   kErrJobTermWoSync,
                          kErrJobNonZeroTerm,    kErrJobAbortedBySysEvent};
static_assert(std::size(kCodes) < 32);

// Marks the identity of a loss. group_events.cc and process_sets.cc use other
// bits.
constexpr uint64_t kIsLoss = uint64_t{1} << 59;

bool IsNodeCode(int code) {
  return code == kEventNodeDown || code == kEventNodeOffline;
}

EventRaised ForSession(const ProcId& source, int code,
                       std::vector<ProcId> except) {
  EventRaised event;
  event.status = code;
  event.source = source;
  event.range = static_cast<uint8_t>(DataRange::kSession);
  event.targets = std::move(except);
  return event;
}

}  // namespace

uint32_t LifecycleBit(int code) {
  for (size_t i = 0; i < std::size(kCodes); ++i) {
    if (kCodes[i] == code) return uint32_t{1} << i;
  }
  return 0;
}

bool IsOfWholeJob(const EventMessage& message) {
  return message.source.rank == kRankWildcard &&
         LifecycleBit(message.status) != 0;
}

bool IsForItsCodeAlone(const EventMessage& message) {
  if ((message.request & kAgentsEvent) == 0) return false;
  if (LifecycleBit(message.status) == 0 && !IsNodeCode(message.status)) {
    return false;
  }
  return HasFlag(message.info, kNonDefaultKey);
}

int CodeOfEnd(const ProcExit& exit, bool told) {
  if (exit.wait_status == kNeverStarted) return kErrProcFailedToStart;
  if (exit.wait_status == 0) return 0;
  if (told) return kErrProcKilledByCmd;
  return WIFSIGNALED(exit.wait_status) ? kErrProcAbortedBySig
                                       : kErrExitNonzeroTerm;
}

int CodeOfJobEnd(int status) {
  switch (status) {
    case kErrProcTermWoSync:
      return kErrJobTermWoSync;
    case kErrNodeDown:
      return kErrJobAbortedBySysEvent;
    // The job's time limit expired.
    case kErrTimeout:
      return kErrJobKilledByCmd;
    case kErrJobAborted:
    case kErrJobTermWoSync:
    case kErrJobKilledByCmd:
    case kErrJobAbortedBySig:
    case kErrJobNonZeroTerm:
      return status;
    default:
      return 0;
  }
}

uint64_t IdOfProcEvent(uint32_t incarnation, ProcEvent event) {
  return kAgentsEvent | uint64_t{incarnation} << 16 |
         static_cast<uint32_t>(event);
}

uint64_t IdOfJobEvent(int code, bool for_spawner) {
  return kAgentsEvent | (for_spawner ? uint64_t{1} << 32 : 0) |
         static_cast<uint32_t>(-code);
}

uint64_t IdOfTimeWarning(uint32_t number) {
  constexpr uint32_t kNumbers = 1 << 24;
  return IdOfJobEvent(kAllocTimeoutWarning, false) | uint64_t{number % kNumbers}
                                                         << 33;
}

uint64_t IdOfLoss(uint64_t number) {
  return kAgentsEvent | kIsLoss | (number & (kIsLoss - 1));
}

bool IsLoss(const EventMessage& message) {
  constexpr uint64_t kMask = ~(kIsLoss - 1);
  return (message.request & kMask) == (kAgentsEvent | kIsLoss);
}

EventRaised ProcLifecycleEvent(const ProcId& proc, uint32_t incarnation,
                               int code, const int* exit_code,
                               std::vector<ProcId> except) {
  EventRaised event = ForSession(proc, code, std::move(except));
  event.id = IdOfProcEvent(incarnation, code == kEventProcTerminated
                                            ? ProcEvent::kTerminated
                                            : ProcEvent::kCode);
  event.info = LifecycleInfo(proc, exit_code);
  return event;
}

EventRaised JobLifecycleEvent(const std::string& nspace, int code, Bytes info,
                              std::vector<ProcId> except) {
  EventRaised event =
      ForSession({nspace, kRankWildcard}, code, std::move(except));
  event.id = IdOfJobEvent(code, false);
  event.info = std::move(info);
  return event;
}

EventRaised NodeLifecycleEvent(const ProcId& agent, const std::string& name,
                               uint64_t life, bool left) {
  EventRaised event =
      ForSession(agent, left ? kEventNodeOffline : kEventNodeDown, {});
  event.id = IdOfLoss(life);
  Encoder out;
  out.PutSize(3);
  PutInfo("pmix.hname", PMIX_STRING, &out);
  out.PutString(name);
  PutInfo("pmix.nodeid", PMIX_UINT32, &out);
  out.PutUint32(agent.rank);
  PutFlag(kNonDefaultKey, &out);
  event.info = Bytes(out.Take());
  return event;
}

Bytes LifecycleInfo(const ProcId& proc, const int* exit_code) {
  return AffectedProcInfo(proc, exit_code, /*non_default=*/true);
}

}  // namespace canopy::core
