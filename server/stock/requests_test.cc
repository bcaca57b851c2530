// Every command in both forms, as bytes written by hand from the protocol's
// description, and every cut of them.
#include "server/stock/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "pmix_common.h"
#include "tests/codec/hex.h"

namespace canopy::stock {
namespace {

Caller Of(const char* version, const char* codec, bool described = false) {
  return {77, {"ns", 1}, TraitsOf(version, codec, described).value()};
}
Caller Modern() { return Of("4.2.2", "v41"); }
Caller Old() { return Of("3.2.3", "v3"); }

// Pieces of messages. In the modern form a call of one element begins with 02,
// lengths are doubled, and so are positive signed numbers. In the old form a
// call begins with its count in four bytes, and a SIZE with its type, 15.
#define M_NS "08 6e737800"                    // text "nsx"
#define M_KEY "04 6b00"                       // text "k"
#define M_PROCS "02 01 02" M_NS "feffffff0f"  // 1 proc: nsx, any rank
#define M_INFOS "02 01 02" M_KEY "00 0e 05"   // 1 info: k = UINT32 5
#define M_NONE "02 00"                        // SIZE 0
#define V_ONE "00000001"
#define V_SIZE(n) V_ONE "000f 00000000000000" n
#define V_NS "00000004 6e737800"
#define V_KEY "00000002 6b00"
#define V_PROCS V_SIZE("01") V_ONE V_NS "fffffffe"
#define V_INFOS V_SIZE("01") V_ONE V_KEY "00000000 000e 00000005"
#define V_NONE V_SIZE("00")
#define V_COMMAND(id) V_ONE id

struct Sample {
  const char* name;  // of the command
  const char* modern;
  const char* old;
  bool refused;
  size_t tail = 0;            // bytes of the modern form that may be missing
  bool may_be_empty = false;  // the command alone is a request
};

constexpr Sample kSamples[] = {
    {"job info", "02 00", V_COMMAND("00"), false},
    // Code -3, "x", everybody.
    {"abort", "02 01 02 05 02 04 7800" M_NONE,
     V_COMMAND("01") V_ONE "fffffffd" V_ONE "00000002 7800" V_NONE, false},
    // Local scope, a payload that is not described, with one KVAL call.
    {"commit", "02 02 02 01 02 01 06 02" M_KEY "0e 05",
     V_COMMAND("02") V_ONE "01" V_ONE "01 000f 0000000000000010"  //
     V_ONE V_KEY "000e 00000005",
     false, 0, true},
    {"fence", "02 03" M_PROCS M_INFOS, V_COMMAND("03") V_PROCS V_INFOS, false},
    {"get", "02 04 02" M_NS "02 03" M_INFOS "02" M_KEY,
     V_COMMAND("04") V_ONE V_NS V_ONE "00000003" V_INFOS V_ONE V_KEY, false, 4},
    {"finalize", "02 05", V_COMMAND("05"), false},
    {"publish", "02 06 02 e807" M_INFOS,
     V_COMMAND("06") V_ONE "000003e8" V_INFOS, true},
    {"lookup", "02 07 02 e807 02 01 02" M_KEY M_INFOS,
     V_COMMAND("07") V_ONE "000003e8" V_SIZE("01") V_ONE V_KEY V_INFOS, true},
    {"unpublish", "02 08 02 e807 02 01 02" M_KEY M_INFOS,
     V_COMMAND("08") V_ONE "000003e8" V_SIZE("01") V_ONE V_KEY V_INFOS, true},
    // One application: "k", one argument, no environment, no directory, two
    // processes, no infos.
    {"spawn", "02 09" M_INFOS "02 01 02" M_KEY "02" M_KEY "00 00 04 00",
     V_COMMAND("09") V_INFOS V_SIZE("01") V_ONE V_KEY  //
     "0009 00000001" V_KEY "00000000 00000000 0009 00000002"
     "000f 0000000000000000",
     true},
    {"connect", "02 0a" M_PROCS M_INFOS, V_COMMAND("0a") V_PROCS V_INFOS,
     false},
    {"disconnect", "02 0b" M_PROCS M_NONE, V_COMMAND("0b") V_PROCS V_NONE,
     false},
    // Code -5, range 3.
    {"notify", "02 0c 02 09 02 03" M_INFOS,
     V_COMMAND("0c") V_ONE "fffffffb" V_ONE "03" V_INFOS, false},
    // Codes -1 and -2.
    {"register events", "02 0d 02 02 04 01 03" M_INFOS,
     V_COMMAND("0d") V_SIZE("02") "00000002 ffffffff fffffffe" V_INFOS, false},
    {"deregister events", "02 0e 02 01 02 ffffffff0f",
     V_COMMAND("0e") V_ONE "ffffffff" V_ONE "80000000", false, 6, true},
    // One key and one qualifier.
    {"query", "02 0f 02 01 02 02" M_KEY "01" M_KEY "00 0e 05",
     V_COMMAND("0f") V_SIZE("01") V_ONE
     "00000001" V_KEY "000f 0000000000000001" V_KEY "00000000 000e 00000005",
     false},
    {"log", "02 10 02 05" M_INFOS M_INFOS,
     V_COMMAND("10") V_ONE "0000000000000005" V_INFOS V_INFOS, false, 9},
    {"allocate", "02 11 02 01" M_INFOS, V_COMMAND("11") V_ONE "01" V_INFOS,
     true},
    {"job control", "02 12" M_PROCS M_INFOS, V_COMMAND("12") V_PROCS V_INFOS,
     false},
    {"monitor", "02 13 02" M_KEY "00 0e 05 02 01" M_INFOS,
     V_COMMAND("13") V_ONE V_KEY "00000000 000e 00000005" V_ONE
                                 "ffffffff" V_INFOS,
     true},
    {"get credential", "02 14" M_INFOS, V_COMMAND("14") V_INFOS, true},
    {"validate credential", "02 15 02 02 abcd" M_INFOS,
     V_COMMAND("15") V_ONE "000f 0000000000000002 abcd" V_INFOS, true},
    // Standard output and error; 3.x has no handle after them.
    {"pull output", "02 16" M_PROCS M_INFOS "02 06 02 01",
     V_COMMAND("16") V_PROCS V_INFOS V_ONE "0006", true},
    {"push input", "02 17" M_PROCS M_INFOS "02 02 abcd",
     V_COMMAND("17") V_PROCS V_INFOS V_ONE "000f 0000000000000002 abcd", true},
    {"group construct", "02 18 02" M_KEY M_PROCS M_INFOS,
     V_COMMAND("18") V_ONE V_KEY V_PROCS V_INFOS, true},
    {"group leave", "02 1b 02" M_KEY M_INFOS,
     V_COMMAND("1b") V_ONE V_KEY V_INFOS, true},
    {"group destruct", "02 1c 02" M_KEY M_INFOS,
     V_COMMAND("1c") V_ONE V_KEY V_INFOS, true},
    {"stop output", "02 1d" M_INFOS "02 03",
     V_COMMAND("1d") V_INFOS V_SIZE("03"), true},
    {"fabric register", "02 1e" M_INFOS, V_COMMAND("1e") V_INFOS, true},
    {"fabric update", "02 1f 02 03", V_COMMAND("1f") V_SIZE("03"), true},
    {"device distances", "02 20", V_COMMAND("20"), true},
    {"refresh cache", "02 21 02" M_NS "02 03",
     V_COMMAND("21") V_ONE V_NS V_ONE "00000003", false},
    {"session control", "02 23 02 07" M_INFOS,
     V_COMMAND("23") V_ONE "00000007" V_INFOS, true},
    {"system info", "02 24", V_COMMAND("24"), true},
    // No node.
    {"resolve peers", "02 25 02 00 02" M_NS,
     V_COMMAND("25") V_ONE "00000000" V_ONE V_NS, false},
    {"resolve nodes", "02 26 02" M_NS, V_COMMAND("26") V_ONE V_NS, false},
    {"store fallback", "02 27 02" M_KEY, V_COMMAND("27") V_ONE V_KEY, false, 4},
};

const Sample& SampleOf(std::string_view name) {
  return *std::ranges::find_if(
      kSamples, [&](const Sample& sample) { return name == sample.name; });
}

Result<Request> Parse(const Caller& caller, const char* hex) {
  return ParseRequest(caller, 101, Unhex(hex));
}

// The request in both forms, which must be the same kind of request.
template <typename T>
std::vector<T> InBothForms(const char* name) {
  const Sample& sample = SampleOf(name);
  std::vector<T> out;
  for (const auto& [caller, hex] :
       {std::pair(Modern(), sample.modern), std::pair(Old(), sample.old)}) {
    const Result<Request> request = Parse(caller, hex);
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
// Our form: SIZE 1, then the info.
const std::string kOurInfos = Unhex("01" M_KEY "00 0e 05");

TEST(Requests, WhatIsNotServedIsReadAndRefused) {
  for (const Sample& sample : kSamples) {
    if (!sample.refused) continue;
    for (const RefusedRequest& r : InBothForms<RefusedRequest>(sample.name)) {
      EXPECT_EQ(r.status, kErrNotSupported) << sample.name;
    }
  }
}

TEST(Requests, EveryCutEndsTheConnection) {
  for (const Sample& sample : kSamples) {
    const std::string whole = Unhex(sample.modern);
    EXPECT_TRUE(ParseRequest(Modern(), 101, whole).ok()) << sample.name;
    for (size_t n = 0; n + sample.tail < whole.size(); ++n) {
      if (n == 2 && sample.may_be_empty) continue;
      EXPECT_EQ(ParseRequest(Modern(), 101, whole.substr(0, n)).code(),
                kErrUnpackFailure)
          << sample.name << " " << n;
    }
    EXPECT_TRUE(Parse(Old(), sample.old).ok()) << sample.name;
  }
}

TEST(Requests, NamesOfCommands) {
  for (const Sample& sample : kSamples) {
    EXPECT_EQ(CommandName(static_cast<uint8_t>(Unhex(sample.modern)[1])),
              sample.name);
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

TEST(Requests, JobInfo) {
  InBothForms<JobInfoRequest>("job info");
  InBothForms<JobInfoRequest>("store fallback");
}

TEST(Requests, Abort) {
  for (const auto& in :
       CoreInputs<core::AbortArrived>("abort", AnswerForm::kStatus)) {
    EXPECT_EQ(in.client, 77u);
    EXPECT_EQ(in.request, 101u);
    EXPECT_EQ(in.status, -3);
    EXPECT_EQ(in.text, "x");
    EXPECT_TRUE(in.targets.empty());
  }
}

TEST(Requests, Commit) {
  for (const auto& in :
       CoreInputs<core::Committed>("commit", AnswerForm::kStatus)) {
    ASSERT_EQ(in.data.size(), 1u);
    EXPECT_EQ(in.data[0].scope, core::Scope::kLocal);
    EXPECT_EQ(in.data[0].kvals.view(), Unhex(M_KEY "0e 05"));
  }
}

// Both scopes, the second payload described.
TEST(Requests, CommitOfTwoScopes) {
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

TEST(Requests, DeletionOfKeysIsRefused) {
  const Result<Request> request = Parse(Modern(), "02 02 02 05 02 01 00");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(std::get<RefusedRequest>(*request).status, kErrNotSupported);
}

TEST(Requests, Collectives) {
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

TEST(Requests, FenceDirectives) {
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

TEST(Requests, Get) {
  for (const auto& in : CoreInputs<core::GetArrived>("get", AnswerForm::kGet)) {
    EXPECT_EQ(in.target, (ProcId{"nsx", 3}));
    EXPECT_EQ(in.key, "k");
    EXPECT_FALSE(in.immediate);
    EXPECT_FALSE(in.refresh);
  }
  // Without a key everything is meant.
  const Result<Request> all = Parse(Modern(), "02 04 02" M_NS "02 03" M_NONE);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(std::get<core::GetArrived>(std::get<CoreRequest>(*all).input).key,
            "");
}

TEST(Requests, GetOfAQualifiedValue) {
  const Result<Request> request =
      Parse(Modern(), "02 04 02" M_NS
                      "02 03"
                      "02 01 02" M_KEY "08 0e 05 02" M_KEY);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(
      std::get<core::GetArrived>(std::get<CoreRequest>(*request).input).key,
      "qualified value: k");
}

TEST(Requests, Refresh) {
  for (const auto& in :
       CoreInputs<core::GetArrived>("refresh cache", AnswerForm::kRefresh)) {
    EXPECT_EQ(in.target, (ProcId{"nsx", 3}));
    EXPECT_TRUE(in.refresh);
  }
}

TEST(Requests, Finalize) {
  CoreInputs<core::FinalizeArrived>("finalize", AnswerForm::kStatus);
}

TEST(Requests, Events) {
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

TEST(Requests, EventForOneProcess) {
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

TEST(Requests, JobControl) {
  for (const auto& in :
       CoreInputs<core::JobControlArrived>("job control", AnswerForm::kInfos)) {
    EXPECT_EQ(in.targets, std::vector<ProcId>{kAll});
    EXPECT_EQ(in.info.view(), kOurInfos);
  }
}

TEST(Requests, Query) {
  for (const QueryRequest& request : InBothForms<QueryRequest>("query")) {
    ASSERT_EQ(request.queries.size(), 1u);
    EXPECT_EQ(request.queries[0].keys, std::vector<std::string>{"k"});
    EXPECT_EQ(request.queries[0].qualifiers.FindUint("k"), 5u);
  }
}

TEST(Requests, Log) {
  for (const LogRequest& request : InBothForms<LogRequest>("log")) {
    EXPECT_EQ(request.data.FindUint("k"), 5u);
  }
}

TEST(Requests, Resolve) {
  for (const auto& r : InBothForms<ResolvePeersRequest>("resolve peers")) {
    EXPECT_EQ(r.node, "");
    EXPECT_EQ(r.nspace, "nsx");
  }
  for (const auto& r : InBothForms<ResolveNodesRequest>("resolve nodes")) {
    EXPECT_EQ(r.nspace, "nsx");
  }
}

TEST(Requests, DescribedForm) {
  // Each call: type of the count (9), count, type of the elements.
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

TEST(Requests, VersionsDiffer) {
  // From 4.2.4 on a group is destructed with its members.
  const char* with_procs = "02 1c 02" M_KEY M_PROCS M_INFOS;
  EXPECT_TRUE(Parse(Of("4.2.4", "v41"), with_procs).ok());
  EXPECT_FALSE(Parse(Of("4.2.4", "v41"), "02 1c 02" M_KEY).ok());
  // 4.0 pulls output without a handle.
  EXPECT_TRUE(Parse(Of("4.0.0", "v4"), "02 16" M_PROCS M_NONE "02 06").ok());
  EXPECT_FALSE(Parse(Of("4.1.0", "v41"), "02 16" M_PROCS M_NONE "02 06").ok());
  // Two units of a device type.
  const char* block = "02 22 02 01 02" M_KEY "02 01 02 04 02" M_NONE;
  EXPECT_TRUE(Parse(Of("6.0.0", "v51"), block).ok());
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

// A nest of 10,000 arrays in an info.
TEST(Requests, DeepNestsAreRefused) {
  std::string message = Unhex("02 03" M_PROCS "02 01 02" M_KEY "00 27");
  for (int i = 0; i < 10000; ++i) message += Unhex("27 01");
  EXPECT_FALSE(ParseRequest(Modern(), 101, message).ok());
  std::string commit;
  for (int i = 0; i < 10000; ++i) commit += Unhex("27 01");
  std::string payload = Unhex("02" M_KEY "27") + commit;
  // Its length, in three groups of seven bits.
  const size_t n = payload.size();
  std::string length = {static_cast<char>(n | 0x80),
                        static_cast<char>(n >> 7 | 0x80),
                        static_cast<char>(n >> 14)};
  EXPECT_FALSE(
      ParseRequest(Modern(), 101, Unhex("02 02 02 01 02 01") + length + payload)
          .ok());
}

}  // namespace
}  // namespace canopy::stock
