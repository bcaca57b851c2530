#include "server/spawn/attributes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/job_request.h"
#include "common/required.h"
#include "common/string_util.h"
#include "common/text.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/spawn/envar_info.h"

namespace canopy::spawn {
namespace {

constexpr uint32_t kMaxSeconds = UINT32_MAX / 1000;

// The objects that an attribute changes: `placing` belongs to the job or to the
// application.
struct Target {
  SpawnCall* call;
  Placing* placing;
};

// Applies a value to the target. Returns false if the value does not have the
// attribute's type.
using Setter = bool (*)(const pmix_value_t& value, const Target& target);

// The part of Canopy in which an attribute has its effect. kReader is the
// launcher or, with forwarded output, a puller.
enum class Place : uint8_t { kAgent, kLauncher, kReader };

struct Row {
  std::string_view key;
  Setter set;
  // True if the attribute concerns a whole job. It is then not honoured for one
  // of several applications.
  bool of_job = true;
  // The part of Canopy in which the attribute has its effect.
  Place place = Place::kAgent;
};

// --------------------------------------------------------------- values ---

bool Take(const pmix_value_t& value, std::string* to) {
  const auto text = StringOf(value);
  if (text) *to = *text;
  return text.has_value();
}

// Reads a flag. An info without a value means true.
bool Take(const pmix_value_t& value, bool* to) {
  if (value.type == PMIX_UNDEF) {
    *to = true;
    return true;
  }
  const auto flag = BoolOf(value);
  if (flag) *to = *flag;
  return flag.has_value();
}

bool Take(const pmix_value_t& value, uint32_t* to) {
  const auto number = Int64Of(value);
  if (!number || *number < 0) return false;
  *to = static_cast<uint32_t>(std::min<int64_t>(*number, kMaxSeconds));
  return true;
}

template <auto Member>
bool SetRequest(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.call->request.*Member));
}

template <auto Member>
bool SetPlaces(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.call->request.places.*Member));
}

template <auto Member>
bool SetProcess(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.call->request.process.*Member));
}

template <auto Member>
bool SetPart(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.call->parts.*Member));
}

template <auto Member>
bool SetCall(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.call->*Member));
}

bool SetMaxRestarts(const pmix_value_t& value, const Target& target) {
  return Take(value, &target.call->parts.max_restarts.emplace());
}

template <uint32_t kBit>
bool SetReport(const pmix_value_t& value, const Target& target) {
  bool wanted = false;
  if (!Take(value, &wanted)) return false;
  uint32_t& reports = target.call->request.reports;
  reports = wanted ? reports | kBit : reports & ~kBit;
  return true;
}

template <uint16_t kChannel>
bool SetForwarded(const pmix_value_t& value, const Target& target) {
  bool wanted = false;
  if (!Take(value, &wanted)) return false;
  uint16_t& channels = target.call->request.forwarding.channels;
  channels = static_cast<uint16_t>(wanted ? channels | kChannel
                                          : channels & ~kChannel);
  return true;
}

bool SetCacheSize(const pmix_value_t& value, const Target& target) {
  return Take(value, &target.call->request.forwarding.cache_size);
}

// Sets the rank that gets the input. PMIX_RANK_INVALID means that no rank gets
// input.
bool SetInput(const pmix_value_t& value, const Target& target) {
  const auto rank = Int64Of(value);
  if (!rank) return false;
  if (*rank < 0) return false;
  JobRequest& request = target.call->request;
  request.forwarding.input = *rank != int64_t{PMIX_RANK_INVALID};
  if (!request.forwarding.input) {
    request.stdin_target = StdinTarget::kNone;
  } else if (*rank == int64_t{PMIX_RANK_WILDCARD}) {
    request.stdin_target = StdinTarget::kAll;
  } else {
    request.stdin_target = StdinTarget::kRank;
    request.stdin_rank =
        static_cast<Rank>(std::min<int64_t>(*rank, kRankUndef));
  }
  return true;
}

// Sets which output the job's cache keeps. By default it drops the oldest
// output.
template <bool kOldest>
bool SetKept(const pmix_value_t& value, const Target& target) {
  bool wanted = false;
  if (!Take(value, &wanted)) return false;
  if (wanted) target.call->request.forwarding.keeps_oldest = kOldest;
  return true;
}

bool SetNice(const pmix_value_t& value, const Target& target) {
  const auto nice = Int64Of(value);
  if (!nice || *nice < -20 || *nice > 19) return false;
  target.call->request.process.nice = NiceValue{static_cast<int>(*nice)};
  return true;
}

template <auto Member>
bool SetPlacing(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.placing->*Member));
}

template <std::optional<bool> OutputWishes::*Member>
bool SetOutput(const pmix_value_t& value, const Target& target) {
  bool wanted = false;
  if (!Take(value, &wanted)) return false;
  target.placing->output.*Member = wanted;
  return true;
}

template <std::string OutputWishes::*Member>
bool SetOutput(const pmix_value_t& value, const Target& target) {
  return Take(value, &(target.placing->output.*Member));
}

// ---------------------------------------------------------------- hosts ---

bool AddHosts(const pmix_value_t& value, const Target& target) {
  const auto text = StringOf(value);
  if (!text) return false;
  Result<std::vector<Host>> hosts = ParseHostList(*text);
  if (!hosts.ok()) return false;
  for (Host& host : *hosts) target.placing->hosts.push_back(std::move(host));
  return true;
}

bool AddMoreHosts(const pmix_value_t& value, const Target& target) {
  target.placing->adds_hosts = true;
  return AddHosts(value, target);
}

bool SetMoreHostfile(const pmix_value_t& value, const Target& target) {
  target.placing->adds_hosts = true;
  return Take(value, &target.placing->hostfile);
}

// ---------------------------------------------------------- environment ---

template <EnvarEdit::Kind kKind>
bool AddEdit(const pmix_value_t& value, const Target& target) {
  auto edit = ReadEdit(kKind, value);
  if (edit) target.placing->edits.push_back(*std::move(edit));
  return edit.has_value();
}

// ------------------------------------------------------------- debuggers ---

DebugDaemons* DaemonsOf(SpawnCall* call) {
  std::optional<DebugDaemons>& daemons = call->request.daemons;
  return daemons ? &*daemons : &daemons.emplace();
}

bool AddRanks(const pmix_data_array_t* array, std::vector<Rank>* ranks) {
  if (array == nullptr || array->array == nullptr || array->size == 0) {
    return false;
  }
  for (size_t i = 0; i < array->size; ++i) {
    if (array->type == PMIX_PROC) {
      ranks->push_back(static_cast<const pmix_proc_t*>(array->array)[i].rank);
    } else if (array->type == PMIX_PROC_RANK) {
      ranks->push_back(static_cast<const pmix_rank_t*>(array->array)[i]);
    } else {
      return false;
    }
  }
  return true;
}

// Reads the ranks to stop. The value is a bool or a wildcard for all ranks, one
// rank, or a list of ranks.
bool TakeStop(const pmix_value_t& value, StopRanks* to) {
  bool all = false;
  if (Take(value, &all)) {
    *to = all ? StopRanks(std::in_place) : std::nullopt;
    return true;
  }
  std::vector<Rank> ranks;
  if (value.type == PMIX_PROC_RANK) {
    ranks.push_back(value.data.rank);
  } else if (value.type != PMIX_DATA_ARRAY ||
             !AddRanks(value.data.darray, &ranks)) {
    return false;
  }
  if (std::ranges::count(ranks, kRankWildcard) > 0) ranks.clear();
  if (std::ranges::any_of(ranks, [](Rank r) { return r > kRankValid; })) {
    return false;
  }
  std::ranges::sort(ranks);
  *to = std::move(ranks);
  return true;
}

template <StopRanks JobDebug::*Member>
bool SetStop(const pmix_value_t& value, const Target& target) {
  return TakeStop(value, &(target.call->request.debug.*Member));
}

template <uint32_t DebugDaemons::*Member>
bool SetDaemons(const pmix_value_t& value, const Target& target) {
  return Take(value, &(DaemonsOf(target.call)->*Member));
}

bool SetDebugTarget(const pmix_value_t& value, const Target& target) {
  if (value.type != PMIX_PROC || value.data.proc == nullptr) return false;
  const pmix_proc_t& proc = *value.data.proc;
  DaemonsOf(target.call)->target = {
      std::string(proc.nspace, strnlen(proc.nspace, sizeof proc.nspace)),
      proc.rank};
  return proc.rank <= kRankValid || proc.rank == kRankWildcard;
}

bool MarkDaemons(const pmix_value_t& value, const Target& target) {
  bool daemons = false;
  if (!Take(value, &daemons)) return false;
  if (daemons) DaemonsOf(target.call);
  return true;
}

// -------------------------------------------------------------- the rest ---

// Accepts an attribute without using it: the user, whom the agent knows and
// whom libraries name in many calls, and attributes that were evaluated before
// this application was assigned to its job.
bool Accept(const pmix_value_t&, const Target&) { return true; }

// Accepts a flag without using it. A job always gets the environment of its
// spawner's job and of the call, whether or not the spawner has collected it;
// no process has to call PMIx_Init; and a missing directory is always an error.
bool AcceptFlag(const pmix_value_t& value, const Target&) {
  bool flag = false;
  return Take(value, &flag);
}

// The names of programming models that are accepted: the environment of every
// process is suitable for programs of all of them.
constexpr std::string_view kPersonalities[] = {
    "ompi",  "ompi4", "ompi5", "oshmem", "openshmem", "mpich",
    "hydra", "pmix",  "prte",  "prrte",  "torch",     "canopy",
};

bool HasPersonalities(std::string_view names) {
  return std::ranges::all_of(Split(names, ','), [](const std::string& name) {
    return std::ranges::count(kPersonalities, name) > 0;
  });
}

// Returns true if the attribute is honoured with this value.
bool HasEffect(const pmix_info_t& info) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_PERSONALITY) {
    const auto names = StringOf(info.value);
    return !names || HasPersonalities(*names);
  }
  // The environment of the spawner's job is always forwarded.
  bool forwards = true;
  return key != PMIX_FWD_ENVIRONMENT || !Take(info.value, &forwards) ||
         forwards;
}

bool SetPersonality(const pmix_value_t& value, const Target&) {
  return StringOf(value).has_value();
}

using Kind = EnvarEdit::Kind;

// Canopy's own attribute for the nice value of the processes, a number.
constexpr char kNiceKey[] = "canopy.nice";

constexpr Row kRows[] = {
    {PMIX_WDIR, SetPlacing<&Placing::cwd>, false},
    {PMIX_SET_SESSION_CWD, SetPlacing<&Placing::session_cwd>, false},
    {PMIX_PREFIX, SetPlacing<&Placing::prefix>, false},
    {PMIX_HOST, AddHosts, false},
    {PMIX_HOSTFILE, SetPlacing<&Placing::hostfile>, false},
    {PMIX_ADD_HOST, AddMoreHosts, false},
    {PMIX_ADD_HOSTFILE, SetMoreHostfile, false},
    {PMIX_PRELOAD_BIN, SetPlacing<&Placing::preload_program>, false},
    {PMIX_PSET_NAME, SetPlacing<&Placing::pset>, false},
    {PMIX_PRELOAD_FILES, SetPlacing<&Placing::preload_files>, false},
    {PMIX_EXEC_AGENT, SetPlacing<&Placing::exec_agent>, false},
    {PMIX_FORKEXEC_AGENT, SetPlacing<&Placing::fork_agent>, false},
    {PMIX_SET_ENVAR, AddEdit<Kind::kSet>, false},
    {PMIX_UNSET_ENVAR, AddEdit<Kind::kUnset>, false},
    {PMIX_ADD_ENVAR, AddEdit<Kind::kAdd>, false},
    {PMIX_PREPEND_ENVAR, AddEdit<Kind::kPrepend>, false},
    {PMIX_APPEND_ENVAR, AddEdit<Kind::kAppend>, false},
    {PMIX_FIRST_ENVAR, AddEdit<Kind::kFirst>, false},
    {PMIX_MAPBY, SetPlaces<&JobPlaces::map_by>},
    {PMIX_RANKBY, SetPlaces<&JobPlaces::rank_by>},
    {PMIX_BINDTO, SetPlaces<&JobPlaces::bind_to>},
    {PMIX_PPR, SetPart<&PolicyParts::per_resource>},
    {PMIX_CPUS_PER_PROC, SetPart<&PolicyParts::cpus_per_proc>},
    {PMIX_NO_OVERSUBSCRIBE, SetPart<&PolicyParts::no_oversubscribe>},
    {PMIX_NO_PROCS_ON_HEAD, SetPlaces<&JobPlaces::no_local>},
    {PMIX_MERGE_STDERR_STDOUT, SetOutput<&OutputWishes::merge_stderr>, false},
    {PMIX_IOF_MERGE_STDERR_STDOUT, SetOutput<&OutputWishes::merge_stderr>,
     false},
    {PMIX_TAG_OUTPUT, SetOutput<&OutputWishes::tag>, false, Place::kLauncher},
    {PMIX_IOF_TAG_OUTPUT, SetOutput<&OutputWishes::tag>, false, Place::kReader},
    {PMIX_IOF_RANK_OUTPUT, SetOutput<&OutputWishes::rank>, false,
     Place::kReader},
    {PMIX_TIMESTAMP_OUTPUT, SetOutput<&OutputWishes::timestamp>, false,
     Place::kLauncher},
    {PMIX_IOF_TIMESTAMP_OUTPUT, SetOutput<&OutputWishes::timestamp>, false,
     Place::kReader},
    {PMIX_IOF_XML_OUTPUT, SetOutput<&OutputWishes::xml>, false, Place::kReader},
    {PMIX_IOF_OUTPUT_RAW, SetOutput<&OutputWishes::raw>, false, Place::kReader},
    {PMIX_OUTPUT_TO_DIRECTORY, SetOutput<&OutputWishes::directory>, false,
     Place::kLauncher},
    {PMIX_IOF_OUTPUT_TO_DIRECTORY, SetOutput<&OutputWishes::directory>, false,
     Place::kReader},
    {PMIX_OUTPUT_TO_FILE, SetOutput<&OutputWishes::shared_file>, false,
     Place::kLauncher},
    {PMIX_IOF_OUTPUT_TO_FILE, SetOutput<&OutputWishes::file>, false,
     Place::kReader},
    {PMIX_IOF_FILE_PATTERN, SetOutput<&OutputWishes::pattern>, false,
     Place::kReader},
    {PMIX_IOF_FILE_ONLY, SetOutput<&OutputWishes::only_files>, false,
     Place::kReader},
    {PMIX_CPU_LIST, SetPlaces<&JobPlaces::cpu_list>},
    {PMIX_DEBUG_STOP_ON_EXEC, SetStop<&JobDebug::on_exec>},
    {PMIX_DEBUG_STOP_IN_INIT, SetStop<&JobDebug::in_init>},
    {PMIX_DEBUG_STOP_IN_APP, SetStop<&JobDebug::in_app>},
    {PMIX_DEBUGGER_DAEMONS, MarkDaemons},
    {PMIX_DEBUG_TARGET, SetDebugTarget},
    {PMIX_DEBUG_DAEMONS_PER_NODE, SetDaemons<&DebugDaemons::per_node>},
    {PMIX_DEBUG_DAEMONS_PER_PROC, SetDaemons<&DebugDaemons::per_proc>},
    {PMIX_INDEX_ARGV, SetProcess<&ProcessPolicies::index_argv>},
    {kNiceKey, SetNice},
    {PMIX_JOB_RECOVERABLE, SetRequest<&JobRequest::recoverable>},
    {PMIX_JOB_CONTINUOUS, SetPart<&PolicyParts::continuous>},
    {PMIX_MAX_RESTARTS, SetMaxRestarts},
    {PMIX_DISPLAY_MAP, SetCall<&SpawnCall::display_map>, true,
     Place::kLauncher},
    {PMIX_REPORT_BINDINGS, SetCall<&SpawnCall::report_bindings>, true,
     Place::kLauncher},
    {PMIX_SPAWN_CHILD_SEP, SetCall<&SpawnCall::separate>},
    {PMIX_SPAWN_TOOL, SetPlaces<&JobPlaces::tool>},
    {PMIX_NOHUP, SetCall<&SpawnCall::nohup>},
    {PMIX_EVENT_SILENT_TERMINATION, SetReport<kSilentEnd>},
    {PMIX_NOTIFY_COMPLETION, SetReport<kNotifyCompletion>},
    {PMIX_NOTIFY_JOB_EVENTS, SetReport<kNotifyJobEvents>},
    {PMIX_NOTIFY_PROC_TERMINATION, SetReport<kNotifyProcs>},
    {PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, SetReport<kNotifyFailedProcs>},
    {PMIX_LOG_COMPLETION, SetReport<kLogCompletion>},
    {PMIX_LOG_JOB_EVENTS, SetReport<kLogJobEvents>},
    {PMIX_LOG_PROC_TERMINATION, SetReport<kLogProcs>},
    {PMIX_LOG_PROC_ABNORMAL_TERMINATION, SetReport<kLogFailedProcs>},
    {PMIX_TIMEOUT_REPORT_STATE, SetReport<kTimeoutStates>},
    {PMIX_TIMEOUT_STACKTRACES, SetReport<kTimeoutStacks>},
    {PMIX_JOB_TIMEOUT, SetRequest<&JobRequest::timeout_seconds>},
    {PMIX_SPAWN_TIMEOUT, SetCall<&SpawnCall::spawn_timeout_seconds>},
    {PMIX_TIMEOUT, SetCall<&SpawnCall::spawn_timeout_seconds>},
    {PMIX_COSPAWN_APP, Accept, false},
    {PMIX_PERSONALITY, SetPersonality, false},
    {PMIX_ENVARS_HARVESTED, AcceptFlag, false},
    {PMIX_FWD_STDOUT, SetForwarded<PMIX_FWD_STDOUT_CHANNEL>},
    {PMIX_FWD_STDERR, SetForwarded<PMIX_FWD_STDERR_CHANNEL>},
    {PMIX_FWD_STDDIAG, SetForwarded<PMIX_FWD_STDDIAG_CHANNEL>},
    {PMIX_FWD_STDIN, SetInput},
    {PMIX_STDIN_TGT, SetInput},
    {PMIX_IOF_CACHE_SIZE, SetCacheSize},
    {PMIX_IOF_DROP_OLDEST, SetKept<false>},
    {PMIX_IOF_DROP_NEWEST, SetKept<true>},
    {PMIX_FWD_ENVIRONMENT, AcceptFlag, false},
    {PMIX_NON_PMI, AcceptFlag, false},
    {PMIX_WDIR_USER_SPECIFIED, AcceptFlag, false},
    {PMIX_USERID, Accept, false},
    {PMIX_GRPID, Accept, false},
};

// Returns true if only a scheduler can honour the attribute.
bool IsForScheduler(const pmix_info_t& info) {
  return KeyOf(info).starts_with("pmix.alloc.");
}

bool AsksForNothing(const pmix_info_t& info) {
  return info.value.type == PMIX_BOOL && !info.value.data.flag;
}

Status Ignore(const pmix_info_t& info, SpawnCall* call) {
  // The spawner's library has already honoured the attribute.
  if ((info.flags & kInfoRequiredProcessed) != 0) return Status();
  const std::string key = Printable(KeyOf(info));
  const bool known = IsForScheduler(info);
  if (known && AsksForNothing(info)) return Status();
  if (MustHonour(info.flags)) {
    return Status(
        kErrNotSupported,
        "attribute " + key + " is required and not supported" +
            (known ? ": the nodes of the overlay are the allocation" : ""));
  }
  if (std::ranges::count(call->ignored, key) == 0) {
    call->ignored.push_back(key);
  }
  return Status();
}

void LeaveToScheduler(const pmix_info_t& info, SpawnCall* call) {
  if (AsksForNothing(info)) return;
  SpawnCall without;
  const Status status = Ignore(info, &without);
  if (!status.ok() && call->needs_scheduler.empty()) {
    call->needs_scheduler = status.message();
  }
  const std::string key = Printable(KeyOf(info));
  if (std::ranges::count(call->for_scheduler, key) == 0) {
    call->for_scheduler.push_back(key);
  }
}

void Note(const pmix_info_t& info, const std::string& without,
          Conditional* out) {
  const std::string key = Printable(KeyOf(info));
  if (MustHonour(info.flags) && out->refusal.empty()) {
    out->refusal = "attribute " + key + " is required, and the job has no " +
                   without + " that honours it";
  }
  if (std::ranges::count(out->keys, key) == 0) out->keys.push_back(key);
}

void NotePlace(const pmix_info_t& info, Place place, SpawnCall* call) {
  if (AsksForNothing(info)) return;
  if (place == Place::kLauncher) Note(info, "launcher", &call->on_launcher);
  if (place == Place::kReader) {
    Note(info, "launcher and no forwarded output", &call->on_reader);
  }
}

Status WrongValue(std::string_view key) {
  return Status(kErrBadParam, "the value of attribute " + std::string(key) +
                                  " is invalid or of a wrong type");
}

// Returns true for attributes that cannot be ignored, because other processes
// than requested would run.
bool IsIndispensable(std::string_view key) {
  return key == PMIX_LAUNCHER_DAEMON || key == PMIX_LAUNCH_DIRECTIVES;
}

// Returns true for attributes that stop processes. A launcher that cannot stop
// them must refuse to start them.
bool Pauses(std::string_view key) {
  return key == PMIX_DEBUG_STOP_ON_EXEC || key == PMIX_DEBUG_STOP_IN_INIT ||
         key == PMIX_DEBUG_STOP_IN_APP;
}

Status Apply(const pmix_info_t& info, const Target& target, bool whole_job) {
  const auto* const row = std::ranges::find(kRows, KeyOf(info), &Row::key);
  if (row != std::end(kRows) && !whole_job && Pauses(row->key) &&
      !AsksForNothing(info)) {
    return Status(kErrNotSupported,
                  "one of several applications cannot be paused without the "
                  "others (" +
                      std::string(row->key) + ")");
  }
  if (IsIndispensable(KeyOf(info)) && !AsksForNothing(info)) {
    return Status(kErrNotSupported,
                  "attribute " + Printable(KeyOf(info)) + " is not supported");
  }
  if (row == std::end(kRows) || (row->of_job && !whole_job) ||
      !HasEffect(info)) {
    return Ignore(info, target.call);
  }
  if (!row->set(info.value, target)) return WrongValue(row->key);
  NotePlace(info, row->place, target.call);
  return Status();
}

}  // namespace

Result<bool> IsCospawned(std::span<const pmix_info_t> infos, bool otherwise) {
  for (const pmix_info_t& info : infos) {
    if (KeyOf(info) != PMIX_COSPAWN_APP) continue;
    if (!Take(info.value, &otherwise)) return WrongValue(PMIX_COSPAWN_APP);
  }
  return otherwise;
}

Result<bool> AreDaemons(std::span<const pmix_info_t> infos) {
  bool daemons = false;
  for (const pmix_info_t& info : infos) {
    if (KeyOf(info) != PMIX_DEBUGGER_DAEMONS) continue;
    if (!Take(info.value, &daemons)) return WrongValue(PMIX_DEBUGGER_DAEMONS);
  }
  return daemons;
}

Status ApplyToJob(const pmix_info_t& info, SpawnCall* call) {
  if (IsForScheduler(info)) {
    LeaveToScheduler(info, call);
    return Status();
  }
  return Apply(info, {call, &call->placing}, true);
}

Status ApplyToApp(const pmix_info_t& info, SpawnCall* call, SpawnApp* app) {
  return Apply(info, {call, &app->placing}, call->apps.size() == 1);
}

}  // namespace canopy::spawn
