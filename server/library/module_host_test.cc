// Checks that a module of C functions fulfils the contract of every host.
#include "server/library/module_host.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/ports/host_contract_testing.h"

namespace canopy::library {
namespace {

constexpr int kRounds = 1000;
constexpr int kRoundMs = 10;

// The calls that the functions have received, and the answer to each. The
// variable is global because a module has no data of its own.
struct Played {
  std::vector<HeardCall> heard;
  std::vector<std::function<void(int, InfoList*)>> answers;
};
Played* g_played = nullptr;

void Hear(const pmix_proc_t* proc, const pmix_info_t* infos, size_t ninfo,
          std::function<void(int, InfoList*)> answer) {
  const InfoList given = InfoList::FromC(infos, ninfo);
  const auto number = [&](const char* key) {
    return static_cast<uint32_t>(Uint64Of(given.Find(key)->value).value_or(0));
  };
  g_played->heard.push_back(
      {FromC(*proc), number(PMIX_USERID), number(PMIX_GRPID), ""});
  g_played->answers.push_back(std::move(answer));
}

std::function<void(int, InfoList*)> WithInfos(pmix_info_cbfunc_t done,
                                              void* cbdata) {
  return [=](int status, InfoList* infos) {
    done(status, infos->mutable_data(), infos->size(), cbdata, nullptr,
         nullptr);
  };
}

std::function<void(int, InfoList*)> Without(pmix_op_cbfunc_t done,
                                            void* cbdata) {
  return [=](int status, InfoList*) { done(status, cbdata); };
}

pmix_status_t ControlJob(const pmix_proc_t* proc, const pmix_proc_t[], size_t,
                         const pmix_info_t infos[], size_t ninfo,
                         pmix_info_cbfunc_t done, void* cbdata) {
  Hear(proc, infos, ninfo, WithInfos(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t Allocate(const pmix_proc_t* proc,
                       pmix_alloc_directive_t directive,
                       const pmix_info_t infos[], size_t ninfo,
                       pmix_info_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(directive, 1);
  Hear(proc, infos, ninfo, WithInfos(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t Monitor(const pmix_proc_t* proc, const pmix_info_t* monitor,
                      pmix_status_t, const pmix_info_t infos[], size_t ninfo,
                      pmix_info_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(KeyOf(*monitor), PMIX_MONITOR_HEARTBEAT);
  Hear(proc, infos, ninfo, WithInfos(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t Log(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                  const pmix_info_t infos[], size_t ninfo,
                  pmix_op_cbfunc_t done, void* cbdata) {
  Hear(proc, infos, ninfo, Without(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t ControlSession(const pmix_proc_t* proc, uint32_t session,
                             const pmix_info_t infos[], size_t ninfo,
                             pmix_info_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(session, 1u);
  Hear(proc, infos, ninfo, WithInfos(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t BlockResources(const pmix_proc_t* proc,
                             pmix_resource_block_directive_t, const char* block,
                             const pmix_resource_unit_t*, size_t nunits,
                             const pmix_info_t* infos, size_t ninfo,
                             pmix_op_cbfunc_t done, void* cbdata) {
  EXPECT_STREQ(block, "block");
  EXPECT_EQ(nunits, 0u);
  Hear(proc, infos, ninfo, Without(done, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t GetCredential(const pmix_proc_t* proc, const pmix_info_t infos[],
                            size_t ninfo, pmix_credential_cbfunc_t done,
                            void* cbdata) {
  Hear(proc, infos, ninfo, [=](int status, InfoList* answer) {
    char bytes[] = "credential";
    pmix_byte_object_t credential = {bytes, sizeof bytes};
    done(status, &credential, answer->mutable_data(), answer->size(), cbdata);
  });
  return PMIX_SUCCESS;
}

pmix_status_t Validate(const pmix_proc_t* proc,
                       const pmix_byte_object_t* credential,
                       const pmix_info_t infos[], size_t ninfo,
                       pmix_validation_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(std::string(credential->bytes, credential->size), "credential");
  Hear(proc, infos, ninfo, [=](int status, InfoList* answer) {
    done(status, answer->mutable_data(), answer->size(), cbdata);
  });
  return PMIX_SUCCESS;
}

pmix_status_t TellFabric(const pmix_proc_t* proc, pmix_fabric_operation_t op,
                         const pmix_info_t infos[], size_t ninfo,
                         pmix_info_cbfunc_t done, void* cbdata) {
  EXPECT_EQ(op, PMIX_FABRIC_UPDATE_INFO);
  Hear(proc, infos, ninfo, WithInfos(done, cbdata));
  return PMIX_SUCCESS;
}

canopy_server_module_t ModuleOf(const std::set<HostOp>& implemented) {
  const auto has = [&](HostOp op) { return implemented.contains(op); };
  canopy_server_module_t module = {};
  if (has(HostOp::kJobControl)) module.job_control = ControlJob;
  if (has(HostOp::kAllocate)) module.allocate = Allocate;
  if (has(HostOp::kMonitor)) module.monitor = Monitor;
  if (has(HostOp::kLog)) module.log2 = Log;
  if (has(HostOp::kControlSession)) module.session_control = ControlSession;
  if (has(HostOp::kBlockResources)) module.resource_block = BlockResources;
  if (has(HostOp::kGetCredential)) module.get_credential = GetCredential;
  if (has(HostOp::kValidateCredential)) module.validate_credential = Validate;
  if (has(HostOp::kFabric)) module.fabric = TellFabric;
  return module;
}

class PlayedModule : public PlayedHost {
 public:
  PlayedModule(InputSink* sink, const std::set<HostOp>& implemented)
      : module_(ModuleOf(implemented)) {
    g_played = &played_;
    Upcalls::OfProcess().Open(&loop_);
    host_ = std::make_unique<ModuleHost>(&module_, &Upcalls::OfProcess(), sink);
  }
  ~PlayedModule() override {
    Upcalls::OfProcess().Close();
    g_played = nullptr;
  }

  HostPort* port() override { return host_.get(); }
  std::vector<HeardCall> Heard() override { return played_.heard; }
  void Answer(size_t call, int status, const std::string& result) override {
    InfoList results{{"test.result", Value::String(result)}};
    played_.answers.at(call)(status, &results);
  }
  void RunUntil(const std::function<bool()>& done) override {
    for (int i = 0; i < kRounds && !done(); ++i) loop_.RunOnce(kRoundMs);
  }
  void Destroy() override { host_.reset(); }

 private:
  EventLoop loop_;
  const canopy_server_module_t module_;
  Played played_;
  std::unique_ptr<ModuleHost> host_;
};

const HostKind<PlayedHost> kModule{
    "Module",
    [](InputSink* sink, std::set<HostOp> implemented) {
      return std::make_unique<PlayedModule>(sink, implemented);
    },
    {HostOp::kLog, HostOp::kBlockResources}};

// ------------------------------------------------------- of modules alone ---

TEST(ModuleHost, AMalformedCallIsRefused) {
  RecordingSink sink;
  PlayedModule host(&sink, {HostOp::kMonitor});
  core::AskHost ask = ContractAsk(1, HostOp::kMonitor);
  ask.call = Bytes(std::string("?"));
  host.port()->Ask(ask);
  ASSERT_EQ(sink.All<core::HostAnswered>().size(), 1u);
  EXPECT_EQ(sink.All<core::HostAnswered>()[0].status, kErrUnpackFailure);
  EXPECT_TRUE(host.Heard().empty());
}

// Makes a fabric call with an operation and directives.
core::AskHost AskOfAFabric(uint64_t number, uint8_t operation) {
  core::AskHost ask = ContractAsk(number, HostOp::kFabric);
  ask.call =
      Bytes(wire::Encode(host_call::Fabric{operation, ContractInfos(0)}));
  return ask;
}

TEST(ModuleHost, FabricDataComesFromTheHost) {
  RecordingSink sink;
  PlayedModule host(&sink, {HostOp::kFabric});
  host.port()->Ask(AskOfAFabric(1, PMIX_FABRIC_UPDATE_INFO));
  ASSERT_EQ(host.Heard().size(), 1u);
  EXPECT_EQ(host.Heard()[0].uid, 10u);
  host.Answer(0, kSuccess, "fast");
  host.RunUntil([&] { return !sink.All<core::HostAnswered>().empty(); });
  EXPECT_EQ(ResultOf(sink.All<core::HostAnswered>()[0]), "fast");
  host.port()->Ask(AskOfAFabric(2, PMIX_FABRIC_UPDATE_INFO + 1));
  EXPECT_EQ(sink.All<core::HostAnswered>()[1].status, kErrUnpackFailure);
}

TEST(ModuleHost, WithoutAFabricFunctionTheCallIsNotSupported) {
  RecordingSink sink;
  PlayedModule host(&sink, {});
  host.port()->Ask(AskOfAFabric(1, PMIX_FABRIC_REQUEST_INFO));
  ASSERT_EQ(sink.All<core::HostAnswered>().size(), 1u);
  EXPECT_EQ(sink.All<core::HostAnswered>()[0].status, kErrNotSupported);
}

TEST(ModuleHost, ACredentialIsAmongTheResults) {
  RecordingSink sink;
  PlayedModule host(&sink, {HostOp::kGetCredential});
  host.port()->Ask(ContractAsk(1, HostOp::kGetCredential));
  host.Answer(0, kSuccess, "yes");
  host.RunUntil([&] { return !sink.All<core::HostAnswered>().empty(); });
  InfoList results;
  ASSERT_TRUE(
      DecodeInfos(sink.All<core::HostAnswered>()[0].results.view(), &results));
  EXPECT_TRUE(results.Has(PMIX_CREDENTIAL));
}

}  // namespace
}  // namespace canopy::library

namespace canopy {

INSTANTIATE_TEST_SUITE_P(Module, HostContract,
                         testing::Combine(testing::Values(library::kModule),
                                          testing::ValuesIn(AllHostOps())),
                         HostContractName);

}  // namespace canopy
