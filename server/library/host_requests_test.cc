#include "server/library/host_requests.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

const HostCaller kCaller{{"job", 1}, 7, 8, false};

Bytes Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
  return Bytes(out);
}

class HostRequestsTest : public WithUpcalls<HostRequestsTest> {
 public:
  // Records the infos of a call and checks the caller's identity in them.
  void Hear(const pmix_proc_t* proc, const pmix_info_t infos[], size_t ninfo) {
    EXPECT_EQ(FromC(*proc), kCaller.proc);
    heard_ = InfoList::FromC(infos, ninfo);
    EXPECT_EQ(heard_.FindUint(PMIX_USERID), 7u);
    EXPECT_EQ(heard_.FindUint(PMIX_GRPID), 8u);
  }
  template <typename T>
  static T From() {
    T in;
    in.client = 1;
    in.request = 2;
    return in;
  }
  static core::SpawnArrived ASpawn() {
    auto in = From<core::SpawnArrived>();
    Encoder call;
    call.PutSize(0);
    call.PutSize(1);
    pmix_app_t app = {};
    char command[] = "program";
    app.cmd = command;
    app.maxprocs = 2;
    call.PutElement(PMIX_APP, &app);
    in.call = Bytes(call.Take());
    return in;
  }

  InfoList heard_;
  std::vector<int> statuses_;
  std::string payload_;
  HostRequests requests_{&module_, &upcalls(),
                         [this](core::ClientId client, core::RequestId request,
                                int status, std::string payload) {
                           EXPECT_EQ(client, 1u);
                           EXPECT_EQ(request, 2u);
                           statuses_.push_back(status);
                           payload_ = std::move(payload);
                         }};
};

using Statuses = std::vector<int>;

TEST_F(HostRequestsTest, RequestsWithoutAHostFunctionAreRefused) {
  requests_.Publish(kCaller, From<core::PublishArrived>());
  requests_.Lookup(kCaller, From<core::LookupArrived>());
  requests_.Unpublish(kCaller, From<core::UnpublishArrived>());
  requests_.Spawn(kCaller, ASpawn());
  requests_.PushInput(kCaller, From<core::HostCallArrived>());
  requests_.ControlJob(kCaller, From<core::HostCallArrived>());
  EXPECT_EQ(statuses_, Statuses(6, kErrNotSupported));
}

TEST_F(HostRequestsTest, APublishHasTheIdentityOfItsCaller) {
  module_.publish = [](const pmix_proc_t* proc, const pmix_info_t infos[],
                       size_t ninfo, pmix_op_cbfunc_t, void*) {
    current->Hear(proc, infos, ninfo);
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  auto in = From<core::PublishArrived>();
  in.info = Encoded(
      {{"key", Value::String("value")}, {PMIX_USERID, Value::Uint32(0)}});
  requests_.Publish(kCaller, in);
  Run();
  EXPECT_EQ(statuses_, Statuses{kSuccess});
  EXPECT_EQ(heard_.FindString("key"), "value");
}

TEST_F(HostRequestsTest, MalformedRequestsDoNotReachTheHost) {
  module_.publish = [](const pmix_proc_t*, const pmix_info_t[], size_t,
                       pmix_op_cbfunc_t, void*) {
    ADD_FAILURE();
    return static_cast<pmix_status_t>(PMIX_ERROR);
  };
  module_.spawn = [](const pmix_proc_t*, const pmix_info_t[], size_t,
                     const pmix_app_t[], size_t, pmix_spawn_cbfunc_t, void*) {
    ADD_FAILURE();
    return static_cast<pmix_status_t>(PMIX_ERROR);
  };
  auto publish = From<core::PublishArrived>();
  publish.info = Bytes(std::string("\x05"));
  requests_.Publish(kCaller, publish);
  core::SpawnArrived spawn = ASpawn();
  spawn.call = spawn.call.Slice(0, spawn.call.size() - 1);
  requests_.Spawn(kCaller, spawn);
  EXPECT_EQ(statuses_, Statuses(2, kErrUnpackFailure));
}

TEST_F(HostRequestsTest, ASpawnHasTheIdentityOfItsCaller) {
  module_.spawn = [](const pmix_proc_t* proc, const pmix_info_t infos[],
                     size_t ninfo, const pmix_app_t apps[], size_t napps,
                     pmix_spawn_cbfunc_t done, void* cbdata) {
    current->Hear(proc, infos, ninfo);
    EXPECT_EQ(napps, 1u);
    EXPECT_STREQ(apps[0].cmd, "program");
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, "child");
    done(PMIX_SUCCESS, nspace, cbdata);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  requests_.Spawn(kCaller, ASpawn());
  Run();
  EXPECT_EQ(statuses_, Statuses{kSuccess});
  EXPECT_EQ(payload_, "child");
  EXPECT_EQ(heard_.FindProc(PMIX_PARENT_ID), kCaller.proc);
  EXPECT_EQ(heard_.FindBool(PMIX_REQUESTOR_IS_CLIENT), true);
}

// A host that spawns through its own library gets only its own directives.
TEST_F(HostRequestsTest, ASpawnOfTheHostHasOnlyItsDirectives) {
  int status = kSuccess;
  std::string name;
  const auto remember = [&](int got, const std::string& nspace) {
    status = got;
    name = nspace;
  };
  const ProcId self{"servers", 0};
  requests_.SpawnForHost(self, ASpawn().call, remember);
  EXPECT_EQ(status, kErrNotSupported);
  module_.spawn = [](const pmix_proc_t* proc, const pmix_info_t infos[],
                     size_t ninfo, const pmix_app_t[], size_t,
                     pmix_spawn_cbfunc_t done, void* cbdata) {
    current->heard_ = InfoList::FromC(infos, ninfo);
    EXPECT_STREQ(proc->nspace, "servers");
    pmix_nspace_t nspace;
    PMIX_LOAD_NSPACE(nspace, "child");
    done(PMIX_SUCCESS, nspace, cbdata);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  requests_.SpawnForHost(self, ASpawn().call, remember);
  Run();
  EXPECT_EQ(status, kSuccess);
  EXPECT_EQ(name, "child");
  EXPECT_FALSE(heard_.Has(PMIX_PARENT_ID));
  requests_.SpawnForHost(self, Bytes(std::string("no call")), remember);
  EXPECT_EQ(status, kErrUnpackFailure);
}

TEST_F(HostRequestsTest, ASpawnWithoutANamespaceIsAnError) {
  module_.spawn = [](const pmix_proc_t*, const pmix_info_t[], size_t,
                     const pmix_app_t[], size_t, pmix_spawn_cbfunc_t done,
                     void* cbdata) {
    done(PMIX_SUCCESS, nullptr, cbdata);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  requests_.Spawn(kCaller, ASpawn());
  Run();
  EXPECT_EQ(statuses_, Statuses{kErrUnpackFailure});
}

TEST_F(HostRequestsTest, ALookupEndsAtItsTimeout) {
  module_.lookup = [](const pmix_proc_t*, char** keys, const pmix_info_t[],
                      size_t, pmix_lookup_cbfunc_t, void*) {
    EXPECT_STREQ(keys[0], "key");
    EXPECT_EQ(keys[1], nullptr);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  auto in = From<core::LookupArrived>();
  in.keys = {"key"};
  in.info = Encoded({{PMIX_TIMEOUT, Value::Int(1)}});
  requests_.Lookup(kCaller, in);
  for (int i = 0; i < 1000 && statuses_.empty(); ++i) loop_.RunOnce(10);
  EXPECT_EQ(statuses_, Statuses{kErrTimeout});
}

TEST_F(HostRequestsTest, InputIsPushedToTheHost) {
  module_.push_stdin =
      [](const pmix_proc_t* source, const pmix_proc_t targets[],
         size_t ntargets, const pmix_info_t infos[], size_t ninfo,
         const pmix_byte_object_t* bytes, pmix_op_cbfunc_t done, void* cbdata) {
        current->Hear(source, infos, ninfo);
        EXPECT_EQ(ntargets, 1u);
        EXPECT_EQ(targets[0].rank, 0u);
        EXPECT_EQ(std::string(bytes->bytes, bytes->size), "typed");
        done(PMIX_SUCCESS, cbdata);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
      };
  auto in = From<core::HostCallArrived>();
  in.op = HostOp::kPushInput;
  in.targets = {{"job", 0}};
  in.call = Bytes(wire::Encode(InputPush{Bytes(std::string("typed")), true}));
  requests_.PushInput(kCaller, in);
  Run();
  EXPECT_EQ(statuses_, Statuses{kSuccess});
  EXPECT_EQ(heard_.FindBool(PMIX_IOF_COMPLETE), true);
}

}  // namespace
}  // namespace canopy::library
