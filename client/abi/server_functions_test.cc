// A host and its server in one process, and a rank that it starts: the rank
// gets the data that the host has registered and prepared.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <string>

#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"
#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

namespace canopy::client {
namespace {

constexpr char kReadyFd[] = "CANOPY_TEST_READY_FD";
constexpr char kJob[] = "job";

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// ------------------------------------------------------------- the rank ---

struct SetEvents {
  std::promise<std::string> defined;
  std::promise<std::string> deleted;
};
SetEvents g_events;

void OnSet(size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t info[],
           size_t ninfo, pmix_info_t[], size_t,
           pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  const InfoList infos = InfoList::FromC(info, ninfo);
  std::string text = infos.FindString(PMIX_PSET_NAME).value_or("no name");
  if (const pmix_info_t* members = infos.Find(PMIX_PSET_MEMBERS)) {
    text += " of " + std::to_string(ProcsOf(members->value)->size());
  }
  auto& told =
      status == PMIX_PROCESS_SET_DEFINE ? g_events.defined : g_events.deleted;
  told.set_value(text);
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

std::string Get(const char* key, const InfoList& qualifiers = {}) {
  const pmix_proc_t job = ToC({kJob, PMIX_RANK_WILDCARD});
  pmix_value_t* raw = nullptr;
  const int rc =
      PMIx_Get(&job, key, qualifiers.data(), qualifiers.size(), &raw);
  if (rc != PMIX_SUCCESS) return PMIx_Error_string(rc);
  const Value value = Value::Adopt(raw);
  free(raw);
  return std::string(value.AsString().value_or("no text"));
}

std::string Await(std::promise<std::string>* told) {
  auto future = told->get_future();
  const auto limit = std::chrono::seconds(60);
  return future.wait_for(limit) == std::future_status::ready ? future.get()
                                                             : "no event";
}

// This test is skipped, except in the child process that the host's test
// starts.
TEST(Rank, ARankGetsItsHostsData) {
  const char* ready = getenv(kReadyFd);
  if (ready == nullptr) GTEST_SKIP() << "not started by a host";
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_STREQ(getenv("PREPARED"), "yes");
  EXPECT_EQ(getenv("UNWANTED"), nullptr);
  EXPECT_EQ(Get("site.key"), "of all jobs");
  EXPECT_EQ(Get("job.key"), "of this job");
  EXPECT_EQ(Get("node.key", {{PMIX_NODE_INFO, Value::Bool(true)},
                             {PMIX_HOSTNAME, Value::String(HostName())}}),
            "of this node");
  EXPECT_EQ(Get("node.key", {{PMIX_NODE_INFO, Value::Bool(true)},
                             {PMIX_HOSTNAME, Value::String("elsewhere")}}),
            "of another node");
  pmix_status_t codes[] = {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE};
  EXPECT_GE(PMIx_Register_event_handler(codes, 2, nullptr, 0, OnSet, nullptr,
                                        nullptr),
            0);
  ASSERT_EQ(write(atoi(ready), "r", 1), 1);
  EXPECT_EQ(Await(&g_events.defined), "set of 1");
  EXPECT_EQ(Await(&g_events.deleted), "set");
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

// ------------------------------------------------------------- the host ---

Value Envar(std::string name, std::string text) {
  pmix_envar_t envar = {name.data(), text.data(), ':'};
  Value value;
  EXPECT_EQ(LoadValue(value.mutable_raw(), &envar, PMIX_ENVAR), PMIX_SUCCESS);
  return value;
}

class HostTest : public testing::Test {
 protected:
  HostTest() { EXPECT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS); }
  ~HostTest() override { EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS); }

  static void Register(const char* nspace, InfoList infos) {
    EXPECT_EQ(PMIx_server_register_nspace(nspace, 1, infos.mutable_data(),
                                          infos.size(), nullptr, nullptr),
              PMIX_OPERATION_SUCCEEDED);
  }
  static int Define(const char* name, const ProcId& member) {
    const pmix_proc_t proc = ToC(member);
    return PMIx_server_define_process_set(&proc, 1, name);
  }
  static int Delete(std::string name) {
    return PMIx_server_delete_process_set(name.data());
  }
};

void Remember(pmix_status_t status, void* cbdata) {
  static_cast<std::promise<int>*>(cbdata)->set_value(status);
}

pmix_status_t StartChild(const pmix_proc_t*, const pmix_info_t[], size_t,
                         const pmix_app_t apps[], size_t,
                         pmix_spawn_cbfunc_t done, void* cbdata) {
  pmix_nspace_t nspace;
  PMIX_LOAD_NSPACE(nspace, apps[0].cmd);
  done(PMIX_SUCCESS, nspace, cbdata);
  return PMIX_SUCCESS;
}

void TakeName(pmix_status_t status, pmix_nspace_t nspace, void* cbdata) {
  static_cast<std::promise<std::string>*>(cbdata)->set_value(
      status == PMIX_SUCCESS ? nspace : PMIx_Error_string(status));
}

TEST(Host, SpawnCallsTheHostsFunction) {
  pmix_server_module_t module = {};
  module.spawn = StartChild;
  ASSERT_EQ(PMIx_server_init(&module, nullptr, 0), PMIX_SUCCESS);
  char command[] = "child";
  pmix_app_t app = {};
  app.cmd = command;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, &app, 1, nspace), PMIX_SUCCESS);
  EXPECT_STREQ(nspace, "child");
  std::promise<std::string> told;
  ASSERT_EQ(PMIx_Spawn_nb(nullptr, 0, &app, 1, TakeName, &told), PMIX_SUCCESS);
  EXPECT_EQ(Await(&told), "child");
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, nullptr, 0, nspace), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
}

TEST_F(HostTest, SpawnFailsWithoutAFunctionOfTheHost) {
  char command[] = "child";
  pmix_app_t app = {};
  app.cmd = command;
  app.maxprocs = 1;
  pmix_nspace_t nspace;
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, &app, 1, nspace), PMIX_ERR_NOT_SUPPORTED);
}

std::promise<void>* g_reached = nullptr;  // set by functions that never answer

pmix_status_t NeverStart(const pmix_proc_t*, const pmix_info_t[], size_t,
                         const pmix_app_t[], size_t, pmix_spawn_cbfunc_t,
                         void*) {
  g_reached->set_value();
  return PMIX_SUCCESS;
}

pmix_status_t NeverControl(const pmix_proc_t*, const pmix_proc_t[], size_t,
                           const pmix_info_t[], size_t, pmix_info_cbfunc_t,
                           void*) {
  g_reached->set_value();
  return PMIX_SUCCESS;
}

// Starts a server whose host never answers, ends it during `call`, and returns
// the status of `call`.
int EndedBy(const std::function<int()>& call) {
  pmix_server_module_t module = {};
  module.spawn = NeverStart;
  module.job_control = NeverControl;
  EXPECT_EQ(PMIx_server_init(&module, nullptr, 0), PMIX_SUCCESS);
  std::promise<void> reached;
  g_reached = &reached;
  auto status = std::async(std::launch::async, call);
  reached.get_future().get();
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
  return status.get();
}

TEST(Host, TheEndOfTheServerEndsPendingCalls) {
  EXPECT_EQ(EndedBy([] {
              char command[] = "child";
              pmix_app_t app = {};
              app.cmd = command;
              app.maxprocs = 1;
              pmix_nspace_t nspace;
              return PMIx_Spawn(nullptr, 0, &app, 1, nspace);
            }),
            PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(EndedBy([] {
              const InfoList pause{{PMIX_JOB_CTRL_PAUSE, Value::Bool(true)}};
              const pmix_proc_t job = ToC({kJob, 0});
              pmix_info_t* results = nullptr;
              size_t count = 0;
              return PMIx_Job_control(&job, 1, pause.data(), 1, &results,
                                      &count);
            }),
            PMIX_ERR_LOST_CONNECTION);
}

// The requests that the functions of the host have received, in order.
std::string* g_asked = nullptr;

pmix_status_t ControlJob(const pmix_proc_t* requestor,
                         const pmix_proc_t targets[], size_t,
                         const pmix_info_t directives[], size_t,
                         pmix_info_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(FromC(*requestor), (ProcId{"servers", 3}));
  *g_asked += std::string(targets[0].nspace) + " " + directives[0].key + "\n";
  InfoList results{{"result", Value::String("done")}};
  done(PMIX_SUCCESS, results.mutable_data(), results.size(), cbdata, nullptr,
       nullptr);
  return PMIX_SUCCESS;
}

pmix_status_t PushInput(const pmix_proc_t*, const pmix_proc_t targets[], size_t,
                        const pmix_info_t[], size_t,
                        const pmix_byte_object_t* bytes, pmix_op_cbfunc_t,
                        void*) {
  *g_asked += std::string(targets[0].nspace) + " reads " +
              std::string(bytes->bytes, bytes->size) + "\n";
  return PMIX_OPERATION_SUCCEEDED;
}

class OwnHostTest : public testing::Test {
 protected:
  OwnHostTest() {
    g_asked = &asked_;
    module_.job_control = ControlJob;
    module_.push_stdin = PushInput;
    InfoList infos{{PMIX_SERVER_NSPACE, Value::String("servers")},
                   {PMIX_SERVER_RANK, Value::Rank(3)}};
    EXPECT_EQ(PMIx_server_init(&module_, infos.mutable_data(), infos.size()),
              PMIX_SUCCESS);
  }
  ~OwnHostTest() override { EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS); }

  const pmix_proc_t job_ = ToC({kJob, 0});
  const InfoList signal_{{PMIX_JOB_CTRL_SIGNAL, Value::Int(10)}};
  std::string asked_;
  pmix_server_module_t module_ = {};
};

TEST_F(OwnHostTest, JobControlCallsTheHostsFunction) {
  pmix_info_t* results = nullptr;
  size_t count = 0;
  ASSERT_EQ(PMIx_Job_control(&job_, 1, signal_.data(), 1, &results, &count),
            PMIX_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(results[0].value.data.string, "done");
  PMIX_INFO_FREE(results, count);
  std::promise<int> told;
  const auto tell = [](pmix_status_t status, pmix_info_t*, size_t, void* cbdata,
                       pmix_release_cbfunc_t,
                       void*) { Remember(status, cbdata); };
  ASSERT_EQ(PMIx_Job_control_nb(&job_, 1, signal_.data(), 1, tell, &told),
            PMIX_SUCCESS);
  EXPECT_EQ(told.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(asked_, "job pmix.jctrl.sig\njob pmix.jctrl.sig\n");
}

TEST_F(OwnHostTest, PushCallsTheHostsFunction) {
  char text[] = "typed";
  pmix_byte_object_t bytes = {text, 5};
  EXPECT_EQ(PMIx_IOF_push(&job_, 1, &bytes, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
  std::promise<int> told;
  ASSERT_EQ(PMIx_IOF_push(&job_, 1, &bytes, nullptr, 0, Remember, &told),
            PMIX_SUCCESS);
  EXPECT_EQ(told.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(asked_, "job reads typed\njob reads typed\n");
}

TEST_F(OwnHostTest, CallsWithoutAFunctionOfTheHostFail) {
  pmix_info_t* results = nullptr;
  size_t count = 0;
  EXPECT_EQ(
      PMIx_Allocation_request(PMIX_ALLOC_NEW, nullptr, 0, &results, &count),
      PMIX_ERR_NOT_SUPPORTED);
}

// Hosts call their library to get their own identity.
TEST_F(HostTest, AHostFindsItsOwnIdentity) {
  pmix_value_t* raw = nullptr;
  ASSERT_EQ(PMIx_Get(nullptr, PMIX_PROCID, nullptr, 0, &raw), PMIX_SUCCESS);
  ASSERT_EQ(raw->type, PMIX_PROC);
  const ProcId self = FromC(*raw->data.proc);
  EXPECT_FALSE(self.nspace.empty());
  PMIX_VALUE_RELEASE(raw);
  ASSERT_EQ(PMIx_Get(nullptr, PMIX_RANK, nullptr, 0, &raw), PMIX_SUCCESS);
  EXPECT_EQ(raw->data.rank, self.rank);
  PMIX_VALUE_RELEASE(raw);
}

std::string OwnText(const char* key) {
  pmix_value_t* raw = nullptr;
  const int rc = PMIx_Get(nullptr, key, nullptr, 0, &raw);
  if (rc != PMIX_SUCCESS) return PMIx_Error_string(rc);
  const Value value = Value::Adopt(raw);
  free(raw);
  return std::string(value.AsString().value_or("no text"));
}

// A host that is connected to no other server is its own server.
TEST_F(HostTest, AHostFindsItsOwnAddress) {
  const std::string uri = OwnText(PMIX_MYSERVER_URI);
  EXPECT_NE(uri.find(";tcp4://127.0.0.1:"), std::string::npos) << uri;
  EXPECT_EQ(OwnText(PMIX_SERVER_URI), uri);
}

TEST_F(HostTest, ANonBlockingGetReturnsTheHostsAddress) {
  std::promise<std::string> answer;
  const auto take = [](pmix_status_t status, pmix_value_t* value, void* data) {
    static_cast<std::promise<std::string>*>(data)->set_value(
        status == PMIX_SUCCESS ? value->data.string
                               : PMIx_Error_string(status));
  };
  ASSERT_EQ(PMIx_Get_nb(nullptr, PMIX_MYSERVER_URI, nullptr, 0, take, &answer),
            PMIX_SUCCESS);
  EXPECT_EQ(Await(&answer), OwnText(PMIX_MYSERVER_URI));
}

void Tell() {
  InfoList resources{
      {"site.key", Value::String("of all jobs")},
      {PMIX_NODE_INFO_ARRAY,
       Value::InfoArray({{PMIX_HOSTNAME, Value::String(HostName())},
                         {"node.key", Value::String("of this node")}})},
      {PMIX_NODE_INFO_ARRAY,
       Value::InfoArray({{PMIX_HOSTNAME, Value::String("elsewhere")},
                         {"node.key", Value::String("of another node")}})}};
  EXPECT_EQ(PMIx_server_register_resources(resources.mutable_data(),
                                           resources.size(), nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
}

void Prepare() {
  InfoList infos{{PMIX_SET_ENVAR, Envar("PREPARED", "yes")},
                 {PMIX_UNSET_ENVAR, Value::String("UNWANTED")}};
  EXPECT_EQ(PMIx_server_setup_local_support(kJob, infos.mutable_data(),
                                            infos.size(), nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
}

// Starts this program as the rank's test, which writes to `ready`.
pid_t StartRank(int ready) {
  const pmix_proc_t proc = ToC({kJob, 0});
  EXPECT_EQ(PMIx_server_register_client(&proc, getuid(), getgid(), nullptr,
                                        nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  const std::string entry = std::string(kReadyFd) + "=" + std::to_string(ready);
  char** env = static_cast<char**>(calloc(3, sizeof(char*)));
  env[0] = strdup(entry.c_str());
  env[1] = strdup("UNWANTED=1");
  EXPECT_EQ(PMIx_server_setup_fork(&proc, &env), PMIX_SUCCESS);
  const pid_t pid = fork();
  if (pid == 0) {
    const char* argv[] = {"rank", "--gtest_filter=Rank.ARankGetsItsHostsData",
                          nullptr};
    execve("/proc/self/exe", const_cast<char**>(argv), env);
    _exit(127);
  }
  for (char** e = env; *e != nullptr; ++e) free(*e);
  free(env);
  return pid;
}

bool IsReady(int fd) {
  pollfd ready = {fd, POLLIN, 0};
  char byte = 0;
  return poll(&ready, 1, 60000) == 1 && read(fd, &byte, 1) == 1;
}

TEST_F(HostTest, ARankGetsRegisteredDataAndPreparedVariables) {
  Tell();
  Prepare();
  Register(kJob, {{"job.key", Value::String("of this job")}});
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = StartRank(ready[1]);
  close(ready[1]);
  EXPECT_TRUE(IsReady(ready[0]));
  EXPECT_EQ(Define("set", {kJob, PMIX_RANK_WILDCARD}), PMIX_SUCCESS);
  EXPECT_EQ(Delete("set"), PMIX_SUCCESS);
  close(ready[0]);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  PMIx_server_deregister_nspace(kJob, nullptr, nullptr);
}

TEST_F(HostTest, InvalidAndDuplicateProcessSetsAreRefused) {
  EXPECT_EQ(PMIx_server_define_process_set(nullptr, 0, "set"),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Define("", {"far", 0}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Define("set", {"far", PMIX_RANK_WILDCARD}), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Delete("set"), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Define("set", {"far", 0}), PMIX_SUCCESS);
  EXPECT_EQ(Define("set", {"far", 1}), PMIX_ERR_EXISTS);
}

TEST_F(HostTest, CollectJobInfoDescribesEachNamedJobOnce) {
  Register("one", {{"job.key", Value::String("1")}});
  Register("two", {{"job.key", Value::String("2")}});
  pmix_proc_t procs[] = {ToC({"one", 0}), ToC({"two", PMIX_RANK_WILDCARD}),
                         ToC({"one", 1})};
  pmix_data_buffer_t buffer = {};
  ASSERT_EQ(PMIx_server_collect_job_info(procs, 3, &buffer), PMIX_SUCCESS);
  for (const char* nspace : {"one", "two"}) {
    InfoList infos;
    infos.Add("", Value());
    int32_t count = 1;
    ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, infos.mutable_data(), &count,
                               PMIX_INFO),
              PMIX_SUCCESS);
    EXPECT_EQ(KeyOf(infos[0]), PMIX_JOB_INFO_ARRAY);
    const auto job = InfosOf(infos[0].value);
    ASSERT_TRUE(job && !job->empty());
    EXPECT_EQ(StringOf((*job)[0].value), nspace);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  procs[0] = ToC({"three", 0});
  EXPECT_EQ(PMIx_server_collect_job_info(procs, 3, &buffer),
            PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_server_collect_job_info(procs, 0, &buffer),
            PMIX_ERR_BAD_PARAM);
}

TEST_F(HostTest, DeliveredOutputIsReleasedByTheCallback) {
  const pmix_proc_t source = ToC({kJob, 0});
  char text[] = "text";
  const pmix_byte_object_t bytes = {text, sizeof(text)};
  std::promise<int> delivered;
  ASSERT_EQ(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDOUT_CHANNEL, &bytes,
                                    nullptr, 0, Remember, &delivered),
            PMIX_SUCCESS);
  EXPECT_EQ(delivered.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDERR_CHANNEL, &bytes,
                                    nullptr, 0, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  EXPECT_EQ(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDIN_CHANNEL, &bytes,
                                    nullptr, 0, nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  std::promise<int> refused;
  EXPECT_EQ(PMIx_server_IOF_deliver(&source, PMIX_FWD_STDIN_CHANNEL, &bytes,
                                    nullptr, 0, Remember, &refused),
            PMIX_SUCCESS);
  EXPECT_EQ(refused.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_server_IOF_deliver(nullptr, PMIX_FWD_STDOUT_CHANNEL, &bytes,
                                    nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
}

void Deliver(pmix_iof_channel_t channel, std::string text) {
  const pmix_proc_t source = ToC({kJob, 0});
  const pmix_byte_object_t bytes = {text.data(), text.size()};
  EXPECT_EQ(PMIx_server_IOF_deliver(&source, channel, &bytes, nullptr, 0,
                                    nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
}

TEST(Host, DeliveredOutputIsWrittenToTheHostsStreamsOnRequest) {
  for (const bool here : {true, false}) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    InfoList infos{{PMIX_IOF_LOCAL_OUTPUT, Value::Bool(here)}};
    ASSERT_EQ(PMIx_server_init(nullptr, infos.mutable_data(), infos.size()),
              PMIX_SUCCESS);
    Deliver(PMIX_FWD_STDOUT_CHANNEL, "no whole");
    Deliver(PMIX_FWD_STDERR_CHANNEL, "an error\n");
    Deliver(PMIX_FWD_STDOUT_CHANNEL, " line");
    ASSERT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              here ? "no whole line" : "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), here ? "an error\n" : "");
  }
}

TEST_F(HostTest, FlowControlStopsAndContinuesOutput) {
  const pmix_proc_t source = ToC({kJob, 0});
  for (const bool stopped : {true, false}) {
    EXPECT_EQ(
        PMIx_server_IOF_flow_control(&source, PMIX_FWD_STDOUT_CHANNEL, stopped,
                                     nullptr, 0, nullptr, nullptr),
        PMIX_OPERATION_SUCCEEDED);
  }
  EXPECT_EQ(PMIx_server_IOF_flow_control(&source, PMIX_FWD_STDIN_CHANNEL, true,
                                         nullptr, 0, nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  std::promise<int> refused;
  EXPECT_EQ(PMIx_server_IOF_flow_control(&source, PMIX_FWD_STDIN_CHANNEL, true,
                                         nullptr, 0, Remember, &refused),
            PMIX_SUCCESS);
  EXPECT_EQ(refused.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_server_IOF_flow_control(nullptr, PMIX_FWD_STDOUT_CHANNEL, true,
                                         nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
}

TEST(ServerFunctions, ServerFunctionsFailWithoutAServer) {
  const pmix_proc_t proc = ToC({kJob, 0});
  pmix_proc_t procs[] = {proc};
  pmix_data_buffer_t buffer = {};
  char name[] = "set";
  const pmix_byte_object_t bytes = {name, sizeof(name)};
  EXPECT_EQ(PMIx_server_define_process_set(&proc, 1, name), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_server_delete_process_set(name), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_server_collect_job_info(procs, 1, &buffer), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_server_IOF_deliver(&proc, PMIX_FWD_STDOUT_CHANNEL, &bytes,
                                    nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INIT);
}

}  // namespace
}  // namespace canopy::client
