// Lifecycle events: starts, ends and losses of processes, jobs and nodes, for
// clients that register for these codes. See docs/design/events.md.
#ifndef CANOPY_SERVER_CORE_EVENT_LIFECYCLE_H_
#define CANOPY_SERVER_CORE_EVENT_LIFECYCLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// PMIx status codes of the events, in addition to those of common/status.h.
inline constexpr int kDebuggerRelease = -3;
inline constexpr int kEventJobEnd = -145;
inline constexpr int kEventLaunchComplete = -174;
inline constexpr int kErrJobTermWoSync = -185;
inline constexpr int kErrJobAbortedBySysEvent = -189;
inline constexpr int kEventJobStart = -191;
inline constexpr int kAllocTimeoutWarning = -194;  // defined by OpenPMIx
inline constexpr int kEventProcTerminated = -201;
inline constexpr int kEventNodeDown = -231;
inline constexpr int kEventNodeOffline = -232;
inline constexpr int kErrProcKilledByCmd = -400;
inline constexpr int kErrProcAbortedBySig = -402;
inline constexpr int kErrExitNonzeroTerm = -404;

// Returns the bit of a code of processes or jobs; 0 for any other code.
uint32_t LifecycleBit(int code);

// Returns true if the event is about a whole job, including events that its
// spawner requested.
bool IsOfWholeJob(const EventMessage& message);

// Returns true if only handlers that registered for the code may get the event:
// an agent raised it with PMIX_EVENT_NON_DEFAULT, for one of the codes above.
bool IsForItsCodeAlone(const EventMessage& message);

// Returns the code that announces the end of a process in addition to
// kEventProcTerminated. Returns 0 for a process that has exited with code 0,
// even if it has not called PMIx_Finalize: kErrProcTermWoSync is sent to its
// job separately (EndEvents). `told` is true if this agent was requested to end
// the process.
int CodeOfEnd(const ProcExit& exit, bool told);
// Returns the code that announces the end of a job with this status in addition
// to kEventJobEnd; 0 if there is none.
int CodeOfJobEnd(int status);

// Distinguishes the events of one process. The process's job may get further
// events, with other numbers (end_events.cc).
enum class ProcEvent : uint32_t {
  kTerminated = 0x2000,
  kCode,             // the event with the code that CodeOfEnd returns
  kTerminatedAsked,  // for the spawner of its job
  kToParentJob,
};

// Identities of events. They depend only on the arguments, so an event has the
// same identity whichever agent raises it, and if it is raised again.
//
// `incarnation`: number of earlier processes of the rank.
uint64_t IdOfProcEvent(uint32_t incarnation, ProcEvent event);
// Returns the identity of an event of a job, whose source has the rank
// kRankWildcard. `for_spawner` is true for the copy that the job's spawner
// requested.
uint64_t IdOfJobEvent(int code, bool for_spawner);
// Returns the identity of the warning that a time limit is near; `number`
// counts the limits that were set.
uint64_t IdOfTimeWarning(uint32_t number);
// Returns the identity of the loss of a process or node; `number` distinguishes
// the losses of one source.
uint64_t IdOfLoss(uint64_t number);

// Returns an event for the session except the processes in `except`, which are
// notified in another way. `exit_code` may be null.
EventRaised ProcLifecycleEvent(const ProcId& proc, uint32_t incarnation,
                               int code, const int* exit_code,
                               std::vector<ProcId> except);
// Returns an event of a job. `info` is the event's infos in codec form and
// contains PMIX_EVENT_NON_DEFAULT.
EventRaised JobLifecycleEvent(const std::string& nspace, int code, Bytes info,
                              std::vector<ProcId> except);
// Returns the event that a node is down or, if `left`, has left the overlay as
// planned (kEventNodeOffline). `agent` is the PMIx server of the node and
// `name` its host name; `life` distinguishes the losses of one node. Only
// clients of the raising agent get the event.
EventRaised NodeLifecycleEvent(const ProcId& agent, const std::string& name,
                               uint64_t life, bool left);

// Returns true if the event's identity is one of IdOfLoss. Every agent raises
// such an event for itself.
bool IsLoss(const EventMessage& message);

// Returns the infos of an event in codec form: the affected process (a whole
// job if the rank is kRankWildcard), the exit code if `exit_code` is not null,
// and PMIX_EVENT_NON_DEFAULT.
Bytes LifecycleInfo(const ProcId& proc, const int* exit_code);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_LIFECYCLE_H_
