// The protocol between an agent and canopy-shim. server/shim and server/process
// are its two sides and share one namespace; the shim does not depend on code
// of the agent. docs/shim_states.md describes the states of both.
//
// A shim holds the processes of one job on one node and outlives its agent. It
// is started with a connection to the agent that starts it and with a listening
// socket, `shim-<hash of the namespace>.sock` in the agent's runtime directory,
// to which later agents connect. The shim serves the newest agent and sends
// Replaced to the previous one. A peer must have the shim's own user id or be
// root.
//
// Both ends are on one machine. A frame is a FrameHeader in host byte order and
// a payload: the described struct (common/describe.h) named after the frame
// type. Descriptors are sent as SCM_RIGHTS with the first byte of their frame.
//
//   agent                                 shim
//   Hello                       ->
//                               <-  Held... (connections that are kept)
//                               <-  Welcome (state; held descriptors)
//   then, for a new job:
//   Prepare, Ranks..., Check    ->
//                               <-  Prepared
//   Start                       ->
//                               <-  Started
//   or, for a recovered job, or when output was lost on its way:
//   Resume                      ->
//                               <-  Resumed (amount of acknowledged output)
//   then, any number of times:
//                               <-  Output  (kept until acknowledged)
//   Credit                      ->
//                               <-  Exits
//   Restart                     ->
//                               <-  Restarted
//   Signal, Kill, Input, Hold, Orphan, HoldMany, Release ->
//                               <-  InputDone
//   Text                        ->
//                               <-  TextTaken
//   Forget                      ->  (ends the remaining processes and the shim)
//
// Output: the shim reads pipes only while fewer than `window` bytes are
// unacknowledged, so a rank whose output is not consumed blocks. Credit
// acknowledges a number of bytes of the job's output, in the order in which
// they were sent. After Resumed, all unacknowledged output is sent again, then
// the ends of streams that have ended, then all Exits. Nothing is lost, but a
// successor may receive output again that its predecessor had not acknowledged.
// The end of a stream is an Output without data. The exit of a rank follows the
// end of its streams. If another process holds the streams open, the exit is
// sent one second after the process ended, and later output follows it.
//
// Restart starts another process for a rank whose process has ended, with the
// next incarnation; a Restart with any other number is a repetition and has no
// effect. The remaining processes of the previous process group are killed, and
// the previous streams are dropped: only the ends of the new streams are sent.
// Exits and Welcome contain the incarnation.
//
// A shim in a Kubernetes pod (server/shim/pod) is not started by an agent. It
// connects to its node's agent and begins with JoinPod. The agent answers with
// any number of Notices and, when all pods of the job are there, continues with
// Prepare. A Notice with an error is the last frame.
//
// A Text is inserted into the output of a process as if the process had written
// it (TextRequest). Each Text is answered by one TextTaken, in the order of the
// Texts, when the shim has stored it. A text that was answered with success is
// retained like any other output.
#ifndef CANOPY_SERVER_SHIM_PROTOCOL_H_
#define CANOPY_SERVER_SHIM_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/job_request.h"
#include "server/shim/rank_usage.h"

namespace canopy::process {

// The version that agents and shims of this release speak. A frame can get
// fields without a new version, because readers skip those that they do not
// know.
inline constexpr uint32_t kShimProtocolVersion = 6;

// The largest payload that either side accepts, in bytes.
inline constexpr uint32_t kMaxPayload = 64u << 20;
// The largest number of descriptors in one frame (the kernel's limit is 253).
inline constexpr size_t kMaxFrameFds = 200;
// The largest number of descriptors that one rank inherits (kMaxInherited), and
// that the shim keeps for Hold (kMaxHeld).
inline constexpr size_t kMaxInherited = 8;
inline constexpr size_t kMaxHeld = 64;
// The largest number of connections held by HoldMany.
inline constexpr size_t kMaxConnections = 1 << 16;
// The largest amount of input, in bytes, that a shim stores before the
// processes read it.
inline constexpr uint64_t kMaxPendingInput = 64u << 20;
// The largest amount of output in one frame, in bytes.
inline constexpr size_t kMaxOutputChunk = 64u << 10;
// The largest number of frames with unacknowledged output. Each is a separate
// allocation, so writes of single bytes must not fill the window.
inline constexpr size_t kMaxOutputChunks = 4096;
// kMaxWaitingText limits the bytes of the texts that wait in a shim for the
// window or for their turn, and also the bytes of one Text. kMaxTextParts
// limits the parts of one text.
inline constexpr size_t kMaxWaitingText = 1u << 20;
inline constexpr size_t kMaxTextParts = 64;
// The largest size of the key and value of a text together, in bytes.
inline constexpr size_t kMaxTextKind = 1024;

// The output channels are the bits of pmix_iof_channel_t.
inline constexpr uint16_t kChannelStdout = 2;
inline constexpr uint16_t kChannelStderr = 4;

// The descriptors with which a shim is started.
inline constexpr int kShimAgentFd = 3;   // connection to the agent
inline constexpr int kShimListenFd = 4;  // listening socket
inline constexpr int kShimDirFd = 5;     // directory of the socket

enum class FrameType : uint8_t {
  kHello = 1,
  kPrepare = 2,
  kRanks = 3,
  kCheck = 4,
  kStart = 5,
  kResume = 6,
  kSignal = 7,
  kKill = 8,
  kInput = 9,
  kCredit = 10,
  kHold = 11,
  kForget = 12,
  kOrphan = 13,
  kHoldMany = 14,
  kRelease = 15,
  kText = 16,
  kRestart = 17,
  kNotice = 18,
  kWelcome = 64,
  kPrepared = 65,
  kStarted = 66,
  kOutput = 67,
  kExits = 68,
  kInputDone = 69,
  kReplaced = 70,
  kResumed = 71,
  kHeld = 72,
  kTextTaken = 73,
  kRestarted = 74,
  kJoinPod = 75,
};

struct FrameHeader {
  uint32_t length = 0;  // length of the payload
  uint8_t type = 0;
  uint8_t fds = 0;  // number of descriptors that come with this frame
  uint16_t zero = 0;
};
static_assert(sizeof(FrameHeader) == 8);

// ------------------------------------------------------ agent to shim ---

struct Hello {
  uint32_t version = kShimProtocolVersion;
};

// One application. Its environment overrides the job's.
struct AppSpec {
  std::string program;  // as typed; searched in PATH unless it contains a '/'
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;  // empty: the agent's working directory
  // Overrides `env` for a program that needs its own libpmix. Used only with
  // PrepareJob::library.
  std::vector<std::string> own_library_env = {};
  // The finding of an earlier job of this agent (loader::EncodeFinding), or
  // empty.
  std::string known_finding = {};
  // The application's processes write their standard error to the descriptor of
  // their standard output. Their stderr stream ends at once. With
  // PrepareJob::merge_stderr, in contrast, no process of the job has that
  // stream.
  bool merge_stderr = false;
};

struct PrepareJob {
  std::string nspace;
  // The time without an agent, in milliseconds, after which the shim ends the
  // job and itself.
  uint32_t orphan_ms = 0;
  // The time between SIGTERM and SIGKILL, in milliseconds, when the shim ends
  // the job after orphan_ms or on Forget.
  uint32_t grace_ms = 0;
  uint64_t window = 0;  // limit of unacknowledged bytes of output
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool merge_stderr = false;
  std::string record;  // opaque to the shim; returned in Welcome
  std::vector<std::string> env;
  std::vector<AppSpec> apps;
  // Path of Canopy's libpmix.so.2 if `env` puts it before the programs' own
  // library. The shim then determines whether the programs can use it and
  // answers in Prepared. Empty if it is not injected.
  std::string library;
  // The ranks that are stopped (SIGSTOP) before the first instruction of their
  // program. Empty list: all ranks; no value: no rank.
  std::optional<std::vector<Rank>> stop_on_exec = {};
  ProcessPolicies process = {};  // as in the job's request
  std::string user = {};         // as JobSpec::user
};

// One process of the job.
struct RankSpec {
  Rank rank = 0;
  uint32_t app = 0;
  std::vector<std::string> env;  // overrides the application's
  std::string cpuset;            // hwloc list format; empty: not bound
  bool has_stdin = false;        // true: a pipe; false: /dev/null
  // The names of variables that are set to the numbers of the inherited
  // descriptors. The descriptors are sent with the frame, in the order of the
  // ranks.
  std::vector<std::string> fd_names;
};

// Requests another process for a rank.
struct RestartRank {
  uint32_t incarnation = 1;  // number of earlier processes of the rank
  RankSpec spec;
};

struct SignalRanks {
  int signal = 0;
  std::vector<Rank> ranks;  // empty: all
};

struct KillRanks {
  uint32_t grace_ms = 0;
  std::vector<Rank> ranks;  // empty: all
};

// A part of a text. It is inserted into its stream after the data that the
// process has written to the pipe when the shim receives the text.
struct TextPart {
  uint16_t channel = kChannelStderr;  // or kChannelStdout
  std::string text;
};

// A text that a process requests to be inserted into its output. The shim
// inserts all parts or none. The limits are kMaxTextParts parts and
// kMaxWaitingText bytes.
struct TextRequest {
  // These members identify a request that a former agent may have sent already.
  // Such a request gets the same answer and is not printed again.
  uint64_t client = 0;
  uint32_t request = 0;
  bool again = false;
  Rank rank = 0;
  // Texts of one kind are aggregated: the first is printed, and then the number
  // of processes that have sent later ones. Empty: the text is not aggregated.
  // At most kMaxTextKind bytes.
  std::string key;
  std::string value;
  std::vector<TextPart> parts;
};

// Returns a NAME=VALUE entry that is in the environment of every process of
// this shim and of no other process. It identifies the processes after the
// shim's death.
std::string JobMark(std::string_view nspace, int shim_pid);

// News for the users of a pod that waits for its job, as one line.
struct Notice {
  int status = 0;  // kSuccess: it still waits; otherwise it will get no job
  std::string text;
};

// ------------------------------------------------------ shim to agent ---

// Begins the connection of a shim in a pod.
struct JoinPod {
  uint32_t version = kShimProtocolVersion;
  // The command of the ranks, for people.
  std::vector<std::string> argv;
};

enum class RankPhase : uint8_t { kWaiting = 0, kRunning = 1, kEnded = 2 };

struct RankState {
  Rank rank = 0;
  RankPhase phase = RankPhase::kWaiting;
  int pid = 0;
  int wait_status = 0;  // set when ended
  uint32_t incarnation = 0;
};

struct Welcome {
  uint32_t version = kShimProtocolVersion;
  int pid = 0;         // the shim's own
  std::string nspace;  // empty before Prepare
  bool started = false;
  std::string record;
  std::vector<RankState> ranks;
  std::vector<std::string> held;  // names; the descriptors come with the frame
  // Later InputDone frames count from these values.
  uint64_t input_taken = 0;  // bytes received in Input frames
  uint64_t input_done = 0;   // bytes that need not be sent again
};

// `status` is a PMIx status, `text` one line for the user.
struct Prepared {
  int status = 0;
  std::string text;
  // One finding for each application (loader::EncodeFinding); empty if there is
  // no PrepareJob::library, or on failure.
  std::vector<std::string> findings = {};
};

struct StartedRank {
  Rank rank = 0;
  int pid = 0;
};

struct StartError {
  Rank rank = 0;
  int status = 0;
  int error = 0;  // errno
  std::string text;
};

// A rank in `errors` has no process. Its exit is reported nevertheless, with
// the exit code that a shell would use (126 or 127).
struct Started {
  std::vector<StartedRank> ranks;
  std::vector<StartError> errors;
};

struct ExitedRank {
  Rank rank = 0;
  int wait_status = 0;  // as waitpid returns it
  uint32_t incarnation = 0;
  // The usage of this process and its predecessors; no value if the shim does
  // not measure it.
  std::optional<RankUsage> used = {};
};

// The answer to a Text. `status` is kErrOutOfResource if too much text is
// waiting already, and kErrNotFound if the shim has no such stream of the rank.
struct TextTaken {
  int status = 0;
};

// --------------------------------------------------------------- codec ---
// Decode functions return false for malformed bytes, and for values beyond the
// limits above; the result must then not be used.

std::string Encode(const Hello& m);
std::string Encode(const PrepareJob& m);
std::string Encode(const std::vector<RankSpec>& m);
std::string Encode(const RestartRank& m);
std::string Encode(const SignalRanks& m);
std::string Encode(const KillRanks& m);
std::string Encode(const TextRequest& m);
std::string Encode(const Notice& m);
std::string Encode(const JoinPod& m);
std::string Encode(const Welcome& m);
std::string Encode(const Prepared& m);
std::string Encode(const Started& m);
std::string Encode(const std::vector<ExitedRank>& m);
std::string Encode(const TextTaken& m);
// Credit, InputDone and Resumed contain a number of bytes, Orphan a new value
// of PrepareJob::orphan_ms, Hold a name. HoldMany and Held contain names in the
// order of their descriptors, Release names of HoldMany. Restarted is a Started
// of one rank. Start is empty or contains NAME=VALUE texts as names, which
// override the environment of every rank.
std::string EncodeBytes(uint64_t bytes);
std::string EncodeName(std::string_view name);
std::string EncodeNames(const std::vector<std::string>& names);
// Both functions encode the head of an Input or Output frame; the data follows
// the head up to the frame's end.
std::string EncodeInputHead(const std::vector<Rank>& ranks);
std::string EncodeOutputHead(Rank rank, uint16_t channel);

bool Decode(std::string_view in, Hello* m);
bool Decode(std::string_view in, PrepareJob* m);
bool Decode(std::string_view in, std::vector<RankSpec>* m);
bool Decode(std::string_view in, RestartRank* m);
bool Decode(std::string_view in, SignalRanks* m);
bool Decode(std::string_view in, KillRanks* m);
bool Decode(std::string_view in, TextRequest* m);
bool Decode(std::string_view in, Notice* m);
bool Decode(std::string_view in, JoinPod* m);
bool Decode(std::string_view in, Welcome* m);
bool Decode(std::string_view in, Prepared* m);
bool Decode(std::string_view in, Started* m);
bool Decode(std::string_view in, std::vector<ExitedRank>* m);
bool Decode(std::string_view in, TextTaken* m);
bool DecodeBytes(std::string_view in, uint64_t* bytes);
bool DecodeName(std::string_view in, std::string* name);
bool DecodeNames(std::string_view in, std::vector<std::string>* names);
bool DecodeInput(std::string_view in, std::vector<Rank>* ranks,
                 std::string_view* data);
bool DecodeOutput(std::string_view in, Rank* rank, uint16_t* channel,
                  std::string_view* data);

// Returns the name of the socket of a namespace's shim.
std::string ShimSocketName(std::string_view nspace);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROTOCOL_H_
