// A call of PMIx_Spawn, parsed from its arrays of infos and applications.
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
#include "common/job_request.h"
#include "common/status.h"
#include "server/spawn/environment.h"

namespace canopy::spawn {

inline constexpr size_t kMaxApps = 128;
inline constexpr size_t kMaxInfos = 512;  // in one array
inline constexpr uint32_t kMaxProcs = 1 << 20;

// The format and the files of the processes' output. A member without a value,
// or an empty string, was not given.
struct OutputWishes {
  std::optional<bool> merge_stderr;
  std::optional<bool> tag;
  std::optional<bool> rank;
  std::optional<bool> timestamp;
  std::optional<bool> xml;
  std::optional<bool> raw;      // incomplete lines are written at once
  std::string directory;        // in DIRECTORY/NAMESPACE/rank.RANK/
  std::string file;             // FILE.NAMESPACE.RANK.stdout and .stderr
  std::optional<bool> pattern;  // `file` has %n for NAMESPACE, %r for RANK
  std::string shared_file;      // FILE.RANK, for both streams
  std::optional<bool> only_files;

  bool operator==(const OutputWishes&) const = default;
};

// Returns the members of `own` that were given, and otherwise those of `job`.
OutputWishes WithDefaults(const OutputWishes& own, const OutputWishes& job);

// Directives for a job or one application. An empty member was not given.
struct Placing {
  std::string cwd;
  bool session_cwd = false;  // the session's directory instead of `cwd`
  std::string prefix;        // directory of programs without a path
  std::vector<Host> hosts;
  std::string hostfile;
  // True if PMIX_ADD_HOST or PMIX_ADD_HOSTFILE has named some of the hosts. All
  // hosts that are not members of the overlay are then added to it.
  bool adds_hosts = false;
  bool preload_program = false;  // the program is copied to the nodes
  std::string preload_files;     // copied too; separated by commas
  std::string pset;              // process set of the processes
  std::string exec_agent;        // executes the command line that it gets
  std::string fork_agent;        // starts the command as another process
  std::vector<EnvarEdit> edits;  // in array order
  OutputWishes output;
};

// An application of the call. `cwd` is pmix_app_t::cwd, used if no attribute
// names a directory; most libraries set it to the caller's own directory. `env`
// is added to the job's. MakeRequest sets the other members, which depend on
// `placing` of this application and of the job.
struct SpawnApp : JobApp {
  SpawnApp() { num_procs = 1; }

  Placing placing;
};

// Attributes that together make one policy of the request.
struct PolicyParts {
  std::string per_resource;  // PMIX_PPR: "N:RESOURCE"
  uint32_t cpus_per_proc = 0;
  bool no_oversubscribe = false;
  bool continuous = false;  // failed processes are restarted
  std::optional<uint32_t> max_restarts;
};

// Attributes that have an effect only under a condition, such as that the job
// has a launcher.
struct Conditional {
  std::vector<std::string> keys;  // each once
  // The reason why a job that does not meet the condition cannot be spawned.
  // Empty unless some of these attributes are required.
  std::string refusal;
};

// Returns a request for a job whose processes get no input.
inline JobRequest RequestWithoutInput() {
  JobRequest request;
  request.stdin_target = StdinTarget::kNone;
  return request;
}

struct SpawnCall {
  // The request as far as the call itself states it, without the applications,
  // their hosts, environments and directories.
  JobRequest request = RequestWithoutInput();
  std::vector<SpawnApp> apps;
  Placing placing;
  bool display_map = false;
  bool report_bindings = false;
  bool separate = false;  // lives and ends independently of its parent
  bool nohup = false;     // continues without the launcher of its family
  uint32_t spawn_timeout_seconds = 0;  // 0: none
  // Names of ignored attributes, each once.
  std::vector<std::string> ignored;
  // Ignored attributes of the job that a scheduler may honour (PMIX_ALLOC_*),
  // each once.
  std::vector<std::string> for_scheduler;
  // If some of `for_scheduler` are required, the reason why the job needs a
  // scheduler. Empty otherwise.
  std::string needs_scheduler;
  // The attributes that the launcher of the family honours, and the attributes
  // that readers of forwarded output honour as well.
  Conditional on_launcher;
  Conditional on_reader;
  // The applications that PMIX_COSPAWN_APP designates. They are a separate job,
  // which starts together with this one or not at all. May be null.
  std::shared_ptr<const SpawnCall> cospawned;
  PolicyParts parts;
};

// Parses `bytes` in codec form: SIZE n, n INFO, SIZE m, m APP. Errors, as one
// line of text: kErrUnpackFailure (malformed), kErrBadParam (a value of a wrong
// type, or all applications are cospawned), kErrJobNoExeSpecified,
// kErrNotSupported (a required attribute is not honoured), kErrOutOfResource (a
// limit is exceeded).
Result<SpawnCall> ParseSpawnCall(std::string_view bytes);

// Returns true if PMIX_ADD_HOST or PMIX_ADD_HOSTFILE names hosts for a job of
// the call.
bool AddsHosts(const SpawnCall& call);

// Returns the attributes that have no effect on a job without a launcher.
Conditional WithoutLauncher(const SpawnCall& call);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_SPAWN_CALL_H_
