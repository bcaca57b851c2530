// Messages between agents about the life of jobs. They are plain values; see
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

// A call of PMIx_Abort, sent by the caller's agent to the agents that control
// the targets' jobs.
struct AbortMessage {
  ProcId source;
  int status = 0;
  std::string text;
  // Targets of one job; empty: the source's whole namespace.
  std::vector<ProcId> targets;
  // Number by which the source's agent identifies the answer; 0: no answer is
  // needed.
  uint64_t request = 0;
  NodeId origin = kNoNode;  // the source's agent
  // User of the source's job. Valid if has_uid is true or `request` is not 0.
  uint32_t uid = 0;
  bool has_uid = false;
};

// Reports that the targets of one job are gone or, with an error, that the
// abort had no effect on them.
struct AbortReply {
  ProcId source;         // as in AbortMessage
  uint64_t request = 0;  // as in AbortMessage
  std::string nspace;    // the targets' job
  int status = 0;
};

// The two-phase launch. JobPrepare and JobStart go down the tree to every agent
// with a rank of the job and to the agents on the way; the answers are
// aggregated on the way up.
struct JobPrepare {
  Bytes spec;  // EncodeJobSpec
  // The agent that controls the job. It is always set, and the message is
  // rejected if the agent is not a member.
  NodeId controller = kNoNode;
  // Agents of the job that were lost since its launch. If one of them returns,
  // it only forwards messages of the job.
  std::vector<NodeId> lost;
  // True if the notes on the programs are to be detailed.
  bool explain = false;
};

struct NodeError {
  NodeId node = kNoNode;
  int status = 0;
  std::string text;
};

// Findings of nodes about the job's programs, for the job's owner. Equal notes
// of several nodes are merged.
struct ProgramNote {
  // Reason why a program does not use Canopy's library: one line, or empty.
  std::string reason;
  std::string detail;  // details, if requested; lines
  // Nodes with this note, lowest numbers first; at most kMaxNamedNodes.
  std::vector<NodeId> nodes;
  uint32_t count = 0;  // number of all nodes with this note
};
inline constexpr size_t kMaxNamedNodes = 8;

struct JobPrepared {
  std::string nspace;
  uint32_t nodes_ready = 0;
  std::vector<NodeError> errors;
  std::vector<ProgramNote> notes = {};
  // Port reserved on rank 0's node if the job has a JobSpec::rendezvous_host;
  // 0: none.
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

// Resources that processes have used, as counted by the kernel.
struct Usage {
  uint64_t cpu_us = 0;      // user and system time
  uint64_t peak_bytes = 0;  // resident memory of the largest process
};

// The end of a process; sent towards the root.
struct ProcExit {
  Rank rank = 0;
  int wait_status = 0;  // as returned by waitpid
  bool core_dumped = false;
  // true if the process was connected to its agent at least once
  bool called_init = false;
  bool finalized = false;    // the process disconnected in an orderly way
  uint32_t incarnation = 0;  // how many processes the rank had before this one
  bool restarted = false;  // another process follows, so the rank has not ended
  // Usage of this process and the rank's earlier processes together. No value:
  // not measured.
  std::optional<Usage> used = {};
};

struct JobExits {
  std::string nspace;
  std::vector<ProcExit> exits;  // never empty
};

// Delivers a signal to ranks of a job (empty: all); sent downwards.
struct JobSignal {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;
};

// Ends the ranks (empty: all) that still run: SIGTERM and SIGCONT, then SIGKILL
// after the job's grace period. Sent downwards.
struct JobKill {
  std::string nspace;
  std::vector<Rank> ranks;
  int status = 0;      // the cause, a PMIx status
  std::string reason;  // one line
};

// Sent downwards when every process has ended and was reported. The receiver
// releases the job.
struct JobForget {
  std::string nspace;
};

// Requests that every agent end. Sent downwards.
struct OverlayShutdown {
  std::string reason;
};

// Queries whether a job is over. The sender has no record of the job, but has
// received messages about it from other agents. The receiver is the root or the
// agent that has assigned a part of the job to the sender. The answer comes
// when the job is over, at once or later. If the sender is the agent that
// controls the job, the job is lost, because its record is gone.
struct JobQuery {
  std::string nspace;
};

enum class JobVerdict : uint8_t {
  kEnded = 1,     // the replying agent has recorded the job's end
  kNoRecord = 2,  // a root that knows all jobs has no record of the job
};

// Reports that the job is over. The receiver releases the job's resources.
struct JobQueryReply {
  std::string nspace;
  JobVerdict verdict = JobVerdict::kEnded;
};

// Reports that the sender has sent all jobs that concern the receiver, a root
// that has rejoined or was restarted.
struct SyncComplete {};

// Reports to the parent in the job's tree that nodes of the job were lost with
// their ranks. The sender is an agent between these nodes and the controller.
// Each agent may notice the loss by itself, before or after this report; the
// receiver ignores a loss that it has recorded already.
struct NodeLost {
  std::string nspace;
  std::vector<Rank> ranks;  // at least one rank of each lost node
};

// Requests the map of a job that local clients refer to and that has no local
// ranks. Sent to the root, which records the sender as a reader and reports the
// job's end to it with JobForget.
struct JobMapRequest {
  uint64_t request = 0;  // numbered by the requester
  std::string nspace;
  // true if the requester has the map and needs only the status
  bool exists_only = false;
};

// The answer to JobMapRequest. The agent that controls a job also sends the
// job's map unrequested to the root and to the leader, so that both know every
// job.
struct JobMapReply {
  uint64_t request = 0;  // 0: unrequested
  int status = 0;        // kErrNotFound: the job is unknown to the sender
  std::string nspace;
  Bytes spec;  // EncodeJobSpec; empty with exists_only or an error
  // Agents of the job that were lost with their ranks since its launch.
  std::vector<NodeId> lost = {};
  // The agent that controls the job; no value if the sender does not state it.
  std::optional<NodeId> controller = std::nullopt;
};

// A call of PMIx_Spawn, sent by the spawner's agent to the agent that controls
// the spawner's job. The process and the number of its request identify the
// spawn, so that it is executed once even if the message arrives several times.
struct SpawnRequest {
  ProcId proc;
  uint64_t request = 0;  // numbered by the spawner
  Bytes call;            // codec form: SIZE n, n INFO, SIZE m, m APP
  // The owner of a tool whose user is not the agents'.
  bool has_owner = false;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// The answer to a SpawnRequest. Without an error, every process of the new job
// has started; with an error, no process of it is left.
struct SpawnReply {
  ProcId proc;
  uint64_t request = 0;
  int status = 0;
  std::string nspace;  // the new job; empty with an error
  // EncodeJobSpec of the new job, whose end will be reported with JobForget.
  // Empty with an error, or if the job is over.
  Bytes spec;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_JOBS_H_
