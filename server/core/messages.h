// Messages between agents about jobs, data and collectives. Plain values: the
// overlay turns them into protos/overlay.proto messages and back.
#ifndef CANOPY_SERVER_CORE_MESSAGES_H_
#define CANOPY_SERVER_CORE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

enum class CollectiveOp : uint8_t {
  kFence = 1,
  kConnect = 2,
  kDisconnect = 3,
  kGroupConstruct = 4,
  kGroupDestruct = 5,
};

// Operations on process groups, which have names.
constexpr bool IsGroupOp(CollectiveOp op) {
  return op == CollectiveOp::kGroupConstruct ||
         op == CollectiveOp::kGroupDestruct;
}

// Identity of one collective: the operation, the participants as the callers
// named them (sorted, without duplicates; a wildcard stays a wildcard), the
// group's name, and how many such collectives came before. Every agent computes
// the same identity without asking anyone. In the identity of a group's
// operations a job that takes part as a whole is a wildcard, however the
// callers named it.
struct CollectiveId {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;
  uint64_t sequence = 0;
  std::string name = {};  // of the group; else empty

  auto operator<=>(const CollectiveId&) const = default;
};

// What one node's participants bring to a collective. `data` is a codec-form
// sequence that only the final receivers parse: see server/core/modex/modex.h.
// Of a group's operations it is a GroupRecord (collective/group_record.h).
struct NodeContribution {
  NodeId node = kNoNode;
  Bytes data;  // empty without PMIX_COLLECT_DATA
};

// CollectiveUp::status of contributions to a collective that the sender has
// seen released: resent after a loss, for those that may still wait
// (PMIX_OPERATION_SUCCEEDED).
inline constexpr int kAlreadyReleased = -157;

// A subtree's contributions, from an agent to its parent in the collective's
// tree. `missing` names participants that can not arrive any more.
struct CollectiveUp {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // With kAlreadyReleased: the result that the sender has, as in
  // CollectiveDown.
  Bytes result = {};
};

// The release, from the top of the collective's tree downwards.
struct CollectiveDown {
  CollectiveId id;
  int status = 0;
  std::vector<NodeContribution> contributions;
  std::vector<ProcId> missing;
  // Of a group's operation that succeeded, in place of the contributions: the
  // GroupRecord that the top made of them.
  Bytes result = {};
};

// Direct modex: ask the owner's agent for what a process has committed.
struct DmodexRequest {
  uint64_t request = 0;  // the requester's own number
  ProcId target;
  std::string key;          // waits until this key is there; may be empty
  uint32_t timeout_ms = 0;  // 0: as long as the target lives
  uint64_t known = 0;       // version of the data that the requester has
};

struct DmodexReply {
  uint64_t request = 0;
  int status = 0;
  ProcId target;
  Bytes data;            // committed with scope REMOTE or GLOBAL
  uint64_t version = 0;  // of the data, see ModexStore
  uint64_t base = 0;     // what changed since this version; 0: all there is
};

// An event on its way to the agents that may have receivers.
struct EventMessage {
  NodeId origin = kNoNode;
  uint64_t number = 0;  // of the origin's
  // By which the source's next attempt to raise the same is recognised; 0: it
  // makes none. See IdOf in server/core/event/events.h.
  uint64_t request = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;            // pmix_data_range_t
  std::vector<ProcId> targets;  // with PMIX_RANGE_CUSTOM, or affected procs
  Bytes info;                   // codec form: SIZE n, then n INFO
};

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

// How processes ended, towards the root.
struct ProcExit {
  Rank rank = 0;
  int wait_status = 0;  // as waitpid gives it
  bool core_dumped = false;
  bool called_init = false;  // connected to its agent at least once
  bool finalized = false;    // and left it in order
  uint32_t incarnation = 0;  // how many processes the rank had before it
  bool restarted = false;    // another follows: the rank has not ended
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

// Output of a process, towards the root; credit for it on the way back.
struct OutputData {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;  // pmix_iof_channel_t bit
  Bytes data;            // empty: the stream is closed
  // How much output the job has had on its node, this included. 0 with data:
  // not known.
  uint64_t end = 0;
};

struct OutputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // of all credit to the node so far; 0: not known
  bool resend = false;  // what has no credit is to be sent again
};

// Input for processes, downwards; credit for it on the way back.
struct InputData {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;  // empty: end of file
  // How much input the job has had, this included. 0 with data: not known.
  uint64_t end = 0;
};

struct InputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // taken by the node's ranks so far; 0: not known
  bool resend = false;  // what comes after `total` is to be sent again
};

// Query of one agent's state, and the answer. `what` is "status" or "why"; the
// answer is a WireWriter record, see why.h. An empty `nspace` means all jobs.
struct StateQuery {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

struct StateReply {
  uint64_t request = 0;
  Bytes answer;
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

// Data of PMIx_Publish: a key on a range. Number and publisher identify it; the
// steward, an agent, decides how long it lives.
struct PublicationId {
  ProcId publisher;
  uint64_t number = 0;  // of the agent where it was published

  auto operator<=>(const PublicationId&) const = default;
};

// The call that a publication is handed out to, where that ends it. A
// repetition of the call is the same reader.
struct PublicationReader {
  ProcId proc;            // empty nspace: none
  uint64_t request = 0;   // the process's own number
  NodeId node = kNoNode;  // its agent
};

struct Publication {
  PublicationId id;
  NodeId home = kNoNode;     // where it was published
  NodeId steward = kNoNode;  // the home, or who has taken over
  uint64_t version = 0;      // more is newer
  // The publisher's number of the call; 0: it can not be repeated any more.
  uint64_t request = 0;
  std::string key;
  uint8_t range = 0;            // pmix_data_range_t
  uint8_t persistence = 0;      // pmix_persistence_t
  std::vector<ProcId> members;  // with PMIX_RANGE_CUSTOM: who may see it
  uint32_t uid = 0;             // the publisher's
  uint32_t gid = 0;
  // Who else may read it; with neither: the publisher's user.
  std::vector<uint32_t> uids;
  std::vector<uint32_t> gids;
  Bytes value;  // codec form: a VALUE
  PublicationReader reader;
};

// Keep this publication, from its steward; or, to its steward, which was
// restarted: this is what the sender has of it. Answered by DirectoryAnswer.
struct DirectoryStore {
  uint64_t request = 0;  // the requester's own number
  Publication publication;
  // It is refused when the key is taken on its range.
  bool is_new = false;
};

// From the steward. Answered by DirectoryAnswer.
struct DirectoryRemove {
  uint64_t request = 0;
  PublicationId id;
};

// Store what the sender is the owner of. Answered by DirectoryAnswer, once that
// is done.
struct DirectoryPull {
  uint64_t request = 0;
};

// A key of a lookup; in the answer, why it has no value.
struct LookupKey {
  std::string key;
  int status = 0;
};

// Who looks something up.
struct Searcher {
  ProcId proc;
  uint64_t request = 0;  // the process's own number
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint8_t range = 0;            // where: pmix_data_range_t
  std::vector<ProcId> members;  // with PMIX_RANGE_CUSTOM
};

// PMIx_Lookup, from the caller's agent to the owner of the keys; replaces an
// earlier one of that number. Answered by DirectoryFound: at once, or as soon
// as a key is there when the caller waits.
struct DirectoryLookup {
  uint64_t request = 0;
  Searcher searcher;
  std::vector<LookupKey> keys;
  bool waits = false;
};

// The caller waits no longer. Answered by DirectoryAnswer.
struct DirectoryLookupEnd {
  uint64_t request = 0;
  uint64_t lookup = 0;  // DirectoryLookup::request
};

struct DirectoryFound {
  uint64_t request = 0;  // of the DirectoryLookup
  std::vector<Publication> found;
  std::vector<LookupKey> missing;  // never of a caller that waits
};

enum class ClaimKind : uint8_t {
  kTake = 1,    // for this reader alone
  kFinish = 2,  // it has it: remove the publication
  kReturn = 3,  // it does not want it any more
};

// About a publication that ends when it is read, from the reader's agent to the
// steward. Answered by DirectoryAnswer.
struct DirectoryClaim {
  uint64_t request = 0;
  PublicationId id;
  PublicationReader reader;
  ClaimKind kind = ClaimKind::kTake;
};

struct DirectoryAnswer {
  uint64_t request = 0;
  int status = 0;
};

// A rank of the sender's node has another process: to the other agents of its
// job, whose processes may ask for its incarnation.
struct RankRestarted {
  std::string nspace;
  Rank rank = 0;
  uint32_t incarnation = 0;  // how many processes it had before
};

// What only the receiver knows, for a PMIx_Query_info at the sender's node: of
// its processes, its node, and the jobs that it controls. Answered by
// FactsReply, at once or as soon as it has measured.
struct FactsRequest {
  uint64_t request = 0;       // the requester's own number
  std::string nspace;         // whose processes of its node; empty: none
  Rank rank = kRankWildcard;  // which of them; kRankWildcard: all
  bool memory = false;        // also how much memory these use
  bool node = false;          // the memory of its node
  // Instead of processes the jobs that it knows, and their states; only that
  // of `nspace` unless that is empty.
  bool jobs = false;
};

// JobFacts::status of a job that is being launched
// (PMIX_OPERATION_IN_PROGRESS).
inline constexpr int kLaunching = -156;

struct ProcessFacts {
  Rank rank = 0;
  int pid = 0;            // 0: not started
  uint8_t state = 0;      // pmix_proc_state_t
  uint64_t resident = 0;  // bytes; 0: not measured, or it has ended
};

struct JobFacts {
  std::string nspace;
  uint32_t uid = 0;
  int status = 0;       // of the job so far, a PMIx status
  std::string command;  // PMIX_CMD_LINE
};

// Bytes of memory of one node.
struct MemoryFacts {
  uint64_t agent = 0;    // of its agent
  uint64_t clients = 0;  // of all processes of jobs there
  uint32_t num_clients = 0;
};

struct FactsReply {
  uint64_t request = 0;  // of the FactsRequest
  int status = 0;
  MemoryFacts memory;  // when asked for `node`
  std::vector<ProcessFacts> processes;
  std::vector<JobFacts> jobs;
};
inline constexpr size_t kMaxJobFacts = 4096;  // in one answer

using MessageBody = std::variant<
    CollectiveUp, CollectiveDown, DmodexRequest, DmodexReply, EventMessage,
    AbortMessage, JobPrepare, JobPrepared, JobStart, JobStarted, JobExits,
    JobSignal, JobKill, JobForget, OutputData, OutputCredit, InputData,
    InputCredit, StateQuery, StateReply, OverlayShutdown, JobQuery,
    JobQueryReply, SyncComplete, NodeLost, JobMapRequest, JobMapReply,
    AbortReply, SpawnRequest, SpawnReply, DirectoryStore, DirectoryRemove,
    DirectoryPull, DirectoryLookup, DirectoryLookupEnd, DirectoryFound,
    DirectoryClaim, DirectoryAnswer, RankRestarted, FactsRequest, FactsReply>;

// Routed hop by hop by the overlay; src is set by the overlay from the
// authenticated link or a routed header, never by the sender's claim alone.
struct PeerMessage {
  NodeId src = kNoNode;
  NodeId dst = kNoNode;
  MessageBody body;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGES_H_
