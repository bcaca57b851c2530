// Lifecycle events: what becomes of processes, jobs and nodes, for whoever
// registers for their codes. See docs/design/events.md.
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

// PMIx status codes of the events, beside those of common/status.h.
inline constexpr int kDebuggerRelease = -3;
inline constexpr int kEventJobEnd = -145;
inline constexpr int kEventLaunchComplete = -174;
inline constexpr int kErrJobTermWoSync = -185;
inline constexpr int kErrJobAbortedBySysEvent = -189;
inline constexpr int kEventJobStart = -191;
inline constexpr int kAllocTimeoutWarning = -194;  // OpenPMIx's
inline constexpr int kEventProcTerminated = -201;
inline constexpr int kEventNodeDown = -231;
inline constexpr int kEventNodeOffline = -232;
inline constexpr int kErrProcKilledByCmd = -400;
inline constexpr int kErrProcAbortedBySig = -402;
inline constexpr int kErrExitNonzeroTerm = -404;

// Of a code of processes or jobs, one bit; 0: it is none of them.
uint32_t LifecycleBit(int code);

// Whether it tells of the life of a job, also when its spawner has asked for
// it.
bool IsOfWholeJob(const EventMessage& message);

// Only those that name its code are to get it: an agent has raised it, with
// PMIX_EVENT_NON_DEFAULT, for one of the codes above.
bool IsForItsCodeAlone(const EventMessage& message);

// The code by which the end of a process is announced besides
// kEventProcTerminated; 0: by none, or by kErrProcTermWoSync, which its job
// gets in any case. `told`: this agent was told to end it.
int CodeOfEnd(const ProcExit& exit, bool told);
// The same of a job with that status, besides kEventJobEnd.
int CodeOfJobEnd(int status);

// Which of the events of one process it is. Its job may get others, which have
// numbers of their own (end_events.cc).
enum class ProcEvent : uint32_t {
  kTerminated = 0x2000,
  kCode,             // CodeOfEnd
  kTerminatedAsked,  // for its job's spawner
  kToParentJob,
};

// Identities, the same whichever agent raises the event, and however often:
// of a process that followed so many others of its rank,
uint64_t IdOfProcEvent(uint32_t incarnation, ProcEvent event);
// of a job (the source has kRankWildcard),
uint64_t IdOfJobEvent(int code, bool for_spawner);
// of a warning that its time limit, the number-th that was set, is near,
uint64_t IdOfTimeWarning(uint32_t number);
// of the loss of a process or a node: `number` tells those of one source apart.
uint64_t IdOfLoss(uint64_t number);

// For the session, without those whom it reaches otherwise. `exit_code`: null
// when there is none.
EventRaised ProcLifecycleEvent(const ProcId& proc, uint32_t incarnation,
                               int code, const int* exit_code,
                               std::vector<ProcId> except);
// `info` says what has happened, and PMIX_EVENT_NON_DEFAULT.
EventRaised JobLifecycleEvent(const std::string& nspace, int code, Bytes info,
                              std::vector<ProcId> except);
// `agent`: that of the node, which is its PMIx server. `life`: by which the
// losses of one node differ. For the clients of this agent.
EventRaised NodeLifecycleEvent(const ProcId& agent, const std::string& name,
                               uint64_t life, bool left);

// Whether it has an identity of IdOfLoss: every agent raises it for itself.
bool IsLoss(const EventMessage& message);

// Infos in codec form, with PMIX_EVENT_NON_DEFAULT: of a process (rank
// kRankWildcard: of its job), and an exit code where there is one.
Bytes LifecycleInfo(const ProcId& proc, const int* exit_code);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_LIFECYCLE_H_
