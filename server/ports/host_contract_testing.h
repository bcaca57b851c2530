// What every host does, whoever decides behind it: suites that each
// implementation of HostPort instantiates beside its own tests.
#ifndef CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_
#define CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/bytes.h"
#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/wire.h"
#include "pmix_common.h"
#include "server/core/step/host.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/input_sink_testing.h"

namespace canopy {

// A call that has come to who decides.
struct HeardCall {
  ProcId source;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string identity;  // the same when it comes again, and of no other call
};

// A host, and who decides behind it, whom the test plays. One thread.
class PlayedHost {
 public:
  virtual ~PlayedHost() = default;
  virtual HostPort* port() = 0;
  // In the order in which they came, also those that came again.
  virtual std::vector<HeardCall> Heard() = 0;
  // Of Heard()[call], answered before or not; `result`: the value of
  // "test.result" in the results.
  virtual void Answer(size_t call, int status, const std::string& result) = 0;
  // Until then, or for ten seconds.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  // The port is gone; who decides is not.
  virtual void Destroy() = 0;
};

// One whose decider may be silent, wrong or away.
class RemotePlayedHost : public PlayedHost {
 public:
  // It was told that nobody waits for its answer.
  virtual bool Cancelled(size_t call) = 0;
  virtual void AnswerMalformed(size_t call) = 0;
  virtual void Fail(size_t call) = 0;
  virtual void GoAway() = 0;
  virtual void ComeBack() = 0;
};

// `implemented`: what who decides implements, of all that there is.
template <typename Host>
struct HostKind {
  std::string name;
  std::function<std::unique_ptr<Host>(InputSink* sink,
                                      std::set<HostOp> implemented)>
      make;
  std::set<HostOp> without_results = {};  // their answer is a status
};

// ---------------------------------------------------------------- requests ---

inline std::string ContractInfos(uint32_t timeout) {
  InfoList infos;
  infos.Add(PMIX_ALLOC_NUM_NODES, Value::Uint64(3), PMIX_INFO_REQD);
  if (timeout != 0) infos.Add(PMIX_TIMEOUT, Value::Uint32(timeout));
  std::string bytes;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &bytes), kSuccess);
  return bytes;
}

// A well-formed call, as common/local_protocol.h says; `timeout` in seconds,
// where it can have one; 0: none.
inline Bytes ContractCall(HostOp op, uint32_t timeout = 0) {
  const std::string infos = ContractInfos(timeout);
  WireWriter out;
  switch (op) {
    case HostOp::kAllocate:
    case HostOp::kControlSession:
      out.Uint(1);
      break;
    case HostOp::kBlockResources:
      out.Uint(1);
      out.String("block");
      out.Uint(0);
      break;
    case HostOp::kLog:
      out.String(infos);
      break;
    case HostOp::kMonitor: {
      InfoList monitor;
      monitor.Add(PMIX_MONITOR_HEARTBEAT, Value::Bool(true));
      std::string what;
      EXPECT_EQ(EncodeInfos(monitor.data(), monitor.size(), &what), kSuccess);
      out.String(what);
      out.Int(0);
      break;
    }
    case HostOp::kValidateCredential:
      out.String("credential");
      break;
    default:
      return Bytes(infos);
  }
  out.String(infos);
  return Bytes(out.Take());
}

inline core::AskHost ContractAsk(uint64_t number, HostOp op,
                                 const std::string& nspace = "job") {
  core::AskHost ask;
  ask.number = number;
  ask.op = op;
  ask.source = {nspace, static_cast<Rank>(number)};
  ask.request = 100 + number;
  ask.uid = 10;
  ask.gid = 20;
  ask.call = ContractCall(op);
  return ask;
}

inline std::string ResultOf(const core::HostAnswered& answered) {
  InfoList results;
  if (answered.results.empty()) return "none";
  if (!DecodeInfos(answered.results.view(), &results)) return "malformed";
  return std::string(results.FindString("test.result").value_or("none"));
}

template <typename Host>
class HostContractBase {
 protected:
  using Answers = std::vector<core::HostAnswered>;

  void Make(const HostKind<Host>& kind, std::set<HostOp> implemented) {
    host_ = kind.make(&sink_, std::move(implemented));
    without_results_ = kind.without_results;
  }
  // What ResultOf says of an answer with this result.
  std::string Expected(HostOp op, const std::string& result) const {
    return without_results_.contains(op) ? "none" : result;
  }
  void Ask(const core::AskHost& ask) { host_->port()->Ask(ask); }
  // Until so many calls have come to who decides.
  void AwaitCalls(size_t count) {
    host_->RunUntil([&] { return host_->Heard().size() >= count; });
    ASSERT_EQ(host_->Heard().size(), count);
  }
  // Until the core has so many answers.
  void AwaitAnswers(size_t count) {
    host_->RunUntil([&] { return Answered().size() >= count; });
    ASSERT_EQ(Answered().size(), count);
  }
  Answers Answered() const { return sink_.template All<core::HostAnswered>(); }
  // Another call, which goes well: what was on its way before has come.
  void ExpectServed(uint64_t number, HostOp op) {
    const size_t calls = host_->Heard().size();
    const size_t answers = Answered().size();
    Ask(ContractAsk(number, op, "bystander"));
    AwaitCalls(calls + 1);
    host_->Answer(calls, kSuccess, "served");
    AwaitAnswers(answers + 1);
    EXPECT_EQ(Answered().back().number, number);
    EXPECT_EQ(Answered().back().status, kSuccess);
    EXPECT_EQ(ResultOf(Answered().back()), Expected(op, "served"));
  }

  RecordingSink sink_;
  std::set<HostOp> without_results_;
  std::unique_ptr<Host> host_;
};

// --------------------------------------------------------- of every host ---

// Every slot of every host.
class HostContract
    : public testing::TestWithParam<std::tuple<HostKind<PlayedHost>, HostOp>>,
      public HostContractBase<PlayedHost> {
 protected:
  HostOp op() const { return std::get<1>(GetParam()); }
  void Start() { Make(std::get<0>(GetParam()), {op()}); }
};

TEST_P(HostContract, ACallIsAnsweredOnceAsItWasDecided) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  EXPECT_TRUE(Answered().empty());
  host_->Answer(0, kErrOutOfResource, "why");
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kErrOutOfResource);
  EXPECT_EQ(ResultOf(Answered()[0]), Expected(op(), "why"));
}

TEST_P(HostContract, WhoDecidesIsToldWhoAsks) {
  Start();
  core::AskHost ask = ContractAsk(1, op());
  Ask(ask);
  AwaitCalls(1);
  const HeardCall heard = host_->Heard()[0];
  EXPECT_EQ(heard.source, ask.source);
  EXPECT_EQ(heard.uid, ask.uid);
  EXPECT_EQ(heard.gid, ask.gid);
}

// Of hosts that may be asked again.
class IdentityContract : public HostContract {};

TEST_P(IdentityContract, ACallHasOneIdentityHoweverOftenItComes) {
  Start();
  core::AskHost ask = ContractAsk(1, op());
  Ask(ask);
  AwaitCalls(1);
  const HeardCall heard = host_->Heard()[0];
  // By an agent that was restarted; the next one of this process; and the first
  // of another.
  ask.number = 2;
  Ask(ask);
  ++ask.number;
  ++ask.request;
  Ask(ask);
  ++ask.number;
  ask.source.rank += 1;
  ask.request -= 1;
  Ask(ask);
  AwaitCalls(4);
  std::multiset<std::string> identities;
  for (const HeardCall& call : host_->Heard()) identities.insert(call.identity);
  EXPECT_EQ(identities.count(heard.identity), 2u);
  EXPECT_EQ(std::set<std::string>(identities.begin(), identities.end()).size(),
            3u);
}

TEST_P(HostContract, WhatIsNotImplementedIsNotSupportedAtOnce) {
  Make(std::get<0>(GetParam()), {});
  Ask(ContractAsk(1, op()));
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kErrNotSupported);
  EXPECT_TRUE(host_->Heard().empty());
}

TEST_P(HostContract, ASecondAnswerIsDropped) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  host_->Answer(0, kSuccess, "first");
  host_->Answer(0, kErrTimeout, "second");
  AwaitAnswers(1);
  host_->Answer(0, kErrTimeout, "third");
  ExpectServed(2, op());
  EXPECT_EQ(Answered().size(), 2u);
  EXPECT_EQ(ResultOf(Answered()[0]), Expected(op(), "first"));
}

TEST_P(HostContract, AnswersComeInAnyOrder) {
  Start();
  constexpr size_t kCalls = 5;
  for (size_t i = 0; i < kCalls; ++i) {
    Ask(ContractAsk(i + 1, op()));
    AwaitCalls(i + 1);
  }
  for (size_t i = kCalls; i-- > 0;) {
    host_->Answer(i, kSuccess, std::to_string(i + 1));
  }
  AwaitAnswers(kCalls);
  std::set<uint64_t> numbers;
  for (const core::HostAnswered& answered : Answered()) {
    EXPECT_EQ(ResultOf(answered),
              Expected(op(), std::to_string(answered.number)));
    numbers.insert(answered.number);
  }
  EXPECT_EQ(numbers.size(), kCalls);
}

TEST_P(HostContract, CallsOfAJobEndWithItAndOthersDoNot) {
  Start();
  Ask(ContractAsk(1, op()));
  Ask(ContractAsk(2, op(), "other"));
  AwaitCalls(2);
  const size_t other = host_->Heard()[0].source.nspace == "other" ? 0 : 1;
  host_->port()->DropJob("job");
  host_->Answer(1 - other, kSuccess, "late");
  host_->Answer(other, kSuccess, "in time");
  AwaitAnswers(1);
  ExpectServed(3, op());
  EXPECT_EQ(Answered().size(), 2u);
  EXPECT_EQ(Answered()[0].number, 2u);
  EXPECT_EQ(ResultOf(Answered()[0]), Expected(op(), "in time"));
}

TEST_P(HostContract, WhenItGoesNothingIsAnsweredAnyMore) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  host_->Destroy();
  host_->Answer(0, kSuccess, "late");
  int rounds = 0;
  host_->RunUntil([&] { return ++rounds > 3; });
  EXPECT_TRUE(Answered().empty());
}

// --------------------------------------- of those that are waited for ---

// Hosts behind which others decide, who may take too long.
class LateHostContract : public testing::TestWithParam<HostKind<PlayedHost>>,
                         public HostContractBase<PlayedHost> {};

TEST_P(LateHostContract, WhoIsSilentIsWaitedForAsLongAsTheCallSays) {
  Make(GetParam(), {HostOp::kAllocate});
  core::AskHost ask = ContractAsk(1, HostOp::kAllocate);
  ask.call = ContractCall(HostOp::kAllocate, 1);
  Ask(ask);
  AwaitCalls(1);
  ExpectServed(2, HostOp::kAllocate);
  AwaitAnswers(2);
  EXPECT_EQ(Answered()[1].number, 1u);
  EXPECT_EQ(Answered()[1].status, kErrTimeout);
  host_->Answer(0, kSuccess, "late");
  ExpectServed(3, HostOp::kAllocate);
  EXPECT_EQ(Answered().size(), 3u);
}

// ------------------------------------------- of those that may be away ---

// Hosts whose deciders are programs of their own.
class RemoteHostContract
    : public testing::TestWithParam<HostKind<RemotePlayedHost>>,
      public HostContractBase<RemotePlayedHost> {
 protected:
  static constexpr HostOp kOp = HostOp::kAllocate;
  void Start() { Make(GetParam(), {kOp}); }
};

TEST_P(RemoteHostContract, WhoIsSilentIsToldThatNobodyWaits) {
  Start();
  core::AskHost ask = ContractAsk(1, kOp);
  ask.call = ContractCall(kOp, 1);
  Ask(ask);
  Ask(ContractAsk(2, kOp));
  AwaitCalls(2);
  const size_t silent =
      host_->Heard()[0].source == ask.source ? size_t{0} : size_t{1};
  host_->RunUntil([&] { return host_->Cancelled(silent); });
  EXPECT_TRUE(host_->Cancelled(silent));
  AwaitAnswers(1);
  EXPECT_FALSE(host_->Cancelled(1 - silent));
  host_->port()->DropJob("job");
  host_->RunUntil([&] { return host_->Cancelled(1 - silent); });
  EXPECT_TRUE(host_->Cancelled(1 - silent));
  EXPECT_EQ(Answered().size(), 1u);
}

TEST_P(RemoteHostContract, WhoIsAwayForTooLongIsUnreachable) {
  Start();
  ExpectServed(1, kOp);
  host_->GoAway();
  core::AskHost ask = ContractAsk(2, kOp);
  ask.call = ContractCall(kOp, 1);
  Ask(ask);
  AwaitAnswers(2);
  EXPECT_EQ(Answered()[1].number, 2u);
  EXPECT_EQ(Answered()[1].status, kErrUnreach);
  host_->ComeBack();
  ExpectServed(3, kOp);
}

TEST_P(RemoteHostContract, WhoComesBackIsAskedAgainUnderTheSameIdentity) {
  Start();
  Ask(ContractAsk(1, kOp));
  AwaitCalls(1);
  host_->GoAway();
  host_->ComeBack();
  AwaitCalls(2);
  EXPECT_EQ(host_->Heard()[0].identity, host_->Heard()[1].identity);
  host_->Answer(0, kErrTimeout, "of a call that is over");
  host_->Answer(1, kSuccess, "again");
  AwaitAnswers(1);
  EXPECT_EQ(ResultOf(Answered()[0]), "again");
  ExpectServed(2, kOp);
}

TEST_P(RemoteHostContract, AMalformedAnswerFailsThatCallAlone) {
  Start();
  Ask(ContractAsk(1, kOp));
  AwaitCalls(1);
  host_->AnswerMalformed(0);
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kErrUnpackFailure);
  ExpectServed(2, kOp);
}

TEST_P(RemoteHostContract, SoDoesAFailureOfWhoDecides) {
  Start();
  Ask(ContractAsk(1, kOp));
  AwaitCalls(1);
  host_->Fail(0);
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].status, kErrServerFailedRequest);
  ExpectServed(2, kOp);
}

TEST_P(RemoteHostContract, AMalformedCallDoesNotComeToIt) {
  Start();
  ExpectServed(1, kOp);
  core::AskHost ask = ContractAsk(2, kOp);
  ask.call = Bytes(std::string("\xff\xff"));
  Ask(ask);
  AwaitAnswers(2);
  EXPECT_EQ(Answered()[1].status, kErrUnpackFailure);
  ExpectServed(3, kOp);
  EXPECT_EQ(host_->Heard().size(), 2u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HostContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(IdentityContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LateHostContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RemoteHostContract);

// All slots, as a parameter of HostContract.
inline std::vector<HostOp> AllHostOps() {
  std::vector<HostOp> out;
  for (int op = 1; op <= static_cast<int>(kLastHostOp); ++op) {
    out.push_back(static_cast<HostOp>(op));
  }
  return out;
}

// The names of instances: that of the kind, and the number of the slot.
inline std::string HostContractName(
    const testing::TestParamInfo<HostContract::ParamType>& info) {
  return std::get<0>(info.param).name + "Slot" +
         std::to_string(static_cast<int>(std::get<1>(info.param)));
}

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_
