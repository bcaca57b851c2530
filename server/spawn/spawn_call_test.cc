#include "server/spawn/spawn_call.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"

namespace canopy::spawn {
namespace {

struct TestApp {
  std::string cmd = "prog";
  std::vector<std::string> argv = {"prog", "arg"};
  std::vector<std::string> env = {};
  std::string cwd = "";
  int maxprocs = 2;
  InfoList infos = {};
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void Put(const InfoList& infos, Encoder* out) {
  out->PutSize(infos.size());
  for (const pmix_info_t& info : infos) out->PutInfo(info);
}

std::string Call(const InfoList& job, std::vector<TestApp> apps) {
  Encoder out;
  Put(job, &out);
  out.PutSize(apps.size());
  for (TestApp& app : apps) {
    std::vector<char*> argv = Pointers(app.argv);
    std::vector<char*> env = Pointers(app.env);
    pmix_app_t c = {};
    c.cmd = app.cmd.data();
    c.argv = argv.data();
    c.env = env.data();
    c.cwd = app.cwd.empty() ? nullptr : app.cwd.data();
    c.maxprocs = app.maxprocs;
    c.info = app.infos.mutable_data();
    c.ninfo = app.infos.size();
    out.PutElement(PMIX_APP, &c);
  }
  return out.Take();
}

SpawnCall Parse(const InfoList& job, std::vector<TestApp> apps = {TestApp()}) {
  const std::string bytes = Call(job, std::move(apps));
  Result<SpawnCall> call = ParseSpawnCall(bytes);
  EXPECT_TRUE(call.ok()) << call.status().message();
  return call.ok() ? *std::move(call) : SpawnCall();
}

int Refusal(const InfoList& job, std::vector<TestApp> apps = {TestApp()}) {
  const std::string bytes = Call(job, std::move(apps));
  return ParseSpawnCall(bytes).code();
}

TEST(SpawnCallTest, ReadsStopsForADebugger) {
  InfoList job;
  job.Add(PMIX_DEBUG_STOP_ON_EXEC, Value::Bool(true));
  job.Add(PMIX_DEBUG_STOP_IN_INIT, Value::Rank(3));
  const std::vector<ProcId> procs = {{"", 2}, {"", 0}};
  job.Add(PMIX_DEBUG_STOP_IN_APP, Value::ProcArray(procs));
  const SpawnCall call = Parse(job);
  EXPECT_EQ(call.request.debug.on_exec, StopRanks(std::in_place));
  EXPECT_EQ(call.request.debug.in_init, (std::vector<Rank>{3}));
  EXPECT_EQ(call.request.debug.in_app, (std::vector<Rank>{0, 2}));
  EXPECT_FALSE(call.request.daemons);
  InfoList other;
  other.Add(PMIX_DEBUG_STOP_IN_INIT, Value::Bool(false));
  EXPECT_FALSE(Parse(other).request.debug.stops());
  other.Set(PMIX_DEBUG_STOP_IN_INIT, Value::Rank(PMIX_RANK_WILDCARD));
  EXPECT_EQ(Parse(other).request.debug.in_init, StopRanks(std::in_place));
  other.Set(PMIX_DEBUG_STOP_IN_INIT, Value::String("x"));
  EXPECT_EQ(Refusal(other), kErrBadParam);
}

// A stop cannot concern only one of several applications.
TEST(SpawnCallTest, AStopOfOneOfSeveralApplicationsIsRefused) {
  TestApp app;
  app.infos.Add(PMIX_DEBUG_STOP_IN_INIT, Value::Bool(true));
  EXPECT_TRUE(Parse({}, {app}).request.debug.in_init);
  EXPECT_EQ(Refusal({}, {app, TestApp()}), kErrNotSupported);
}

TEST(SpawnCallTest, ReadsDebuggerDaemonsOfARunningJob) {
  TestApp app;
  app.infos.Add(PMIX_DEBUGGER_DAEMONS, Value::Bool(true));
  EXPECT_EQ(Refusal({}, {app}), kErrBadParam) << "of which job?";
  app.infos.Add(PMIX_DEBUG_TARGET, Value::Proc({"job-1", 2}));
  app.infos.Add(PMIX_DEBUG_DAEMONS_PER_NODE, Value::Uint16(2));
  const SpawnCall call = Parse({}, {app});
  EXPECT_TRUE(call.request.places.tool);
  ASSERT_TRUE(call.request.daemons);
  EXPECT_EQ(call.request.daemons->target, (ProcId{"job-1", 2}));
  EXPECT_EQ(call.request.daemons->per_node, 2u);
  EXPECT_EQ(call.request.daemons->per_proc, 0u);
  // The same directives may be given for the whole job.
  InfoList job = app.infos;
  job.Add(PMIX_DEBUG_STOP_IN_INIT, Value::Bool(true));
  const SpawnCall whole = Parse(job);
  ASSERT_TRUE(whole.request.daemons);
  EXPECT_EQ(whole.request.daemons->target, call.request.daemons->target);
  EXPECT_FALSE(whole.request.debug.stops())
      << "a debugger does not wait for itself";
}

TEST(SpawnCallTest, ReadsDebuggerDaemonsBesideTheJob) {
  TestApp daemon{.cmd = "debugger", .argv = {}};
  daemon.infos.Add(PMIX_DEBUGGER_DAEMONS, Value::Bool(true));
  daemon.infos.Add(PMIX_DEBUG_DAEMONS_PER_PROC, Value::Uint16(1));
  InfoList job;
  job.Add(PMIX_DEBUG_STOP_ON_EXEC, Value::Bool(true));
  const SpawnCall call = Parse(job, {TestApp(), daemon});
  ASSERT_EQ(call.apps.size(), 1u);
  EXPECT_TRUE(call.request.debug.on_exec);
  EXPECT_FALSE(call.request.daemons);
  ASSERT_TRUE(call.cospawned);
  EXPECT_EQ(call.cospawned->apps[0].argv[0], "debugger");
  ASSERT_TRUE(call.cospawned->request.daemons);
  EXPECT_EQ(call.cospawned->request.daemons->per_proc, 1u);
  EXPECT_FALSE(call.cospawned->request.debug.stops());
  EXPECT_TRUE(call.cospawned->request.places.tool);
  TestApp beside;
  beside.infos.Add(PMIX_COSPAWN_APP, Value::Bool(true));
  EXPECT_EQ(Refusal({}, {TestApp(), daemon, beside}), kErrNotSupported);
}

TEST(SpawnCallTest, ANumberOfDaemonsWithoutDaemonsIsRefused) {
  for (const char* key :
       {PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_DEBUG_DAEMONS_PER_PROC}) {
    InfoList job;
    job.Add(key, Value::Uint16(1));
    EXPECT_EQ(Refusal(job), kErrBadParam) << key;
    TestApp app;
    app.infos = job;
    EXPECT_EQ(Refusal({}, {app}), kErrBadParam) << key;
  }
}

TEST(SpawnCallTest, ReadsProgramsAndTheirEnvironment) {
  TestApp app;
  app.env = {"A=1", "noequals", "=none", "A=2", "B="};
  app.cwd = "/there";
  const SpawnCall call = Parse({}, {app, TestApp{.cmd = "two", .argv = {}}});
  ASSERT_EQ(call.apps.size(), 2u);
  EXPECT_EQ(call.apps[0].argv, (std::vector<std::string>{"prog", "arg"}));
  EXPECT_EQ(call.apps[0].env, (Environment{"A=2", "B="}));
  EXPECT_EQ(call.apps[0].cwd, "/there");
  EXPECT_EQ(call.apps[0].num_procs, 2u);
  EXPECT_EQ(call.apps[1].argv, (std::vector<std::string>{"two"}));
}

// Programs with older libraries send their argv unchanged, without the command.
TEST(SpawnCallTest, TheCommandIsAddedToAnArgvThatLacksIt) {
  const SpawnCall call =
      Parse({}, {TestApp{.cmd = "/opt/prog", .argv = {"-v", "3"}},
                 TestApp{.cmd = "/opt/prog", .argv = {"prog", "3"}}});
  EXPECT_EQ(call.apps[0].argv,
            (std::vector<std::string>{"/opt/prog", "-v", "3"}));
  EXPECT_EQ(call.apps[1].argv, (std::vector<std::string>{"/opt/prog", "3"}));
}

TEST(SpawnCallTest, AnExecAgentExecutesThePrograms) {
  InfoList job;
  job.Add(PMIX_EXEC_AGENT, Value::String("/an/agent"));
  TestApp app;
  app.infos.Add(PMIX_EXEC_AGENT, Value::String("its-own"));
  const SpawnCall call = Parse(job, {TestApp(), app});
  EXPECT_EQ(call.apps[0].argv,
            (std::vector<std::string>{"/an/agent", "prog", "arg"}));
  EXPECT_EQ(call.apps[1].argv,
            (std::vector<std::string>{"its-own", "prog", "arg"}));
  job.Add(PMIX_FORKEXEC_AGENT, Value::String("forks"), PMIX_INFO_REQD);
  EXPECT_EQ(Parse(job).apps[0].argv,
            (std::vector<std::string>{"forks", "/an/agent", "prog", "arg"}));
  for (const char* key : {PMIX_LAUNCHER_DAEMON, PMIX_LAUNCH_DIRECTIVES}) {
    InfoList other;
    other.Add(key, Value::String("/an/agent"));
    EXPECT_EQ(Refusal(other, {TestApp()}), kErrNotSupported) << key;
  }
}

InfoList One(const char* key, Value value, uint32_t flags = 0) {
  InfoList list;
  list.Add(key, std::move(value), flags);
  return list;
}

void IsHonoured(const char* key, Value value) {
  EXPECT_TRUE(Parse(One(key, std::move(value), PMIX_INFO_REQD)).ignored.empty())
      << key;
}

// The caller passes the value twice, because each list takes over its value.
void IsNotHonoured(const char* key, Value optional, Value required) {
  EXPECT_EQ(Parse(One(key, std::move(optional))).ignored,
            (std::vector<std::string>{key}));
  EXPECT_EQ(Refusal(One(key, std::move(required), PMIX_INFO_REQD)),
            kErrNotSupported)
      << key;
}

TEST(SpawnCallTest, ValuesWithoutEffectAreReportedOrRefused) {
  IsHonoured(PMIX_PERSONALITY, Value::String("ompi5,pmix"));
  IsNotHonoured(PMIX_PERSONALITY, Value::String("charm"),
                Value::String("ompi,charm"));
  IsHonoured(PMIX_FWD_ENVIRONMENT, Value::Bool(true));
  IsNotHonoured(PMIX_FWD_ENVIRONMENT, Value::Bool(false), Value::Bool(false));
  for (const char* key : {PMIX_PERSONALITY, PMIX_FWD_ENVIRONMENT}) {
    EXPECT_EQ(Refusal(One(key, Value::Int(7))), kErrBadParam) << key;
  }
}

// An agent knows its spawner, so no process can spawn on behalf of another one.
TEST(SpawnCallTest, AttributesThatNameAnotherSpawnerAreNotHonoured) {
  IsNotHonoured(PMIX_PARENT_ID, Value::Proc({"other", 1}),
                Value::Proc({"other", 1}));
  for (const char* key : {PMIX_SPAWNED, PMIX_REQUESTOR_IS_CLIENT}) {
    IsNotHonoured(key, Value::Bool(true), Value::Bool(true));
  }
}

TEST(SpawnCallTest, AttributesThatTheLibraryHasHonouredAreAccepted) {
  const SpawnCall call = Parse(One(PMIX_IOF_BUFFERING_SIZE, Value::Uint32(1),
                                   PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED));
  EXPECT_TRUE(call.ignored.empty());
}

TEST(SpawnCallTest, AttributesThatShowOutputRequireALauncherOrAPuller) {
  InfoList job;
  job.Add(PMIX_DISPLAY_MAP, Value::Bool(true));
  job.Add(PMIX_REPORT_BINDINGS, Value::Bool(false), PMIX_INFO_REQD);
  job.Add(PMIX_IOF_TAG_OUTPUT, Value::Bool(true), PMIX_INFO_REQD);
  SpawnCall call = Parse(job);
  Conditional without = WithoutLauncher(call);
  EXPECT_EQ(without.keys,
            (std::vector<std::string>{PMIX_DISPLAY_MAP, PMIX_IOF_TAG_OUTPUT}));
  EXPECT_EQ(without.refusal,
            "attribute " PMIX_IOF_TAG_OUTPUT
            " is required, and the job has no launcher and no forwarded "
            "output that honours it");
  job.Add(PMIX_FWD_STDERR, Value::Bool(true));
  call = Parse(job);
  without = WithoutLauncher(call);
  EXPECT_EQ(without.keys, std::vector<std::string>{PMIX_DISPLAY_MAP});
  EXPECT_EQ(without.refusal, "");
  job.Add(PMIX_TAG_OUTPUT, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(WithoutLauncher(Parse(job)).refusal,
            "attribute " PMIX_TAG_OUTPUT
            " is required, and the job has no launcher that honours it");
}

TEST(SpawnCallTest, InformativeAttributesAreAccepted) {
  for (const char* key :
       {PMIX_ENVARS_HARVESTED, PMIX_NON_PMI, PMIX_WDIR_USER_SPECIFIED}) {
    for (const bool flag : {false, true}) {
      InfoList job;
      job.Add(key, Value::Bool(flag), PMIX_INFO_REQD);
      EXPECT_TRUE(Parse(job).ignored.empty()) << key;
    }
    InfoList wrong;
    wrong.Add(key, Value::String("x"));
    EXPECT_EQ(Refusal(wrong), kErrBadParam) << key;
  }
}

TEST(SpawnCallTest, MissingAndInvalidValuesAreRefused) {
  EXPECT_EQ(Refusal({}, {}), kErrBadParam);
  EXPECT_EQ(Refusal({}, {TestApp{.cmd = "", .argv = {}}}),
            kErrJobNoExeSpecified);
  EXPECT_EQ(Refusal({}, {TestApp{.maxprocs = -1}}), kErrBadParam);
  EXPECT_EQ(Refusal({}, {TestApp{.maxprocs = 1 << 30}}), kErrBadParam);
  EXPECT_EQ(Refusal({}, std::vector<TestApp>(kMaxApps + 1)), kErrOutOfResource);
}

TEST(SpawnCallTest, EveryTruncatedCallIsMalformed) {
  InfoList job;
  job.Add(PMIX_HOST, Value::String("a"));
  const std::string bytes = Call(job, {TestApp()});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    EXPECT_FALSE(ParseSpawnCall(cut).ok()) << size;
  }
  const std::string longer = bytes + "x";
  EXPECT_EQ(ParseSpawnCall(longer).code(), kErrUnpackFailure);
}

TEST(SpawnCallTest, ReadsAttributesOfTheJob) {
  InfoList job;
  job.Add(PMIX_WDIR, Value::String("/w"));
  job.Add(PMIX_HOST, Value::String("a,b:2"));
  job.Add(PMIX_HOSTFILE, Value::String("file"));
  job.Add(PMIX_MAPBY, Value::String("node"));
  job.Add(PMIX_CPUS_PER_PROC, Value::Uint32(3));
  job.Add(PMIX_NO_OVERSUBSCRIBE, Value::Bool(true));
  job.Add(PMIX_TAG_OUTPUT, Value::Bool(true));
  job.Add(PMIX_JOB_TIMEOUT, Value::Int(7));
  job.Add(PMIX_SPAWN_TIMEOUT, Value::Int(8));
  job.Add(PMIX_SPAWN_CHILD_SEP, Value::Bool(true));
  job.Add(PMIX_SPAWN_TOOL, Value::Bool(true));
  job.Add(PMIX_NOHUP, Value::Bool(true), PMIX_INFO_REQD);
  const SpawnCall call = Parse(job);
  EXPECT_EQ(call.placing.cwd, "/w");
  ASSERT_EQ(call.placing.hosts.size(), 2u);
  EXPECT_EQ(call.placing.hosts[1].slots, 2u);
  EXPECT_FALSE(call.placing.adds_hosts);
  EXPECT_EQ(call.placing.hostfile, "file");
  EXPECT_EQ(call.request.places.map_by, "node:pe=3:nooversubscribe");
  EXPECT_EQ(call.placing.output.tag, true);
  EXPECT_EQ(call.request.timeout_seconds, 7u);
  EXPECT_EQ(call.spawn_timeout_seconds, 8u);
  EXPECT_TRUE(call.separate);
  EXPECT_TRUE(call.request.places.tool);
  EXPECT_TRUE(call.nohup);
  EXPECT_TRUE(call.ignored.empty());
  job.Add(PMIX_PPR, Value::String("2:node"));
  EXPECT_EQ(Parse(job).request.places.map_by,
            "ppr:2:node:pe=3:nooversubscribe");
}

TEST(SpawnCallTest, ReadsAttributesForFailuresAndPlacement) {
  InfoList job;
  job.Add(PMIX_JOB_RECOVERABLE, Value::Bool(true));
  job.Add(PMIX_JOB_CONTINUOUS, Value::Bool(true));
  job.Add(PMIX_INDEX_ARGV, Value::Bool(true));
  job.Add(PMIX_CPU_LIST, Value::String("0,2"));
  job.Add(PMIX_OUTPUT_TO_FILE, Value::String("/out"));
  SpawnCall call = Parse(job);
  EXPECT_TRUE(call.request.recoverable);
  EXPECT_EQ(call.request.max_restarts, kUnlimitedRestarts);
  EXPECT_TRUE(call.request.process.index_argv);
  EXPECT_EQ(call.request.places.cpu_list, "0,2");
  EXPECT_EQ(call.placing.output.shared_file, "/out");
  job.Add(PMIX_MAX_RESTARTS, Value::Uint32(4));
  EXPECT_EQ(Parse(job).request.max_restarts, 4u);
}

TEST(SpawnCallTest, ReadsTheNiceValue) {
  InfoList job;
  job.Add("canopy.nice", Value::Int(-20));
  EXPECT_EQ(Parse(job).request.process.nice, NiceValue{-20});
  job.Set("canopy.nice", Value::Int(20));
  EXPECT_EQ(Refusal(job), kErrBadParam);
}

TEST(SpawnCallTest, ReadsTheRequestedReports) {
  EXPECT_EQ(Parse({}).request.reports, 0u);
  InfoList job;
  job.Add(PMIX_NOTIFY_PROC_TERMINATION, Value::Bool(true));
  job.Add(PMIX_LOG_JOB_EVENTS, Value::Bool(true));
  job.Add(PMIX_NOTIFY_COMPLETION, Value::Bool(true));
  EXPECT_EQ(Parse(job).request.reports,
            kNotifyProcs | kLogJobEvents | kNotifyCompletion);
  job.Add(PMIX_NOTIFY_COMPLETION, Value::Bool(false));
  EXPECT_EQ(Parse(job).request.reports, kNotifyProcs | kLogJobEvents);
}

TEST(SpawnCallTest, AttributesOfAnApplicationDoNotAffectOthers) {
  TestApp app;
  app.infos.Add(PMIX_WDIR, Value::String("/own"));
  app.infos.Add(PMIX_ADD_HOST, Value::String("c"));
  const SpawnCall call = Parse({}, {app, TestApp()});
  EXPECT_EQ(call.apps[0].placing.cwd, "/own");
  EXPECT_TRUE(call.apps[0].placing.adds_hosts);
  EXPECT_EQ(call.apps[1].placing.cwd, "");
  EXPECT_EQ(call.placing.cwd, "");
}

TEST(SpawnCallTest, APolicyOfTheOnlyApplicationAppliesToTheJob) {
  TestApp app;
  app.infos.Add(PMIX_MAPBY, Value::String("node"));
  EXPECT_EQ(Parse({}, {app}).request.places.map_by, "node");
  const SpawnCall two = Parse({}, {app, TestApp()});
  EXPECT_EQ(two.request.places.map_by, "");
  EXPECT_EQ(two.ignored, (std::vector<std::string>{PMIX_MAPBY}));
}

TEST(SpawnCallTest, EachApplicationHasItsOwnFormOfOutput) {
  InfoList job;
  job.Add(PMIX_TAG_OUTPUT, Value::Bool(true));
  job.Add(PMIX_IOF_OUTPUT_TO_FILE, Value::String("all"));
  TestApp app;
  app.infos.Add(PMIX_TAG_OUTPUT, Value::Bool(false), PMIX_INFO_REQD);
  app.infos.Add(PMIX_TIMESTAMP_OUTPUT, Value::Bool(true), PMIX_INFO_REQD);
  app.infos.Add(PMIX_MERGE_STDERR_STDOUT, Value::Bool(true), PMIX_INFO_REQD);
  app.infos.Add(PMIX_OUTPUT_TO_FILE, Value::String("own"), PMIX_INFO_REQD);
  app.infos.Add(PMIX_OUTPUT_TO_DIRECTORY, Value::String("d"), PMIX_INFO_REQD);
  const SpawnCall call = Parse(job, {app, TestApp()});
  EXPECT_TRUE(call.ignored.empty());
  EXPECT_EQ(call.apps[1].placing.output, OutputWishes());
  const OutputWishes own =
      WithDefaults(call.apps[0].placing.output, call.placing.output);
  EXPECT_EQ(own.tag, false);
  EXPECT_EQ(own.timestamp, true);
  EXPECT_EQ(own.merge_stderr, true);
  EXPECT_EQ(own.file, "all");
  EXPECT_EQ(own.shared_file, "own");
  EXPECT_EQ(own.directory, "d");
}

TEST(SpawnCallTest, ChangesOfVariablesKeepTheirOrder) {
  char name[] = "V";
  char value[] = "x";
  InfoList job;
  const auto add = [&](const char* key, char separator) {
    pmix_info_t info = {};
    std::snprintf(info.key, sizeof info.key, "%s", key);
    info.value.type = PMIX_ENVAR;
    info.value.data.envar = {name, value, separator};
    job.Append(info);
  };
  add(PMIX_SET_ENVAR, '\0');
  job.Add(PMIX_UNSET_ENVAR, Value::String("W*"));
  add(PMIX_APPEND_ENVAR, ';');
  const SpawnCall call = Parse(job);
  ASSERT_EQ(call.placing.edits.size(), 3u);
  EXPECT_EQ(call.placing.edits[0].kind, EnvarEdit::Kind::kSet);
  EXPECT_EQ(call.placing.edits[0].separator, ':');
  EXPECT_EQ(call.placing.edits[1].kind, EnvarEdit::Kind::kUnset);
  EXPECT_EQ(call.placing.edits[1].name, "W*");
  EXPECT_EQ(call.placing.edits[2].kind, EnvarEdit::Kind::kAppend);
  EXPECT_EQ(call.placing.edits[2].separator, ';');
}

TEST(SpawnCallTest, UnknownAttributesAreNamedOnceAndRefusedIfRequired) {
  InfoList job;
  job.Add("some.key", Value::Bool(true));
  job.Add("some.key", Value::Bool(true));
  job.Add("other.key", Value::Bool(true));
  EXPECT_EQ(Parse(job).ignored,
            (std::vector<std::string>{"some.key", "other.key"}));
  InfoList required;
  required.Add("some.key", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Refusal(required), kErrNotSupported);
}

TEST(SpawnCallTest, ReadsWhichOutputMayBeForwarded) {
  EXPECT_EQ(Parse({}).request.forwarding, JobForwarding());
  EXPECT_EQ(Parse({}).request.stdin_target, StdinTarget::kNone);
  InfoList job;
  job.Add(PMIX_FWD_STDOUT, Value::Bool(true), PMIX_INFO_REQD);
  job.Add(PMIX_FWD_STDERR, Value::Bool(false), PMIX_INFO_REQD);
  job.Add(PMIX_FWD_STDDIAG, Value::Bool(true), PMIX_INFO_REQD);
  job.Add(PMIX_IOF_CACHE_SIZE, Value::Uint32(17), PMIX_INFO_REQD);
  job.Add(PMIX_IOF_DROP_NEWEST, Value::Bool(true), PMIX_INFO_REQD);
  job.Add(PMIX_FWD_STDIN, Value::Rank(3), PMIX_INFO_REQD);
  const SpawnCall call = Parse(job);
  EXPECT_EQ(call.request.forwarding, (JobForwarding{10, 17, true, true}));
  EXPECT_EQ(call.request.stdin_target, StdinTarget::kRank);
  EXPECT_EQ(call.request.stdin_rank, 3u);
  InfoList all;
  all.Add(PMIX_STDIN_TGT, Value::Uint32(PMIX_RANK_WILDCARD));
  EXPECT_EQ(Parse(all).request.stdin_target, StdinTarget::kAll);
  EXPECT_TRUE(Parse(all).request.forwarding.input);
  InfoList text;
  text.Add(PMIX_FWD_STDIN, Value::String("all"));
  EXPECT_EQ(Refusal(text), kErrBadParam);
}

TEST(SpawnCallTest, ReadsPreloadsOfTheJobOrOfAnApplication) {
  InfoList infos;
  infos.Add(PMIX_PRELOAD_BIN, Value::Bool(true), PMIX_INFO_REQD);
  infos.Add(PMIX_PRELOAD_FILES, Value::String("a,b"), PMIX_INFO_REQD);
  const SpawnCall call = Parse(infos);
  EXPECT_TRUE(call.placing.preload_program);
  EXPECT_EQ(call.placing.preload_files, "a,b");
  EXPECT_FALSE(call.apps[0].placing.preload_program);
  EXPECT_TRUE(call.ignored.empty());
}

TEST(SpawnCallTest, RequiredAttributesWithoutARequestAreAccepted) {
  InfoList job;
  job.Add(PMIX_NOHUP, Value::Bool(false), PMIX_INFO_REQD);
  job.Add(PMIX_PRELOAD_BIN, Value::Bool(false), PMIX_INFO_REQD);
  job.Add(PMIX_FWD_STDIN, Value::Rank(PMIX_RANK_INVALID), PMIX_INFO_REQD);
  job.Add(PMIX_STDIN_TGT, Value::Uint32(PMIX_RANK_INVALID), PMIX_INFO_REQD);
  EXPECT_TRUE(Parse(job).ignored.empty());
  EXPECT_FALSE(Parse(job).request.forwarding.input);
  EXPECT_FALSE(Parse(job).nohup);
  InfoList unknown;
  unknown.Add("some.key", Value::Bool(false), PMIX_INFO_REQD);
  EXPECT_EQ(Refusal(unknown), kErrNotSupported);
}

TestApp Designated(const std::string& cmd, bool cospawn = true) {
  TestApp app{.cmd = cmd};
  app.infos.Add(PMIX_COSPAWN_APP, Value::Bool(cospawn), PMIX_INFO_REQD);
  return app;
}

TEST(SpawnCallTest, DesignatedApplicationsBecomeASecondJob) {
  InfoList job;
  job.Add(PMIX_WDIR, Value::String("/w"));
  TestApp alone{.cmd = "b"};
  alone.infos.Add(PMIX_MAPBY, Value::String("core"));
  const SpawnCall call = Parse(job, {Designated("a"), alone, Designated("c")});
  ASSERT_EQ(call.apps.size(), 1u);
  EXPECT_EQ(call.apps[0].argv[0], "b");
  EXPECT_EQ(call.request.places.map_by, "core")
      << "it is the only one of its job";
  EXPECT_FALSE(call.separate);
  ASSERT_NE(call.cospawned, nullptr);
  ASSERT_EQ(call.cospawned->apps.size(), 2u);
  EXPECT_EQ(call.cospawned->apps[1].argv[0], "c");
  EXPECT_EQ(call.cospawned->placing.cwd, "/w");
  EXPECT_EQ(call.cospawned->request.places.map_by, "");
  EXPECT_TRUE(call.cospawned->separate);
  EXPECT_EQ(call.cospawned->cospawned, nullptr);
}

TEST(SpawnCallTest, ASpawnOfOnlyDesignatedApplicationsIsRefused) {
  EXPECT_EQ(Refusal({}, {Designated("a"), Designated("b")}), kErrBadParam);
  EXPECT_EQ(Parse({}, {Designated("a", false)}).cospawned, nullptr);
  InfoList all;
  all.Add(PMIX_COSPAWN_APP, Value::Bool(true));
  EXPECT_EQ(Refusal(all), kErrBadParam);
  const SpawnCall call = Parse(all, {Designated("a", false), TestApp()});
  EXPECT_EQ(call.apps[0].argv[0], "a");
  EXPECT_NE(call.cospawned, nullptr);
  TestApp other;
  other.infos.Add(PMIX_COSPAWN_APP, Value::String("maybe"));
  EXPECT_EQ(Refusal({}, {TestApp(), other}), kErrBadParam);
}

TEST(SpawnCallTest, AValueOfAnotherTypeIsRefused) {
  for (const char* key : {PMIX_WDIR, PMIX_HOST, PMIX_MAPBY, PMIX_SET_ENVAR,
                          PMIX_UNSET_ENVAR, PMIX_HOSTFILE}) {
    InfoList job;
    job.Add(key, Value::Bool(true));
    EXPECT_EQ(Refusal(job), kErrBadParam) << key;
  }
  InfoList negative;
  negative.Add(PMIX_JOB_TIMEOUT, Value::Int(-1));
  EXPECT_EQ(Refusal(negative), kErrBadParam);
  InfoList hosts;
  hosts.Add(PMIX_HOST, Value::String("a:x"));
  EXPECT_EQ(Refusal(hosts), kErrBadParam);
}

}  // namespace
}  // namespace canopy::spawn
