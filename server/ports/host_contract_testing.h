// The behaviour of every host, independent of the decider behind it: test
// suites that each implementation of HostPort instantiates besides its own
// tests.
#ifndef CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_
#define CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/host_op.h"
#include "common/status.h"
#include "server/core/step/host.h"
#include "server/ports/host_calls_testing.h"
#include "server/ports/input_sink_testing.h"
#include "server/ports/played_host.h"

namespace canopy {

template <typename Host>
class HostContractBase {
 protected:
  using Answers = std::vector<core::HostAnswered>;

  void Make(const HostKind<Host>& kind, std::set<HostOp> implemented) {
    host_ = kind.make(&sink_, std::move(implemented));
    without_results_ = kind.without_results;
  }
  // Returns the text that ResultOf returns for an answer with this result.
  std::string Expected(HostOp op, const std::string& result) const {
    return without_results_.contains(op) ? "none" : result;
  }
  void Ask(const core::AskHost& ask) { host_->port()->Ask(ask); }
  // Waits until the decider has received `count` calls.
  void AwaitCalls(size_t count) {
    host_->RunUntil([&] { return host_->Heard().size() >= count; });
    ASSERT_EQ(host_->Heard().size(), count);
  }
  // Waits until the core has received `count` answers.
  void AwaitAnswers(size_t count) {
    host_->RunUntil([&] { return Answered().size() >= count; });
    ASSERT_EQ(Answered().size(), count);
  }
  Answers Answered() const { return sink_.template All<core::HostAnswered>(); }
  // Makes another call, which succeeds. All messages that were in flight before
  // have then arrived.
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

// ----------------------------------------------------------- every host ---

// One instance for each operation of each host.
class HostContract
    : public testing::TestWithParam<std::tuple<HostKind<PlayedHost>, HostOp>>,
      public HostContractBase<PlayedHost> {
 protected:
  HostOp op() const { return std::get<1>(GetParam()); }
  void Start() { Make(std::get<0>(GetParam()), {op()}); }
};

TEST_P(HostContract, ACallIsAnsweredOnceWithTheDecision) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  EXPECT_TRUE(Answered().empty());
  host_->Answer(0, kSuccess, "because");
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kSuccess);
  EXPECT_EQ(ResultOf(Answered()[0]), Expected(op(), "because"));
}

TEST_P(HostContract, AnErrorOfTheDeciderIsTheStatusOfTheAnswer) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  host_->Answer(0, kErrOutOfResource, "why");
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kErrOutOfResource);
}

TEST_P(HostContract, TheDeciderGetsTheCallersIdentity) {
  Start();
  core::AskHost ask = ContractAsk(1, op());
  Ask(ask);
  AwaitCalls(1);
  const HeardCall heard = host_->Heard()[0];
  EXPECT_EQ(heard.source, ask.source);
  EXPECT_EQ(heard.uid, ask.uid);
  EXPECT_EQ(heard.gid, ask.gid);
}

// The tests of hosts to which a call may be repeated.
class IdentityContract : public HostContract {};

TEST_P(IdentityContract, ARepeatedCallKeepsItsIdentity) {
  Start();
  core::AskHost ask = ContractAsk(1, op());
  Ask(ask);
  AwaitCalls(1);
  const HeardCall heard = host_->Heard()[0];
  // First, a restarted agent repeats the call. Then come the next call of the
  // same process and the first call of another process.
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

TEST_P(HostContract, OperationsWithoutImplementationAreNotSupported) {
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

TEST_P(HostContract, AnswersMayArriveInAnyOrder) {
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

TEST_P(HostContract, DropJobEndsOnlyTheCallsOfThatJob) {
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

TEST_P(HostContract, ADestroyedHostAnswersNoCall) {
  Start();
  Ask(ContractAsk(1, op()));
  AwaitCalls(1);
  host_->Destroy();
  host_->Answer(0, kSuccess, "late");
  int rounds = 0;
  host_->RunUntil([&] { return ++rounds > 3; });
  EXPECT_TRUE(Answered().empty());
}

TEST_P(HostContract, ToolsAreServedByDefault) {
  Start();
  std::vector<Status> told;
  host_->port()->AskAboutTool(
      {{"tool", 0}, 10, 20, false},
      [&told](const Status& status) { told.push_back(status); });
  host_->RunUntil([&] { return !told.empty(); });
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].ok());
  EXPECT_TRUE(host_->Heard().empty());
}

// ----------------------------------------- hosts with a separate decider ---

// Hosts with an external decider, which may take too long.
class LateHostContract : public testing::TestWithParam<HostKind<PlayedHost>>,
                         public HostContractBase<PlayedHost> {};

TEST_P(LateHostContract, ACallToASilentDeciderEndsAtItsTimeout) {
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

// --------------------------------------- hosts with a remote decider ---

// Hosts whose deciders are separate programs.
class RemoteHostContract
    : public testing::TestWithParam<HostKind<RemotePlayedHost>>,
      public HostContractBase<RemotePlayedHost> {
 protected:
  static constexpr HostOp kOp = HostOp::kAllocate;
  void Start() { Make(GetParam(), {kOp}); }
};

TEST_P(RemoteHostContract, TimedOutCallsAndCallsOfEndedJobsAreCancelled) {
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

TEST_P(RemoteHostContract, AnAbsentDeciderIsUnreachableAfterTheTimeout) {
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

TEST_P(RemoteHostContract, AReturningDeciderGetsTheCallAgainWithItsIdentity) {
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

TEST_P(RemoteHostContract, AMalformedAnswerFailsOnlyItsCall) {
  Start();
  Ask(ContractAsk(1, kOp));
  AwaitCalls(1);
  host_->AnswerMalformed(0);
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].number, 1u);
  EXPECT_EQ(Answered()[0].status, kErrUnpackFailure);
  ExpectServed(2, kOp);
}

TEST_P(RemoteHostContract, AFailureOfTheDeciderFailsOnlyItsCall) {
  Start();
  Ask(ContractAsk(1, kOp));
  AwaitCalls(1);
  host_->Fail(0);
  AwaitAnswers(1);
  EXPECT_EQ(Answered()[0].status, kErrServerFailedRequest);
  ExpectServed(2, kOp);
}

TEST_P(RemoteHostContract, AMalformedCallIsNotSentToTheDecider) {
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

// The names of instances: the name of the kind and the number of the operation.
inline std::string HostContractName(
    const testing::TestParamInfo<HostContract::ParamType>& info) {
  return std::get<0>(info.param).name + "Slot" +
         std::to_string(static_cast<int>(std::get<1>(info.param)));
}

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_HOST_CONTRACT_TESTING_H_
