// What a call of PMIx_Spawn asks for, read from its arrays of infos and
// applications.
#ifndef CANOPY_SERVER_SPAWN_SPAWN_CALL_H_
#define CANOPY_SERVER_SPAWN_SPAWN_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/hosts.h"
#include "common/job.h"
#include "common/job_debug.h"
#include "common/status.h"
#include "server/spawn/environment.h"

namespace canopy::spawn {

inline constexpr size_t kMaxApps = 128;
inline constexpr size_t kMaxInfos = 512;  // in one array
inline constexpr uint32_t kMaxProcs = 1 << 20;

// How the output of processes is shown and where it is written. What has no
// value, or is empty, is not said.
struct OutputWishes {
  std::optional<bool> merge_stderr;
  std::optional<bool> tag;
  std::optional<bool> rank;
  std::optional<bool> timestamp;
  std::optional<bool> xml;
  std::optional<bool> raw;      // parts of lines are written as they come
  std::string directory;        // DIRECTORY/NAMESPACE/rank.RANK/stdout, stderr
  std::string file;             // FILE.NAMESPACE.RANK.stdout and .stderr
  std::optional<bool> pattern;  // `file` has %n and %r in place of these
  std::string shared_file;      // FILE.RANK, for both streams
  std::optional<bool> only_files;

  bool operator==(const OutputWishes&) const = default;
};

// What of `own` is said, and the rest as in `job`.
OutputWishes WithDefaults(const OutputWishes& own, const OutputWishes& job);

// What may be said of the job and of one application alike. Empty: not said.
struct Placing {
  std::string cwd;
  bool session_cwd = false;  // the session's directory, whatever `cwd` is
  std::string prefix;        // where programs are that are named without one
  std::vector<Host> hosts;
  std::string hostfile;
  // PMIX_ADD_HOST and its file: as `hosts` for members of the overlay.
  bool adds_hosts = false;
  bool preload_program = false;  // the program is copied to the nodes
  std::string preload_files;     // so are these; separated by commas
  std::string pset;              // process set of the processes
  std::string exec_agent;        // is given the command line, and executes it
  std::string fork_agent;        // the same, and starts it as another process
  std::vector<EnvarEdit> edits;  // in array order
  OutputWishes output;
};

// What of a job's life is told: to its spawner, by events, or to the launcher
// of its family, as text. Bits that can be combined.
enum Report : uint32_t {
  kNotifyJobEvents = 1 << 0,   // start and end
  kNotifyCompletion = 1 << 1,  // the end
  kNotifyProcs = 1 << 2,       // every end of a process
  kNotifyFailedProcs = 1 << 3,
  kLogJobEvents = 1 << 4,
  kLogCompletion = 1 << 5,
  kLogProcs = 1 << 6,
  kLogFailedProcs = 1 << 7,
  kSilentEnd = 1 << 8,  // but not an end in order
  // When it runs out of time, before it ends: the states of its processes, and
  // where in their program they are. To the launcher.
  kTimeoutStates = 1 << 9,
  kTimeoutStacks = 1 << 10,
};

// Where the processes go: of the whole job, or of its only application.
struct Policies {
  std::string map_by;
  std::string rank_by;
  std::string bind_to;
  std::string per_resource;  // PMIX_PPR: "N:RESOURCE"
  uint32_t cpus_per_proc = 0;
  bool no_oversubscribe = false;
  bool no_procs_on_head = false;
  std::string cpu_list;
};

struct SpawnApp {
  std::vector<std::string> argv;  // argv[0] is the program
  Environment env;                // on top of the job's
  Placing placing;
  // pmix_app_t::cwd: where no attribute names a directory. Most libraries put
  // the caller's own there.
  std::string cwd;
  uint32_t num_procs = 1;
};

struct SpawnCall {
  std::vector<SpawnApp> apps;
  Placing placing;
  Policies policies;
  bool display_map = false;
  bool report_bindings = false;
  bool separate = false;  // lives and dies without its parent
  bool tool = false;      // takes no slots, and is not bound by itself
  uint32_t reports = 0;   // bits of Report
  bool index_argv = false;
  JobForwarding forwarding;
  // Whom input is pushed to: as in MapRequest::stdin_target.
  std::string stdin_target = "none";
  JobDebug debug;  // where its processes stop
  // They are debugger daemons. An empty namespace: of the other applications
  // of the call.
  std::optional<DebugDaemons> daemons;
  bool nohup = false;  // goes on when the launcher of its family is gone
  bool recoverable = false;
  bool continuous = false;  // what fails is started again
  std::optional<uint32_t> max_restarts;
  uint32_t job_timeout_seconds = 0;    // 0: none
  uint32_t spawn_timeout_seconds = 0;  // 0: none
  // Names of attributes that nobody honours; each once.
  std::vector<std::string> ignored;
  // The same of the job's array, where a scheduler may honour them:
  // PMIX_ALLOC_*.
  std::vector<std::string> for_scheduler;
  // Why there is no job without one: some of them are required. Empty: none is.
  std::string needs_scheduler;
  // What PMIX_COSPAWN_APP designates: the applications of a job of its own,
  // which starts together with this one or not at all. Null: none is
  // designated.
  std::shared_ptr<const SpawnCall> cospawned;
};

// `bytes` in codec form: SIZE n, n INFO, SIZE m, m APP. Errors, in one line:
// kErrUnpackFailure (malformed), kErrBadParam (a value of the wrong kind, no
// application that is not designated to be cospawned), kErrJobNoExeSpecified,
// kErrNotSupported (an attribute marked required that is not honoured),
// kErrOutOfResource (more than the limits).
Result<SpawnCall> ParseSpawnCall(std::string_view bytes);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_SPAWN_CALL_H_
