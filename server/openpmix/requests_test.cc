// Every command in both forms, as bytes written by hand from the protocol's
// description (golden/commands.txt), and every truncation of them.
#include "server/openpmix/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/codec/stored_key.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/openpmix/golden.h"
#include "tests/codec/hex.h"

namespace canopy::openpmix {
namespace {

Requester Of(const char* version, const char* codec, bool described = false) {
  return {77, {"ns", 1}, TraitsOf(version, codec, described).value()};
}
Requester Modern() { return Of("4.2.2", "v41"); }
Requester Old() { return Of("3.2.3", "v3"); }

// Macros for parts of messages. In the modern form a call of one element begins
// with 02; lengths and positive signed numbers are doubled. In the old form a
// call begins with its count in four bytes, and a SIZE with its type, 15.
#define M_NS "08 6e737800"                    // text "nsx"
#define M_KEY "04 6b00"                       // text "k"
#define M_PROCS "02 01 02" M_NS "feffffff0f"  // 1 proc: nsx, any rank
#define M_INFOS "02 01 02" M_KEY "00 0e 05"   // 1 info: k = UINT32 5
#define M_NONE "02 00"                        // SIZE 0

constexpr char kFile[] = "commands.txt";

struct Sample {
  const char* name;  // name of the command
  bool refused;
  size_t tail = 0;            // bytes of the modern form that may be missing
  bool may_be_empty = false;  // the command alone is a request
};

constexpr Sample kSamples[] = {
    {"job info", false},
    {"abort", false},
    {"commit", false, 0, true},
    {"fence", false},
    {"get", false, 4},
    {"finalize", false},
    {"publish", false},
    {"lookup", false},
    {"unpublish", false},
    {"spawn", false},
    {"connect", false},
    {"disconnect", false},
    {"notify", false},
    {"register events", false},
    {"deregister events", false, 6, true},
    {"query", false},
    {"log", false, 9},
    {"allocate", false},
    {"job control", false},
    {"monitor", false},
    {"get credential", false},
    {"validate credential", false},
    {"pull output", false},
    {"push input", false},
    {"group construct", false},
    {"group leave", false},
    {"group destruct", false},
    {"stop output", false},
    {"fabric register", false},
    {"fabric update", false},
    {"device distances", true},
    {"refresh cache", false},
    {"session control", false},
    {"system info", true},
    {"resolve peers", false},
    {"resolve nodes", false},
    {"store fallback", false, 4},
};

Result<Request> Parse(const Requester& requester, const char* hex) {
  return ParseRequest(requester, 101, Unhex(hex));
}

// Parses the golden message `name` in both forms and returns the requests,
// which must be of type T.
template <typename T>
std::vector<T> InBothForms(const char* name) {
  std::vector<T> out;
  for (const auto& [requester, form] :
       {std::pair(Modern(), "modern"), std::pair(Old(), "old")}) {
    const Result<Request> request =
        ParseRequest(requester, 101, GoldenBytes(kFile, name, form));
    EXPECT_TRUE(request.ok()) << name;
    if (!request.ok()) continue;
    const T* t = std::get_if<T>(&*request);
    EXPECT_NE(t, nullptr) << name;
    if (t != nullptr) out.push_back(*t);
  }
  EXPECT_EQ(out.size(), 2u);
  return out;
}

template <typename Input>
std::vector<Input> CoreInputs(const char* name, AnswerForm answer) {
  std::vector<Input> inputs;
  for (const CoreRequest& request : InBothForms<CoreRequest>(name)) {
    EXPECT_EQ(request.answer, answer) << name;
    const Input* input = std::get_if<Input>(&request.input);
    EXPECT_NE(input, nullptr) << name;
    if (input != nullptr) inputs.push_back(*input);
  }
  EXPECT_EQ(inputs.size(), 2u);
  return inputs;
}

const ProcId kAll = {"nsx", kRankWildcard};
// Canopy's form: SIZE 1, then the info.
const std::string kOurInfos = Unhex("01" M_KEY "00 0e 05");

TEST(Requests, UnsupportedCommandsAreParsedAndRefused) {
  for (const Sample& sample : kSamples) {
    if (!sample.refused) continue;
    for (const RefusedRequest& r : InBothForms<RefusedRequest>(sample.name)) {
      EXPECT_EQ(r.status, kErrNotSupported) << sample.name;
    }
  }
}

TEST(Requests, APullContainsProcessesChannelsAndHandle) {
  const auto pulls = InBothForms<PullRequest>("pull output");
  ASSERT_EQ(pulls.size(), 2u);
  for (const PullRequest& pull : pulls) {
    EXPECT_EQ(pull.procs, std::vector<ProcId>{kAll});
    EXPECT_EQ(pull.infos.size(), 1u);
    EXPECT_EQ(pull.channels, 6u);
  }
  EXPECT_EQ(pulls[0].handle, 1u);
  EXPECT_EQ(pulls[1].handle, 0u) << "release 3 has none";
  for (const auto& stop : InBothForms<StopPullRequest>("stop output")) {
    EXPECT_GT(stop.handle, 0u);
  }
}

TEST(Requests, APushBecomesAHostCall) {
  for (const auto& in :
       CoreInputs<core::HostCallArrived>("push input", AnswerForm::kStatus)) {
    EXPECT_EQ(in.op, HostOp::kPushInput);
    EXPECT_EQ(in.targets, std::vector<ProcId>{kAll});
    InputPush push;
    ASSERT_TRUE(wire::Decode(in.call, &push));
    EXPECT_EQ(push.data.view(), "\xab\xcd");
    EXPECT_FALSE(push.complete);
  }
}

// In an update of a fabric, the library sends only the fabric's index.
TEST(Requests, FabricRequestsBecomeHostCalls) {
  const std::pair<const char*, pmix_fabric_operation_t> rows[] = {
      {"fabric register", PMIX_FABRIC_REQUEST_INFO},
      {"fabric update", PMIX_FABRIC_UPDATE_INFO},
  };
  for (const auto& [name, operation] : rows) {
    for (const auto& in :
         CoreInputs<core::HostCallArrived>(name, AnswerForm::kInfos)) {
      EXPECT_EQ(in.op, HostOp::kFabric);
      host_call::Fabric call;
      ASSERT_TRUE(wire::Decode(in.call, &call));
      EXPECT_EQ(call.operation, operation);
      InfoList infos;
      ASSERT_TRUE(DecodeInfos(call.infos, &infos));
      ASSERT_EQ(infos.size(), 1u);
      const bool update = operation == PMIX_FABRIC_UPDATE_INFO;
      EXPECT_EQ(KeyOf(infos[0]), update ? PMIX_FABRIC_INDEX : "k");
      EXPECT_EQ(infos.FindUint(PMIX_FABRIC_INDEX).value_or(0),
                update ? 3u : 0u);
    }
  }
}

TEST(Requests, PublishLookupAndUnpublishBecomeInputs) {
  for (const auto& in :
       CoreInputs<core::PublishArrived>("publish", AnswerForm::kStatus)) {
    EXPECT_EQ(in.client, 77u);
    EXPECT_EQ(in.request, 101u);
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
  for (const auto& in :
       CoreInputs<core::LookupArrived>("lookup", AnswerForm::kFound)) {
    EXPECT_EQ(in.keys, std::vector<std::string>{"k"});
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
  for (const auto& in :
       CoreInputs<core::UnpublishArrived>("unpublish", AnswerForm::kStatus)) {
    EXPECT_EQ(in.keys, std::vector<std::string>{"k"});
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
}

TEST(Requests, EveryTruncatedRequestIsMalformed) {
  for (const Sample& sample : kSamples) {
    const std::string whole = GoldenBytes(kFile, sample.name, "modern");
    EXPECT_TRUE(ParseRequest(Modern(), 101, whole).ok()) << sample.name;
    for (size_t n = 0; n + sample.tail < whole.size(); ++n) {
      if (n == 2 && sample.may_be_empty) continue;
      EXPECT_EQ(ParseRequest(Modern(), 101, whole.substr(0, n)).code(),
                kErrUnpackFailure)
          << sample.name << " " << n;
    }
    EXPECT_TRUE(
        ParseRequest(Old(), 101, GoldenBytes(kFile, sample.name, "old")).ok())
        << sample.name;
  }
}

// The file must contain exactly the commands of the table.
TEST(Requests, TheGoldenFileContainsEveryCommand) {
  std::set<std::string_view> known;
  for (int command = 0; command < 256; ++command) {
    known.insert(CommandName(static_cast<uint8_t>(command)));
  }
  known.erase("?");
  std::set<std::string> golden;
  for (const Golden& line : ReadGolden(kFile)) golden.insert(line.name);
  EXPECT_EQ(golden, std::set<std::string>(known.begin(), known.end()));
}

TEST(Requests, ATruncatedResourceBlockIsRejected) {
  const std::string bytes = GoldenBytes(kFile, "resource block", "v51");
  for (size_t n = 2; n <= bytes.size(); ++n) {
    const Result<Request> request =
        ParseRequest(Of("6.1.0", "v61"), 101, bytes.substr(0, n));
    EXPECT_EQ(request.ok(), n == bytes.size()) << n;
  }
}

TEST(Requests, CommandNameReturnsTheNameInTheGoldenFile) {
  for (const Golden& golden : ReadGolden(kFile)) {
    const size_t at = golden.form == "old" ? 4 : 1;
    EXPECT_EQ(CommandName(static_cast<uint8_t>(golden.bytes.at(at))),
              golden.name);
  }
  EXPECT_EQ(CommandName(25), "?");
  EXPECT_EQ(CommandName(200), "?");
}

TEST(Requests, UnknownCommandsAreRefused) {
  for (const char* hex : {"02 19", "02 1a", "02 28", "02 ff 00"}) {
    const Result<Request> request = Parse(Modern(), hex);
    ASSERT_TRUE(request.ok());
    EXPECT_EQ(std::get<RefusedRequest>(*request).status, kErrNotSupported);
  }
}

TEST(Requests, BothJobInfoCommandsAreParsed) {
  InBothForms<JobInfoRequest>("job info");
  InBothForms<JobInfoRequest>("store fallback");
}

TEST(Requests, AnAbortBecomesAnInput) {
  for (const auto& in :
       CoreInputs<core::AbortArrived>("abort", AnswerForm::kStatus)) {
    EXPECT_EQ(in.client, 77u);
    EXPECT_EQ(in.request, 101u);
    EXPECT_EQ(in.status, -3);
    EXPECT_EQ(in.text, "x");
    EXPECT_TRUE(in.targets.empty());
  }
}

TEST(Requests, ACommitBecomesAnInput) {
  for (const auto& in :
       CoreInputs<core::Committed>("commit", AnswerForm::kStatus)) {
    ASSERT_EQ(in.data.size(), 1u);
    EXPECT_EQ(in.data[0].scope, core::Scope::kLocal);
    EXPECT_EQ(in.data[0].kvals.view(), Unhex(M_KEY "0e 05"));
  }
}

// The message has data of both scopes; the second payload is described.
TEST(Requests, ACommitCanContainDataOfTwoScopes) {
  const Result<Request> request =
      Parse(Modern(),
            "02 02"
            "02 01 02 01 06 02" M_KEY
            "0e 05"
            "02 02 02 02 08 09 02 1c" M_KEY "0e 06");
  ASSERT_TRUE(request.ok());
  const auto& in =
      std::get<core::Committed>(std::get<CoreRequest>(*request).input);
  ASSERT_EQ(in.data.size(), 2u);
  EXPECT_EQ(in.data[1].scope, core::Scope::kRemote);
  EXPECT_EQ(in.data[1].kvals.view(), Unhex(M_KEY "0e 06"));
}

// The values that come with deleted keys have no meaning.
TEST(Requests, ACommitMayDeleteKeys) {
  const Result<Request> request = Parse(Modern(),
                                        "02 02"
                                        "02 05 02 01 06 02" M_KEY
                                        "0e 05"
                                        "02 06 02 01 05 02" M_KEY "00");
  ASSERT_TRUE(request.ok());
  const auto& in =
      std::get<core::Committed>(std::get<CoreRequest>(*request).input);
  ASSERT_EQ(in.data.size(), 2u);
  EXPECT_EQ(in.data[0].scope, core::Scope::kLocal);
  EXPECT_EQ(in.data[0].kvals.view(), Unhex(M_KEY "00"));
  EXPECT_EQ(in.data[1].scope, core::Scope::kRemote);
  EXPECT_EQ(in.data[1].kvals.view(), Unhex(M_KEY "00"));
}

TEST(Requests, DeletionOfInternalKeysIsRefused) {
  const Result<Request> request = Parse(Modern(), "02 02 02 08 02 01 00");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(std::get<RefusedRequest>(*request).status, kErrNotSupported);
}

TEST(Requests, CollectivesBecomeInputsWithTheirOperation) {
  const std::tuple<const char*, core::CollectiveOp, AnswerForm> rows[] = {
      {"fence", core::CollectiveOp::kFence, AnswerForm::kStatus},
      {"connect", core::CollectiveOp::kConnect, AnswerForm::kConnect},
      {"disconnect", core::CollectiveOp::kDisconnect, AnswerForm::kStatus},
  };
  for (const auto& [name, op, answer] : rows) {
    for (const auto& in : CoreInputs<core::CollectiveArrived>(name, answer)) {
      EXPECT_EQ(in.op, op);
      EXPECT_EQ(in.participants, std::vector<ProcId>{kAll});
      EXPECT_FALSE(in.collect_data);
      EXPECT_EQ(in.timeout_ms, 0u);
      EXPECT_EQ(in.info.view(), op == core::CollectiveOp::kDisconnect
                                    ? Unhex("00")
                                    : kOurInfos);
    }
  }
}

TEST(Requests, GroupRequestsBecomeInputsWithTheGroupsName) {
  for (const auto& in : CoreInputs<core::CollectiveArrived>(
           "group construct", AnswerForm::kGroup)) {
    EXPECT_EQ(in.op, core::CollectiveOp::kGroupConstruct);
    EXPECT_EQ(in.name, "k");
    EXPECT_EQ(in.participants, std::vector<ProcId>{kAll});
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
  for (const auto& in : CoreInputs<core::CollectiveArrived>(
           "group destruct", AnswerForm::kStatus)) {
    EXPECT_EQ(in.op, core::CollectiveOp::kGroupDestruct);
    EXPECT_EQ(in.name, "k");
    EXPECT_TRUE(in.participants.empty());
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
  for (const auto& in :
       CoreInputs<core::GroupCallArrived>("group leave", AnswerForm::kStatus)) {
    EXPECT_EQ(in.call, core::GroupCallArrived::Call::kLeave);
    EXPECT_EQ(in.name, "k");
  }
}

TEST(Requests, AFenceContainsCollectAndTimeout) {
  // pmix.collect = true, pmix.timeout = INT 5.
  const Result<Request> request =
      Parse(Modern(), "02 03" M_PROCS
                      "02 02 04"
                      "1a 706d69782e636f6c6c65637400 00 01 01"
                      "1a 706d69782e74696d656f757400 00 06 0a");
  ASSERT_TRUE(request.ok());
  const auto& in =
      std::get<core::CollectiveArrived>(std::get<CoreRequest>(*request).input);
  EXPECT_TRUE(in.collect_data);
  EXPECT_EQ(in.timeout_ms, 5000u);
}

TEST(Requests, AGetNamesItsTargetAndKey) {
  for (const auto& in : CoreInputs<core::GetArrived>("get", AnswerForm::kGet)) {
    EXPECT_EQ(in.target, (ProcId{"nsx", 3}));
    EXPECT_EQ(in.key, "k");
    EXPECT_FALSE(in.immediate);
    EXPECT_FALSE(in.refresh);
  }
  // Without a key the get is for all data.
  const Result<Request> all = Parse(Modern(), "02 04 02" M_NS "02 03" M_NONE);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(std::get<core::GetArrived>(std::get<CoreRequest>(*all).input).key,
            "");
}

TEST(Requests, AGetWithAQualifierRequestsTheQualifiedName) {
  const Result<Request> request =
      Parse(Modern(), "02 04 02" M_NS
                      "02 03"
                      "02 01 02" M_KEY "08 0e 05 02" M_KEY);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(
      std::get<core::GetArrived>(std::get<CoreRequest>(*request).input).key,
      QualifiedNameOf("k", "k", Unhex("0e 05")));
}

TEST(Requests, ARefreshBecomesAGetOfAllData) {
  for (const auto& in :
       CoreInputs<core::GetArrived>("refresh cache", AnswerForm::kRefresh)) {
    EXPECT_EQ(in.target, (ProcId{"nsx", 3}));
    EXPECT_TRUE(in.refresh);
  }
}

TEST(Requests, AFinalizeBecomesAnInput) {
  CoreInputs<core::FinalizeArrived>("finalize", AnswerForm::kStatus);
}

TEST(Requests, EventRequestsBecomeInputs) {
  for (const auto& in :
       CoreInputs<core::EventRaised>("notify", AnswerForm::kStatus)) {
    EXPECT_EQ(in.status, -5);
    EXPECT_EQ(in.range, 3);
    EXPECT_EQ(in.source, (ProcId{"ns", 1}));
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
  for (const auto& in :
       CoreInputs<core::EventsWanted>("register events", AnswerForm::kStatus)) {
    EXPECT_FALSE(in.all);
    EXPECT_EQ(in.codes, (std::vector<int>{-1, -2}));
  }
  const Result<Request> any = Parse(Modern(), "02 0d" M_NONE M_NONE);
  ASSERT_TRUE(any.ok());
  EXPECT_TRUE(
      std::get<core::EventsWanted>(std::get<CoreRequest>(*any).input).all);
  for (const auto& in : CoreInputs<core::EventsUnwanted>("deregister events",
                                                         AnswerForm::kNone)) {
    EXPECT_TRUE(in.all);
    EXPECT_EQ(in.codes, std::vector<int>{-1});
  }
}

TEST(Requests, AnEventMayHaveACustomRange) {
  // pmix.evrange = PROC nsx, any rank.
  const Result<Request> request = Parse(Modern(),
                                        "02 0c 02 09 02 06 02 01 02"
                                        "1a 706d69782e657672616e676500"
                                        "00 16" M_NS "feffffff0f");
  ASSERT_TRUE(request.ok());
  const auto& in =
      std::get<core::EventRaised>(std::get<CoreRequest>(*request).input);
  EXPECT_EQ(in.range, PMIX_RANGE_CUSTOM);
  EXPECT_EQ(in.targets, std::vector<ProcId>{kAll});
}

TEST(Requests, JobControlBecomesAHostCall) {
  for (const auto& in :
       CoreInputs<core::HostCallArrived>("job control", AnswerForm::kInfos)) {
    EXPECT_EQ(in.targets, std::vector<ProcId>{kAll});
    EXPECT_EQ(in.op, HostOp::kJobControl);
    EXPECT_EQ(in.call.view(), kOurInfos);
  }
}

TEST(Requests, AllocationAndSessionRequestsBecomeHostCalls) {
  for (const auto& in :
       CoreInputs<core::HostCallArrived>("allocate", AnswerForm::kInfos)) {
    EXPECT_EQ(in.op, HostOp::kAllocate);
    host_call::Allocate call;
    ASSERT_TRUE(wire::Decode(in.call, &call));
    EXPECT_EQ(call.directive, 1u);
    EXPECT_EQ(call.infos, kOurInfos);
  }
  for (const auto& in : CoreInputs<core::HostCallArrived>("session control",
                                                          AnswerForm::kInfos)) {
    EXPECT_EQ(in.op, HostOp::kControlSession);
    host_call::ControlSession call;
    ASSERT_TRUE(wire::Decode(in.call, &call));
    EXPECT_EQ(call.session, 7u);
    EXPECT_EQ(call.infos, kOurInfos);
  }
}

TEST(Requests, AMonitorBecomesAHostCall) {
  for (const auto& in :
       CoreInputs<core::HostCallArrived>("monitor", AnswerForm::kInfos)) {
    EXPECT_EQ(in.op, HostOp::kMonitor);
    host_call::Monitor call;
    ASSERT_TRUE(wire::Decode(in.call, &call));
    EXPECT_EQ(call.what, kOurInfos);
    EXPECT_EQ(call.error, -1);
    EXPECT_EQ(call.infos, kOurInfos);
  }
}

TEST(Requests, CredentialRequestsBecomeHostCalls) {
  for (const auto& in : CoreInputs<core::HostCallArrived>(
           "get credential", AnswerForm::kCredential)) {
    EXPECT_EQ(in.client, 77u);
    EXPECT_EQ(in.request & UINT32_MAX, 101u);
    EXPECT_EQ(in.op, HostOp::kGetCredential);
    EXPECT_EQ(in.call.view(), kOurInfos);
  }
  for (const auto& in : CoreInputs<core::HostCallArrived>("validate credential",
                                                          AnswerForm::kInfos)) {
    EXPECT_EQ(in.op, HostOp::kValidateCredential);
    host_call::ValidateCredential call;
    ASSERT_TRUE(wire::Decode(in.call, &call));
    EXPECT_EQ(call.credential, "\xab\xcd");
    EXPECT_EQ(call.infos, kOurInfos);
  }
}

TEST(Requests, QueriesAreTranslatedIntoOurForm) {
  for (const core::QueryArrived& in :
       CoreInputs<core::QueryArrived>("query", AnswerForm::kQuery)) {
    EXPECT_EQ(in.request, 101u);
    Decoder decoder(in.queries.view());
    size_t count = 0;
    int32_t keys = 0;
    std::string_view key;
    size_t qualifiers = 0;
    pmix_info_t info;
    ASSERT_TRUE(decoder.GetSize(&count) && decoder.GetInt32(&keys) &&
                decoder.GetString(&key) && decoder.GetSize(&qualifiers) &&
                decoder.GetInfo(&info) && decoder.done());
    InfoList taken;
    taken.Adopt(&info);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(keys, 1);
    EXPECT_EQ(key, "k");
    EXPECT_EQ(qualifiers, 1u);
    EXPECT_EQ(taken.FindUint("k"), 5u);
  }
}

TEST(Requests, ALogRequestContainsDataDirectivesAndTime) {
  for (const LogRequest& request : InBothForms<LogRequest>("log")) {
    EXPECT_EQ(request.stamp, 5);
    EXPECT_EQ(request.data.FindUint("k"), 5u);
    EXPECT_EQ(request.directives.FindUint("k"), 5u);
  }
}

TEST(Requests, ResolveRequestsContainNodeAndNamespace) {
  for (const auto& r : InBothForms<ResolvePeersRequest>("resolve peers")) {
    EXPECT_EQ(r.node, "");
    EXPECT_EQ(r.nspace, "nsx");
  }
  for (const auto& r : InBothForms<ResolveNodesRequest>("resolve nodes")) {
    EXPECT_EQ(r.nspace, "nsx");
  }
}

TEST(Requests, RequestsInTheDescribedFormAreParsed) {
  // Each call has the type of the count (9), the count, and the type of the
  // elements.
  const Result<Request> request =
      ParseRequest(Of("4.2.2", "v41", true), 101,
                   Unhex("09 02 22 03"                             // command
                         "09 02 04 01 09 02 16" M_NS "feffffff0f"  // procs
                         "09 02 04 00"));                          // no infos
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(
      std::get<core::CollectiveArrived>(std::get<CoreRequest>(*request).input)
          .participants,
      std::vector<ProcId>{kAll});
}

TEST(Requests, ThePartsOfARequestDependOnThePeersVersion) {
  // Since 4.2.4 a destruct lists the group's members.
  const char* with_procs = "02 1c 02" M_KEY M_PROCS M_INFOS;
  EXPECT_TRUE(Parse(Of("4.2.4", "v41"), with_procs).ok());
  EXPECT_FALSE(Parse(Of("4.2.4", "v41"), "02 1c 02" M_KEY).ok());
  // A client of version 4.0 pulls output without a handle.
  EXPECT_TRUE(Parse(Of("4.0.0", "v4"), "02 16" M_PROCS M_NONE "02 06").ok());
  EXPECT_FALSE(Parse(Of("4.1.0", "v41"), "02 16" M_PROCS M_NONE "02 06").ok());
  // Two units of a device type.
  const char* block = "02 22 02 01 02" M_KEY "02 01 02 04 02" M_NONE;
  EXPECT_TRUE(Parse(Of("6.0.0", "v51"), block).ok());
}

// One info: KEY = UINT32 5.
std::string OneInfo(std::string_view key, bool required) {
  std::string info = Unhex("02 01 02");
  info += static_cast<char>(2 * (key.size() + 1));
  return info.append(key) + '\0' + static_cast<char>(required ? 1 : 0) +
         Unhex("0e 05");
}

struct Directed {
  const char* function;
  std::string before;
  std::string after;
  std::string_view honoured;
};

TEST(Requests, DirectivesWithoutAnEffectAreRefusedOrReported) {
  const std::string procs = Unhex(M_PROCS);
  const Directed calls[] = {
      {"PMIx_Fence", Unhex("02 03") + procs, "", PMIX_TIMEOUT},
      {"PMIx_Connect", Unhex("02 0a") + procs, "", PMIX_USERID},
      {"PMIx_Disconnect", Unhex("02 0b") + procs, "", PMIX_TIMEOUT},
      {"PMIx_Group_leave", Unhex("02 1b 02" M_KEY), "", PMIX_TIMEOUT},
      {"PMIx_Get", Unhex("02 04 02" M_NS "02 03"), Unhex("02" M_KEY),
       PMIX_OPTIONAL},
      {"PMIx_IOF_pull", Unhex("02 16") + procs, Unhex("02 06 02 01"),
       PMIX_IOF_TAG_OUTPUT},
      {"PMIx_IOF_push", Unhex("02 17") + procs, Unhex("02 02 abcd"),
       PMIX_IOF_COMPLETE},
      {"PMIx_Notify_event", Unhex("02 0c 02 01 02 04"), "", "data"},
  };
  for (const Directed& call : calls) {
    const bool is_event = std::string_view(call.function).ends_with("event");
    const std::string_view vain = is_event ? PMIX_EVENT_TERMINATE_JOB : "vain";
    std::vector<IgnoredDirective> ignored;
    const auto parse = [&](std::string_view key, bool required) {
      return ParseRequest(Modern(), 101,
                          call.before + OneInfo(key, required) + call.after,
                          &ignored);
    };
    const Result<Request> refused = parse(vain, true);
    ASSERT_TRUE(refused.ok()) << call.function;
    ASSERT_TRUE(std::holds_alternative<RefusedRequest>(*refused))
        << call.function;
    EXPECT_EQ(std::get<RefusedRequest>(*refused).status, kErrNotSupported);
    EXPECT_TRUE(ignored.empty());
    const Result<Request> honoured = parse(call.honoured, true);
    ASSERT_TRUE(honoured.ok()) << call.function;
    EXPECT_FALSE(std::holds_alternative<RefusedRequest>(*honoured))
        << call.function;
    EXPECT_TRUE(ignored.empty());
    const Result<Request> reported = parse(vain, false);
    ASSERT_TRUE(reported.ok()) << call.function;
    EXPECT_FALSE(std::holds_alternative<RefusedRequest>(*reported))
        << call.function;
    ASSERT_EQ(ignored.size(), 1u) << call.function;
    EXPECT_EQ(ignored[0].function, call.function);
    EXPECT_EQ(ignored[0].key, vain);
  }
}

// A qualifier of a get is a part of the key.
TEST(Requests, QualifiersOfAGetAreNotReportedAsIgnored) {
  std::vector<IgnoredDirective> ignored;
  const Result<Request> request = ParseRequest(
      Modern(), 101,
      Unhex("02 04 02" M_NS "02 03 02 01 02" M_KEY "09 0e 05 02" M_KEY),
      &ignored);
  ASSERT_TRUE(request.ok());
  EXPECT_FALSE(std::holds_alternative<RefusedRequest>(*request));
  EXPECT_TRUE(ignored.empty());
}

TEST(Requests, HugeCountsAreRefusedWithoutAllocating) {
  const char* hostile[] = {
      "02 03 02 ffffffffffffff7f",            // procs
      "02 03" M_PROCS "02 ffffffffffffff7f",  // infos
      "02 0d 02 ffffffffffffff7f",            // codes
      "02 0f 02 ffffffffffffff7f",            // queries
      "02 02 02 01 02 01 ffffffffffffff7f",   // a payload
      "02 04 02 feffffff0f",                  // a text
      "02 07 02 00 02 ffffffffffffff7f",      // texts
  };
  for (const char* hex : hostile) {
    const Result<Request> request = Parse(Modern(), hex);
    EXPECT_TRUE(!request.ok() ||
                std::holds_alternative<RefusedRequest>(*request))
        << hex;
  }
}

// An info contains 10,000 nested arrays.
TEST(Requests, DeeplyNestedArraysAreRefused) {
  std::string message = Unhex("02 03" M_PROCS "02 01 02" M_KEY "00 27");
  for (int i = 0; i < 10000; ++i) message += Unhex("27 01");
  EXPECT_FALSE(ParseRequest(Modern(), 101, message).ok());
  std::string commit;
  for (int i = 0; i < 10000; ++i) commit += Unhex("27 01");
  std::string payload = Unhex("02" M_KEY "27") + commit;
  // The length has three groups of seven bits.
  const size_t n = payload.size();
  std::string length = {static_cast<char>(n | 0x80),
                        static_cast<char>(n >> 7 | 0x80),
                        static_cast<char>(n >> 14)};
  EXPECT_FALSE(
      ParseRequest(Modern(), 101, Unhex("02 02 02 01 02 01") + length + payload)
          .ok());
}

TEST(RequestsTest, SpawnsAreTranslatedIntoOurForm) {
  const auto inputs =
      CoreInputs<core::SpawnArrived>("spawn", AnswerForm::kSpawn);
  for (const core::SpawnArrived& in : inputs) {
    EXPECT_EQ(in.request & UINT32_MAX, 101u);
    Decoder call(in.call.view());
    size_t infos = 0;
    pmix_info_t info;
    ASSERT_TRUE(call.GetSize(&infos) && call.GetInfo(&info));
    EXPECT_EQ(infos, 1u);
    InfoList taken;
    taken.Adopt(&info);
    EXPECT_EQ(taken.FindUint("k"), 5u);
    size_t apps = 0;
    EXPECT_TRUE(call.GetSize(&apps) && call.SkipElements(PMIX_APP, apps));
    EXPECT_EQ(apps, 1u);
    EXPECT_TRUE(call.done());
  }
}

TEST(RequestsTest, SpawnsOfTwoConnectionsHaveDifferentNumbers) {
  const auto number = [](core::ClientId client) {
    Requester requester = Modern();
    requester.client = client;
    const auto request =
        ParseRequest(requester, 101, GoldenBytes(kFile, "spawn", "modern"));
    return std::get<core::SpawnArrived>(std::get<CoreRequest>(*request).input)
        .request;
  };
  EXPECT_NE(number(1), number(2));
}

}  // namespace
}  // namespace canopy::openpmix
