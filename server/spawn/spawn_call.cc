#include "server/spawn/spawn_call.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/app_command.h"
#include "common/codec/decoder.h"
#include "common/values/element_ops.h"
#include "common/values/info_list.h"
#include "common/values/type_table.h"
#include "pmix_common.h"
#include "server/spawn/attributes.h"

namespace canopy::spawn {
namespace {

constexpr size_t kDecodedBytes = size_t{64} << 20;

// Owns an application as a C structure.
class CApp {
 public:
  CApp() = default;
  CApp(CApp&& other) noexcept : app_(std::exchange(other.app_, {})) {}
  CApp& operator=(CApp&&) = delete;
  ~CApp() { DestructElement(*FindType(PMIX_APP), &app_); }

  pmix_app_t* get() { return &app_; }
  const pmix_app_t* get() const { return &app_; }
  const pmix_app_t* operator->() const { return &app_; }

 private:
  pmix_app_t app_ = {};
};

Status Malformed(const Decoder& in) {
  const int code =
      in.code() == kErrOutOfResource ? in.code() : kErrUnpackFailure;
  return Status(code, "the request to spawn is malformed or too large");
}

bool GetCount(Decoder* in, size_t limit, size_t* count) {
  if (!in->GetSize(count)) return false;
  return *count <= limit || in->Fail(kErrOutOfResource);
}

bool ReadArrays(Decoder* in, InfoList* infos, std::vector<CApp>* apps) {
  size_t count = 0;
  if (!GetCount(in, kMaxInfos, &count)) return false;
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t info = {};
    if (!in->GetInfo(&info)) return false;
    infos->Adopt(&info);
  }
  if (!GetCount(in, kMaxApps, &count)) return false;
  for (size_t i = 0; i < count; ++i) {
    CApp& app = apps->emplace_back();
    if (!in->GetElement(PMIX_APP, app.get())) return false;
    if (app->ninfo > kMaxInfos) return in->Fail(kErrOutOfResource);
  }
  return in->done();
}

std::vector<std::string> Texts(char* const* texts) {
  std::vector<std::string> out;
  for (; texts != nullptr && *texts != nullptr; ++texts) {
    out.emplace_back(*texts);
  }
  return out;
}

// Reads the members of an application other than its attributes.
Status ReadProgram(const pmix_app_t& c, SpawnApp* app) {
  AppCommand command = CommandOf(c.cmd, c.argv);
  if (command.program.empty()) {
    return Status(kErrJobNoExeSpecified, "an application names no program");
  }
  app->argv = std::move(command.argv);
  app->argv[0] = std::move(command.program);
  if (c.maxprocs < 0 || static_cast<uint32_t>(c.maxprocs) > kMaxProcs) {
    return Status(kErrBadParam, app->argv[0] +
                                    ": invalid number of processes: " +
                                    std::to_string(c.maxprocs));
  }
  app->num_procs = static_cast<uint32_t>(c.maxprocs);
  Environment env = Texts(c.env);
  std::erase_if(env, [](const std::string& entry) {
    return entry.find('=') == 0 || entry.find('=') == std::string::npos;
  });
  Merge(env, &app->env);
  if (c.cwd != nullptr) app->cwd = c.cwd;
  return Status();
}

// Puts the fork agent and the exec agent, two programs, before the command. An
// application's own one replaces the job's. The fork agent starts the exec
// agent, which becomes the program of the application.
void PutAgentsBefore(const Placing& job, SpawnApp* app) {
  for (const auto member : {&Placing::exec_agent, &Placing::fork_agent}) {
    const std::string& own = app->placing.*member;
    const std::string& agent = own.empty() ? job.*member : own;
    if (!agent.empty()) app->argv.insert(app->argv.begin(), agent);
  }
}

// The applications of one job. Applications of another job may be between them
// in the call.
using Apps = std::vector<const pmix_app_t*>;

Status ReadApps(const Apps& apps, SpawnCall* call) {
  call->apps.resize(apps.size());
  for (size_t i = 0; i < apps.size(); ++i) {
    const pmix_app_t& c = *apps[i];
    SpawnApp& app = call->apps[i];
    if (Status s = ReadProgram(c, &app); !s.ok()) return s;
    for (size_t k = 0; k < c.ninfo; ++k) {
      if (Status s = ApplyToApp(c.info[k], call, &app); !s.ok()) return s;
    }
    PutAgentsBefore(call->placing, &app);
  }
  return Status();
}

// Combines the parts of policies. PMIX_JOB_CONTINUOUS alone means restarts
// without a limit.
void JoinParts(SpawnCall* call) {
  const PolicyParts& parts = call->parts;
  std::string& map_by = call->request.places.map_by;
  if (!parts.per_resource.empty()) map_by = "ppr:" + parts.per_resource;
  if (parts.cpus_per_proc > 0) {
    map_by += ":pe=" + std::to_string(parts.cpus_per_proc);
  }
  if (parts.no_oversubscribe) map_by += ":nooversubscribe";
  call->request.max_restarts =
      parts.max_restarts.value_or(parts.continuous ? kUnlimitedRestarts : 0);
}

Result<SpawnCall> ReadJob(const InfoList& infos, const Apps& apps) {
  SpawnCall call;
  for (const pmix_info_t& info : infos) {
    if (Status s = ApplyToJob(info, &call); !s.ok()) return s;
  }
  if (Status s = ReadApps(apps, &call); !s.ok()) return s;
  JoinParts(&call);
  return call;
}

// Returns the job of the debugger daemons. Stop directives apply to the
// debugged job, not to the debugger's own daemons.
Result<SpawnCall> ReadDaemons(const InfoList& infos, const Apps& apps) {
  Result<SpawnCall> call = ReadJob(infos, apps);
  if (!call.ok()) return call;
  call->request.debug = JobDebug();
  call->request.places.tool = true;
  if (!call->request.daemons) call->request.daemons.emplace();
  return call;
}

// Checks that debugger daemons have a target. Daemons without other
// applications debug a job that runs already.
Result<SpawnCall> WithTarget(Result<SpawnCall> call) {
  if (!call.ok() || !call->request.daemons->target.nspace.empty()) return call;
  return Status(kErrBadParam,
                "debugger daemons need a PMIX_DEBUG_TARGET where no other "
                "application is spawned with them");
}

// The applications of each job: the main job, the cospawned job, and the
// debugger daemons.
struct Division {
  Apps main;
  Apps cospawned;
  Apps daemons;
};

// Assigns the applications to their jobs.
Status Divide(const InfoList& infos, const std::vector<CApp>& apps,
              Division* out) {
  const Result<bool> all = IsCospawned(infos.span(), false);
  if (!all.ok()) return all.status();
  for (const CApp& app : apps) {
    const std::span<const pmix_info_t> own_infos(app->info, app->ninfo);
    const Result<bool> own = IsCospawned(own_infos, *all);
    if (!own.ok()) return own.status();
    const Result<bool> daemons = AreDaemons(own_infos);
    if (!daemons.ok()) return daemons.status();
    Apps* const to = *daemons ? &out->daemons
                     : *own   ? &out->cospawned
                              : &out->main;
    to->push_back(app.get());
  }
  if (!out->daemons.empty() && !out->cospawned.empty()) {
    return Status(kErrNotSupported,
                  "one request makes two jobs at most: the main one, and "
                  "debugger daemons or what is cospawned");
  }
  if (!out->main.empty() || !out->daemons.empty()) return Status();
  return Status(kErrBadParam,
                apps.empty() ? "there is no application to spawn"
                             : "every application is to be spawned beside the "
                               "others (PMIX_COSPAWN_APP), and there is no "
                               "other");
}

// Returns an error if the call has a number of debugger daemons but no daemons.
Status CheckDaemons(const SpawnCall& call, const Division& jobs) {
  const std::optional<DebugDaemons>& daemons = call.request.daemons;
  const bool counted =
      daemons && (daemons->per_node > 0 || daemons->per_proc > 0);
  if (!counted || !jobs.daemons.empty()) return Status();
  return Status(kErrBadParam,
                "PMIX_DEBUG_DAEMONS_PER_NODE and PMIX_DEBUG_DAEMONS_PER_PROC "
                "need an application that is marked PMIX_DEBUGGER_DAEMONS");
}

std::string Either(const std::string& own, const std::string& job) {
  return own.empty() ? job : own;
}

}  // namespace

OutputWishes WithDefaults(const OutputWishes& own, const OutputWishes& job) {
  OutputWishes out = job;
  for (const auto member :
       {&OutputWishes::merge_stderr, &OutputWishes::tag, &OutputWishes::rank,
        &OutputWishes::timestamp, &OutputWishes::xml, &OutputWishes::raw,
        &OutputWishes::pattern, &OutputWishes::only_files}) {
    if (own.*member) out.*member = own.*member;
  }
  out.directory = Either(own.directory, job.directory);
  out.file = Either(own.file, job.file);
  out.shared_file = Either(own.shared_file, job.shared_file);
  return out;
}

bool AddsHosts(const SpawnCall& call) {
  return call.placing.adds_hosts ||
         std::ranges::any_of(
             call.apps,
             [](const SpawnApp& app) { return app.placing.adds_hosts; }) ||
         (call.cospawned && AddsHosts(*call.cospawned));
}

Conditional WithoutLauncher(const SpawnCall& call) {
  Conditional out = call.on_launcher;
  constexpr uint16_t kOutputs =
      PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
  if ((call.request.forwarding.channels & kOutputs) != 0) return out;
  const Conditional& reader = call.on_reader;
  out.keys.insert(out.keys.end(), reader.keys.begin(), reader.keys.end());
  if (out.refusal.empty()) out.refusal = reader.refusal;
  return out;
}

Result<SpawnCall> ParseSpawnCall(std::string_view bytes) {
  Decoder in(bytes);
  in.set_memory_limit(kDecodedBytes);
  InfoList infos;
  std::vector<CApp> apps;
  if (!ReadArrays(&in, &infos, &apps)) return Malformed(in);
  Division jobs;
  if (Status s = Divide(infos, apps, &jobs); !s.ok()) return s;
  const Result<bool> only_daemons = AreDaemons(infos.span());
  if (!only_daemons.ok()) return only_daemons.status();
  if (jobs.main.empty()) return WithTarget(ReadDaemons(infos, jobs.daemons));
  if (*only_daemons) return WithTarget(ReadDaemons(infos, jobs.main));
  Result<SpawnCall> call = ReadJob(infos, jobs.main);
  if (!call.ok()) return call;
  if (Status s = CheckDaemons(*call, jobs); !s.ok()) return s;
  // These infos describe the daemons, which are a separate job.
  call->request.daemons.reset();
  if (jobs.cospawned.empty() && jobs.daemons.empty()) return call;
  Result<SpawnCall> beside = jobs.daemons.empty()
                                 ? ReadJob(infos, jobs.cospawned)
                                 : ReadDaemons(infos, jobs.daemons);
  if (!beside.ok()) return beside;
  beside->separate = true;
  call->cospawned = std::make_shared<const SpawnCall>(*std::move(beside));
  return call;
}

}  // namespace canopy::spawn
