// Messages between agents about the life of jobs. Plain values, see
// server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_JOBS_H_
#define CANOPY_SERVER_CORE_MESSAGE_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// PMIx_Abort, from the caller's agent to those that control the targets' jobs.
struct AbortMessage {
  ProcId source;
  int status = 0;
  std::string text;
  // Of one job; empty: the source's whole namespace.
  std::vector<ProcId> targets;
  // The number by which the source's agent knows the answer; 0: no answer.
  uint64_t request = 0;
  NodeId origin = kNoNode;  // the source's agent
  uint32_t uid = 0;         // of the source's job; only with a request
};

// The targets of one job are gone, or nothing was done to them.
struct AbortReply {
  ProcId source;         // as in AbortMessage
  uint64_t request = 0;  // as in AbortMessage
  std::string nspace;    // of the targets
  int status = 0;
};

// Two-phase launch. Prepare and Start go down the tree to every agent with a
// rank of the job and those between; the answers are aggregated on the way up.
struct JobPrepare {
  Bytes spec;  // EncodeJobSpec
  // The agent that controls the job: always named, and refused if it is no
  // member.
  NodeId controller = kNoNode;
  // Agents of the job that were lost since its launch. One that returns only
  // forwards messages of the job.
  std::vector<NodeId> lost;
  // All that is found out about the programs is to be answered.
  bool explain = false;
};

struct NodeError {
  NodeId node = kNoNode;
  int status = 0;
  std::string text;
};

// What nodes found out about the job's programs that its owner is to know.
// Equal ones of several nodes are one.
struct ProgramNote {
  std::string reason;  // why one does not use our library; a line, or empty
  std::string detail;  // all that was found, when it was asked for; lines
  // The lowest of the nodes, at most kMaxNamedNodes; and how many there are.
  std::vector<NodeId> nodes;
  uint32_t count = 0;
};
inline constexpr size_t kMaxNamedNodes = 8;

struct JobPrepared {
  std::string nspace;
  uint32_t nodes_ready = 0;
  std::vector<NodeError> errors;
  std::vector<ProgramNote> notes = {};
  // Reserved on rank 0's node, of a job with JobSpec::rendezvous_host; 0: none.
  uint16_t port = 0;
};

struct JobStart {
  std::string nspace;
  uint16_t port = 0;  // as in JobPrepared
};

struct JobStarted {
  std::string nspace;
  uint32_t procs_started = 0;
  std::vector<NodeError> errors;
};

// What processes have used, as the kernel counts it.
struct Usage {
  uint64_t cpu_us = 0;      // user and system
  uint64_t peak_bytes = 0;  // resident, of the largest process
};

// How processes ended, towards the root.
struct ProcExit {
  Rank rank = 0;
  int wait_status = 0;  // as waitpid gives it
  bool core_dumped = false;
  bool called_init = false;  // connected to its agent at least once
  bool finalized = false;    // and left it in order
  uint32_t incarnation = 0;  // how many processes the rank had before it
  bool restarted = false;    // another follows: the rank has not ended
  // By the rank's processes, this one and those before it; none: not measured.
  std::optional<Usage> used = {};
};

struct JobExits {
  std::string nspace;
  std::vector<ProcExit> exits;  // never empty
};

// Deliver a signal to ranks of a job (empty: all), downwards.
struct JobSignal {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;
};

// End what is left of the ranks (empty: all): SIGTERM, SIGCONT, then SIGKILL
// after the job's grace period. Downwards.
struct JobKill {
  std::string nspace;
  std::vector<Rank> ranks;
  int status = 0;      // why, a PMIx status
  std::string reason;  // one line
};

// Every process has ended and was reported: release the job. Downwards.
struct JobForget {
  std::string nspace;
};

// Every agent is to end; downwards.
struct OverlayShutdown {
  std::string reason;
};

// Is this job over? From an agent that other agents address about a job of
// which it has no record, to the root or to whoever assigned it a part. The
// answer comes when the job is over, at once or later. The query of the agent
// that controls the job means that the job is lost: its record is gone.
struct JobQuery {
  std::string nspace;
};

enum class JobVerdict : uint8_t {
  kEnded = 1,     // its end was reported
  kNoRecord = 2,  // unknown to a root that knows all jobs: authoritative
};

// The job is over: the receiver releases what it has of it.
struct JobQueryReply {
  std::string nspace;
  JobVerdict verdict = JobVerdict::kEnded;
};

// The sender has sent the receiver, a root that rejoined or was restarted, all
// jobs that concern it.
struct SyncComplete {};

// Nodes of a job were lost with their ranks, towards the root: from an agent
// between them and the controller, which may learn of the loss later, or may
// have done so before the launch.
struct NodeLost {
  std::string nspace;
  std::vector<Rank> ranks;  // of the lost nodes, at least one of each
};

// The map of a job without local ranks that local clients refer to, requested
// from the root. The receiver records the sender as a reader, and reports the
// job's end to it with JobForget.
struct JobMapRequest {
  uint64_t request = 0;  // the requester's own number
  std::string nspace;
  bool exists_only = false;  // the requester has the map: no need to send it
};

struct JobMapReply {
  uint64_t request = 0;
  int status = 0;  // kErrNotFound: the job is unknown to the sender
  std::string nspace;
  Bytes spec;  // EncodeJobSpec; empty with exists_only or an error
  // Agents of the job that were lost with their ranks since its launch.
  std::vector<NodeId> lost = {};
};

// PMIx_Spawn, from the spawner's agent to the agent that controls the spawner's
// job, which executes it once however often it comes: the process and the
// number of its request are its identity.
struct SpawnRequest {
  ProcId proc;
  uint64_t request = 0;  // the spawner's own number
  Bytes call;            // codec form: SIZE n, n INFO, SIZE m, m APP
};

// The answer: every process has started, or nothing of the job is left.
struct SpawnReply {
  ProcId proc;
  uint64_t request = 0;
  int status = 0;
  std::string nspace;  // of the new job; empty with an error
  // EncodeJobSpec of the new job, whose end will be reported with JobForget.
  // Empty with an error, and when the job is over.
  Bytes spec;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_JOBS_H_
