// The inputs and actions of the agent's core: everything that can happen to it
// and everything that it can ask for, as plain values. See agent_core.h.
#ifndef CANOPY_SERVER_CORE_STEP_H_
#define CANOPY_SERVER_CORE_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"

namespace canopy::core {

// Nanoseconds of a monotonic clock; the core never reads one itself.
using TimeNs = int64_t;
inline constexpr TimeNs kNever = INT64_MAX;

// One connection of a local process, numbered by the adapter that holds it:
// the top 8 bits name the adapter (see server/ports/client_port.h).
using ClientId = uint64_t;
// A client's own number for a request that wants an answer.
using RequestId = uint64_t;

enum class Scope : uint8_t { kLocal = 1, kRemote = 2, kGlobal = 3 };

// ---------------------------------------------------------------- inputs ---

// What local processes may see of a rank from here on: all KVALs visible on
// this node, and the names of those that exist outside this node's scope; or
// what of it is new, on top of what was published before.
struct PublishRank {
  ProcId proc;
  Bytes visible;                     // codec-form KVALs, keys unique
  std::vector<std::string> outside;  // keys that answer EXISTS_OUTSIDE_SCOPE
  bool only_changes = false;
};

// A process proved who it is and asked for its job's data. A tool is in no job:
// its namespace is its own.
struct ClientConnected {
  ClientId client = 0;
  ProcId proc;
  bool is_tool = false;
};

// The connection ended; `finalized` when it left in order.
struct ClientGone {
  ClientId client = 0;
};

// Keys committed with one scope: codec-form KVALs, back to back. A later value
// of a key replaces the earlier one.
struct ScopedData {
  Scope scope = Scope::kGlobal;
  Bytes kvals;
};

struct Committed {
  ClientId client = 0;
  RequestId request = 0;  // 0: no answer wanted
  std::vector<ScopedData> data;
};

struct CollectiveArrived {
  ClientId client = 0;
  RequestId request = 0;
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;  // as named; empty: own namespace
  bool collect_data = false;
  uint32_t timeout_ms = 0;  // 0: none
  Bytes info;               // the caller's directives, codec form
};

struct GetArrived {
  ClientId client = 0;
  RequestId request = 0;
  ProcId target;    // rank may be kRankUndef or kRankWildcard
  std::string key;  // empty: everything of the target
  bool immediate = false;
  bool refresh = false;
  uint32_t timeout_ms = 0;
};

struct AbortArrived {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  std::string text;
  std::vector<ProcId> targets;
};

// PMIx_Job_control; `targets` empty: the caller's namespace.
struct JobControlArrived {
  ClientId client = 0;
  RequestId request = 0;
  std::vector<ProcId> targets;
  Bytes info;  // codec form: SIZE n, then n INFO
};

struct FinalizeArrived {
  ClientId client = 0;
  RequestId request = 0;
};

// Which event codes a client wants from now on. `all` is the default handler.
struct EventsWanted {
  ClientId client = 0;
  RequestId request = 0;
  bool all = false;
  std::vector<int> codes;
};

struct EventsUnwanted {
  ClientId client = 0;
  bool all = false;
  std::vector<int> codes;
};

struct EventRaised {
  ClientId client = 0;  // 0: raised by the agent itself
  RequestId request = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  std::vector<ProcId> targets;
  Bytes info;
};

// Overlay.
struct PeerArrived {
  PeerMessage message;
};

// An agent is lost, or a new incarnation of it is here.
struct NodeStateChanged {
  NodeId node = kNoNode;
  bool up = false;
  std::string reason;
};

// The agent of a node was replaced by a new one that goes on with its
// processes: nothing is lost but what it knew, and what was on its way to it or
// through it.
struct NodeRestarted {
  NodeId node = kNoNode;
};

// Something that Remember kept.
struct KeptRecord {
  std::string key;
  Bytes value;
};

// What a former agent of this node knew of a job, by the job's shim or because
// it controlled the job. Comes before anything else that concerns it.
struct JobRecovered {
  std::shared_ptr<const JobSpec> job;
  bool started = false;  // here; else it was prepared only
  std::vector<KeptRecord> records;
  // What was published of ranks of other nodes.
  std::vector<PublishRank> published;
  bool has_shim = true;  // else no process of it is here
  // What RememberControl kept: this agent goes on controlling the job. Empty:
  // it was about to launch it.
  std::optional<Bytes> control = std::nullopt;
  bool over = false;  // its end was reported: forget what is left of it
};

// Whoever launched a job is connected to the agent that controls it again, and
// says how much it has of the output of each of the job's nodes (none: nobody
// will come, and the output is for nobody). Until then a recovered job's output
// waits.
struct CallerAttached {
  std::string nspace;
  std::optional<std::vector<uint64_t>> received = std::nullopt;
};

// A process that was connected to a former agent of this node says how many
// collectives it has seen the end of, of each kind and set. Comes before what
// it sends again.
struct CollectiveCount {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;  // as in CollectiveArrived
  uint64_t ended = 0;
};

struct ClientResumed {
  ClientId client = 0;
  std::vector<CollectiveCount> counts;
};

// Process adapter.
struct LocalPrepared {
  std::string nspace;
  int status = 0;
  std::string text;
};

struct LocalStarted {
  std::string nspace;
  uint32_t procs = 0;
  int status = 0;
  std::string text;
};

struct LocalExits {
  std::string nspace;
  std::vector<ProcExit> exits;
};

struct LocalOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;  // empty: closed
  // How much output the job has had on this node, this included.
  uint64_t end = 0;
};

struct LocalInputDone {
  std::string nspace;
  uint64_t bytes = 0;
};

// Host and control side; only at the agent that controls the job (the root).
struct LaunchRequested {
  std::shared_ptr<const JobSpec> job;
  // Answers OutputDelivered; the job is not over before.
  bool acknowledges = false;
};

struct SignalRequested {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;
};

struct KillRequested {
  std::string nspace;
  int status = 0;  // kErrTimeout: `reason` is what it waited for, or empty
  std::string reason;
  bool immediately = false;  // SIGKILL, without time to end
  bool again = false;  // may have been said before, and does not count twice
};

struct OutputConsumed {
  std::string nspace;
  Rank rank = 0;  // whose output, so that its node gets the credit
  uint64_t bytes = 0;
};

struct InputOffered {
  std::string nspace;
  Bytes data;  // empty: end of file
};

// Ask an agent (or all, node == kNoNode) for its state; answered by
// StateCollected actions, one per agent, then one with done == true.
struct StateRequested {
  uint64_t request = 0;
  std::string what;
  std::string nspace;
};

// Every agent of the overlay is to end; at the root, when no job runs.
struct ShutdownRequested {
  std::string reason;
};

// Time passed; sent when a deadline asked for by SetDeadline is due.
struct Tick {};

using Input =
    std::variant<ClientConnected, ClientGone, Committed, CollectiveArrived,
                 GetArrived, AbortArrived, JobControlArrived, FinalizeArrived,
                 EventsWanted, EventsUnwanted, EventRaised, PeerArrived,
                 NodeStateChanged, NodeRestarted, JobRecovered, ClientResumed,
                 CallerAttached, LocalPrepared, LocalStarted, LocalExits,
                 LocalOutput, LocalInputDone, LaunchRequested, SignalRequested,
                 KillRequested, OutputConsumed, InputOffered, StateRequested,
                 ShutdownRequested, Tick>;

// --------------------------------------------------------------- actions ---

// Hand to the overlay; dst is never this agent itself.
struct SendPeer {
  PeerMessage message;
};

// Answer to a client's request. For a get that succeeded, the data is already
// published (PublishRank comes earlier in the same step) and `payload` holds
// the target's visible KVALs for adapters without shared memory.
struct ReplyClient {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  Bytes payload;
};

struct NotifyClient {
  ClientId client = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  Bytes info;
};

// For the host to decide on; whoever executes it answers the client.
struct ControlJob {
  ClientId client = 0;
  RequestId request = 0;
  ProcId source;
  std::vector<ProcId> targets;
  Bytes info;
};

struct CloseClient {
  ClientId client = 0;
  std::string reason;
};

// The job exists from here on: make its segment, register its local ranks
// with the local endpoints. Comes before PrepareLocal.
struct RegisterJob {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
};

// Forget it: drop segment and registrations.
struct DropJob {
  std::string nspace;
};

// Check programs and directories, get ready to start this node's ranks;
// answered by LocalPrepared.
struct PrepareLocal {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
};

// Answered by LocalStarted, then LocalExits.
struct StartLocal {
  std::string nspace;
};

struct SignalLocal {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;  // empty: all local
};

// SIGTERM and SIGCONT now, SIGKILL after grace_ms to those that remain.
struct KillLocal {
  std::string nspace;
  std::vector<Rank> ranks;
  uint32_t grace_ms = 0;
};

struct ForgetLocal {
  std::string nspace;
};

struct CreditOutput {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;  // of all credit so far; 0: not known, add `bytes`
};

// Report all output again that has no credit yet: some may be lost.
struct ResendOutput {
  std::string nspace;
};

// Keep for the next agent of this node, for as long as the job is not
// forgotten; a later value of a key replaces the earlier one.
struct Remember {
  std::string nspace;
  std::string key;
  Bytes value;
};

// The same for the agent that controls a job, with or without a process of it;
// replaces what was kept before.
struct RememberControl {
  std::string nspace;
  Bytes state;
};

struct FeedInput {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;
};

// Call Step with a Tick at this time (replaces the earlier one).
struct SetDeadline {
  TimeNs when = kNever;
};

// Reports to whoever watches a job at the agent that controls it.
enum class JobPhase : uint8_t {
  kPreparing,
  kStarting,
  kRunning,
  kEnding,  // some process failed or was told to end
  kEnded,
};

struct JobChanged {
  std::string nspace;
  JobPhase phase = JobPhase::kPreparing;
  uint32_t nodes_ready = 0;
  uint32_t procs_started = 0;
  uint32_t procs_ended = 0;
  // With kEnded: 0, the first failing rank's exit code, or 128 + signal.
  int exit_code = 0;
  int status = 0;  // PMIx status of the job
  Rank first_failed = kRankInvalid;
  std::string text;  // one line for a person; empty when all is well
  // The job's time is over. Whoever watches may find out what it waits for and
  // has 2 s to answer with a KillRequested of kErrTimeout.
  bool out_of_time = false;
};

struct DeliverOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;
};

// All of the job's output was handed out; OutputConsumed is to say that it has
// arrived.
struct OutputDelivered {
  std::string nspace;
};

struct InputConsumed {
  std::string nspace;
  uint64_t bytes = 0;
};

struct StateCollected {
  uint64_t request = 0;
  NodeId node = kNoNode;
  Bytes answer;
  bool done = false;
};

// End this agent once what was sent before is on its way.
struct EndAgent {
  std::string reason;
};

// One line for the log that an operator wants to see.
struct LogLine {
  enum class Level : uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
};

using Action =
    std::variant<SendPeer, ReplyClient, NotifyClient, ControlJob, CloseClient,
                 RegisterJob, DropJob, PublishRank, PrepareLocal, StartLocal,
                 SignalLocal, KillLocal, ForgetLocal, CreditOutput,
                 ResendOutput, Remember, RememberControl, FeedInput,
                 SetDeadline, JobChanged, DeliverOutput, OutputDelivered,
                 InputConsumed, StateCollected, EndAgent, LogLine>;

// In the order in which they must be executed.
using Actions = std::vector<Action>;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_H_
