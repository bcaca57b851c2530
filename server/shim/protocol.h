// Protocol between an agent and canopy-shim. server/shim and server/process are
// its two sides and share one namespace; the shim depends on nothing of the
// agent's. docs/shim_states.md has the states of both.
//
// A shim holds the processes of one job on one node and outlives its agent. It
// is started with one connection to the agent that starts it and with a
// listening socket, `shim-<hash of the namespace>.sock` in the agent's runtime
// directory, on which a later agent connects. The newest agent is served: the
// one before it is sent Replaced. A peer must have the shim's own user id, or
// be root.
//
// Both ends are on one machine. A frame is a FrameHeader in host order and a
// payload, a WireWriter record of the struct named after the frame type.
// Descriptors travel as SCM_RIGHTS with the first byte of their frame.
//
//   agent                                 shim
//   Hello                       ->
//                               <-  Held... (connections that are kept)
//                               <-  Welcome (what is there; held descriptors)
//   then, for a new job:
//   Prepare, Ranks..., Check    ->
//                               <-  Prepared
//   Start                       ->
//                               <-  Started
//   or, for a job found again, or when output was lost on its way:
//   Resume                      ->
//                               <-  Resumed (how much output was acknowledged)
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
//   Forget                      ->  (ends what is left, and itself)
//
// Output: the shim reads pipes only while less than `window` bytes are not yet
// acknowledged, so a rank without a reader blocks. Credit acknowledges that
// many bytes of the job's output, in the order in which it was sent. After
// Resumed everything not acknowledged is sent again, then the ends of streams
// that have ended, then all Exits: nothing is lost, and a successor may receive
// again what its predecessor had not acknowledged. A stream's end is an Output
// without data. The exit of a rank follows the end of its streams, or comes one
// second after the exit when something else holds them open; their output then
// follows the exit.
//
// Restart gives a rank whose process has ended another one, with the next
// incarnation; one with any other number is a repetition and has no effect.
// What is left of the process group before it is killed, and its streams are
// given up: the ends of the new ones follow for themselves. Exits and Welcome
// say of which incarnation they speak.
//
// A Text is put among the output of a process as if the process had written it
// (TextRequest). Each is answered by one TextTaken, in the order of the Texts,
// once the shim has it; what is answered with success is output like any other
// from there on.
#ifndef CANOPY_SERVER_SHIM_PROTOCOL_H_
#define CANOPY_SERVER_SHIM_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "server/shim/rank_usage.h"

namespace canopy::process {

// The shim answers in the older of its own version and the agent's. 2: holds
// connections (HoldMany, Release, Held). 3: reports how much input it has
// taken. 4: looks whether programs can use Canopy's libpmix; takes texts (Text,
// TextTaken); Start may bring variables. 5: starts other processes in place of
// those that have ended (Restart); puts ranks into the names of processes; says
// what they have used (Exits).
inline constexpr uint32_t kShimProtocolVersion = 5;
inline constexpr uint32_t kOldestShimProtocol = 1;
inline constexpr uint32_t kFirstWithUsage = 5;

// Largest payload either side accepts.
inline constexpr uint32_t kMaxPayload = 64u << 20;
// Most descriptors with one frame (the kernel's limit is 253).
inline constexpr size_t kMaxFrameFds = 200;
// Most descriptors that one rank inherits, and that Hold keeps.
inline constexpr size_t kMaxInherited = 8;
inline constexpr size_t kMaxHeld = 64;
// Most connections held for HoldMany.
inline constexpr size_t kMaxConnections = 1 << 16;
// Input that a shim takes before the processes have read it.
inline constexpr uint64_t kMaxPendingInput = 64u << 20;
// Most output in one frame.
inline constexpr size_t kMaxOutputChunk = 64u << 10;
// Most bytes of texts that wait in a shim for the window or for their turn, so
// also of one Text; and most pieces of text in one.
inline constexpr size_t kMaxWaitingText = 1u << 20;
inline constexpr size_t kMaxTextParts = 64;
// Most bytes of what texts are gathered by, key and value together.
inline constexpr size_t kMaxTextKind = 1024;

// Output channels: the bits of pmix_iof_channel_t.
inline constexpr uint16_t kChannelStdout = 2;
inline constexpr uint16_t kChannelStderr = 4;

// Descriptors that a shim is started with.
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
};

struct FrameHeader {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;
  uint8_t fds = 0;  // descriptors that come with this frame
  uint16_t zero = 0;
};
static_assert(sizeof(FrameHeader) == 8);

// ------------------------------------------------------ agent to shim ---

struct Hello {
  uint32_t version = kShimProtocolVersion;
};

// One application. The environment goes on top of the job's.
struct AppSpec {
  std::string program;  // as typed; looked for in PATH unless it has a '/'
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string cwd;  // empty: the agent's
  // With PrepareJob::library alone. What goes on top of `env` for a program
  // that must have its own libpmix.
  std::vector<std::string> own_library_env = {};
  // What an earlier job of this agent found (loader::EncodeFinding) or empty.
  std::string known_finding = {};
};

struct PrepareJob {
  std::string nspace;
  // Time without an agent after which the shim ends the job and itself.
  uint32_t orphan_ms = 0;
  // Time between SIGTERM and SIGKILL when it does, and on Forget.
  uint32_t grace_ms = 0;
  uint64_t window = 0;  // bytes of output not yet acknowledged
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool merge_stderr = false;
  std::string record;  // the agent's own; returned in Welcome
  std::vector<std::string> env;
  std::vector<AppSpec> apps;
  // Path of Canopy's libpmix.so.2, which `env` puts in front of the programs'
  // own: whether they can use it is to be found out, and answered in
  // Prepared. Empty: it is not in front, or the agent is of a version before 4.
  std::string library;
  // A process's argv[0] is NAME-RANK.
  bool index_argv = false;
  // Ranks that are stopped (SIGSTOP) before the first instruction of their
  // program; empty: all. No value: none.
  std::optional<std::vector<Rank>> stop_on_exec = {};
};

// One process of the job.
struct RankSpec {
  Rank rank = 0;
  uint32_t app = 0;
  std::vector<std::string> env;  // on top of the application's
  std::string cpuset;            // hwloc list format; empty: not bound
  bool has_stdin = false;        // a pipe; otherwise /dev/null
  // Variables that get the numbers of the inherited descriptors, which come
  // with the frame in the order of the ranks.
  std::vector<std::string> fd_names;
};

// Another process for a rank.
struct RestartRank {
  uint32_t incarnation = 1;  // how many processes the rank had before it
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

// Goes to its stream behind what the process has written to the pipe by the
// time the shim has it.
struct TextPart {
  uint16_t channel = kChannelStderr;  // or kChannelStdout
  std::string text;
};

// What a process wants among its output, all of it or nothing: at most
// kMaxTextParts pieces and kMaxWaitingText bytes.
struct TextRequest {
  // By these the shim knows a request that a former agent has put already:
  // it is answered as it was then, and not printed again.
  uint64_t client = 0;
  uint32_t request = 0;
  bool again = false;
  Rank rank = 0;
  // Texts of one kind are gathered: the first is printed, of others how many
  // processes have sent them. Empty: not gathered. At most kMaxTextKind bytes.
  std::string key;
  std::string value;
  std::vector<TextPart> parts;
};

// NAME=VALUE in the environment of every process of a shim, and in that of no
// other: by it they are found when the shim is dead.
std::string JobMark(std::string_view nspace, int shim_pid);

// ------------------------------------------------------ shim to agent ---

enum class RankPhase : uint8_t { kWaiting = 0, kRunning = 1, kEnded = 2 };

struct RankState {
  Rank rank = 0;
  RankPhase phase = RankPhase::kWaiting;
  int pid = 0;
  int wait_status = 0;  // when ended
  uint32_t incarnation = 0;
};

struct Welcome {
  uint32_t version = kShimProtocolVersion;
  int pid = 0;         // the shim's own
  std::string nspace;  // empty before Prepare
  bool started = false;
  std::string record;
  std::vector<RankState> ranks;
  std::vector<std::string> held;  // names; the descriptors come along
  // From version 3 on. InputDone counts on from there.
  uint64_t input_taken = 0;  // bytes that Input has brought
  uint64_t input_done = 0;   // of them, those that need no more care
};

// Status is a PMIx status, text one line for a person.
struct Prepared {
  int status = 0;
  std::string text;
  // For each application what was found (loader::EncodeFinding); none without
  // PrepareJob::library, or on failure.
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

// Ranks in `errors` have no process; their exits are reported all the same,
// with the exit code that a shell would give (126 or 127).
struct Started {
  std::vector<StartedRank> ranks;
  std::vector<StartError> errors;
};

struct ExitedRank {
  Rank rank = 0;
  int wait_status = 0;  // as waitpid gives it
  uint32_t incarnation = 0;
  // By this process and those before it; none: the shim does not measure it.
  std::optional<RankUsage> used = {};
};

// kErrOutOfResource when too much text waits already, kErrNotFound when the
// rank has no stream here.
struct TextTaken {
  int status = 0;
};

// --------------------------------------------------------------- codec ---
// Decode* return false for anything that Encode* does not write; the result is
// then not to be used.

std::string Encode(const Hello& m);
std::string Encode(const PrepareJob& m);
std::string Encode(const std::vector<RankSpec>& m);
std::string Encode(const RestartRank& m);
std::string Encode(const SignalRanks& m);
std::string Encode(const KillRanks& m);
std::string Encode(const TextRequest& m);
std::string Encode(const Welcome& m);
std::string Encode(const Prepared& m);
std::string Encode(const Started& m);
std::string Encode(const std::vector<ExitedRank>& m);
std::string Encode(const TextTaken& m);
// Credit, InputDone and Resumed carry a number of bytes, Orphan the
// milliseconds of PrepareJob::orphan_ms from now on, Hold a name; HoldMany and
// Held names in the order of their descriptors, Release names of HoldMany.
// Restarted is a Started of one rank. Start carries nothing, or NAME=VALUE
// texts as names, which are on top of the environment of every rank.
std::string EncodeBytes(uint64_t bytes);
std::string EncodeName(std::string_view name);
std::string EncodeNames(const std::vector<std::string>& names);
// Head of an Input or Output frame; the data follows it to the frame's end.
std::string EncodeInputHead(const std::vector<Rank>& ranks);
std::string EncodeOutputHead(Rank rank, uint16_t channel);

bool Decode(std::string_view in, Hello* m);
bool Decode(std::string_view in, PrepareJob* m);
bool Decode(std::string_view in, std::vector<RankSpec>* m);
bool Decode(std::string_view in, RestartRank* m);
bool Decode(std::string_view in, SignalRanks* m);
bool Decode(std::string_view in, KillRanks* m);
bool Decode(std::string_view in, TextRequest* m);
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

// Name of the socket of a namespace's shim.
std::string ShimSocketName(std::string_view nspace);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROTOCOL_H_
