#include "server/host/embedded_host.h"

#include <gtest/gtest.h>

#include <variant>

#include "server/ports/fake_sink.h"

namespace canopy::host {
namespace {

core::AskHost Request(uint64_t number, HostOp op) {
  core::AskHost request;
  request.number = number;
  request.op = op;
  return request;
}

TEST(EmbeddedHost, TheDecidersAnswerBecomesTheAnswerToTheCall) {
  FakeSink sink;
  EmbeddedHost host(&sink);
  EmbeddedHost::Answer later;
  host.Decide(HostOp::kLog,
              [&](const core::AskHost& request, EmbeddedHost::Answer answer) {
                EXPECT_EQ(request.number, 7u);
                later = std::move(answer);
              });
  host.Ask(Request(7, HostOp::kLog));
  EXPECT_TRUE(sink.inputs.empty());
  later(Status(), Bytes(std::string("results")));
  ASSERT_EQ(sink.inputs.size(), 1u);
  const auto& answered = std::get<core::HostAnswered>(sink.inputs[0]);
  EXPECT_EQ(answered.number, 7u);
  EXPECT_EQ(answered.status, kSuccess);
  EXPECT_EQ(answered.results.view(), "results");
}

TEST(EmbeddedHost, AnOperationWithoutADeciderIsNotSupported) {
  FakeSink sink;
  EmbeddedHost host(&sink);
  host.Ask(Request(1, HostOp::kAllocate));
  ASSERT_EQ(sink.inputs.size(), 1u);
  EXPECT_EQ(std::get<core::HostAnswered>(sink.inputs[0]).status,
            kErrNotSupported);
}

TEST(EmbeddedHost, Job13OnlyTheDeciderOfTheOperationGetsTheCall) {
  FakeSink sink;
  EmbeddedHost host(&sink);
  int monitors = 0;
  int others = 0;
  host.Decide(
      HostOp::kMonitor,
      [&](const core::AskHost&, const EmbeddedHost::Answer&) { ++monitors; });
  for (const HostOp op : {HostOp::kAllocate, HostOp::kLog}) {
    host.Decide(op, [&](const core::AskHost&, const EmbeddedHost::Answer&) {
      ++others;
    });
  }
  host.Ask(Request(1, HostOp::kMonitor));
  EXPECT_EQ(monitors, 1);
  EXPECT_EQ(others, 0);
}

TEST(EmbeddedHost, DropJobCallsEveryDropFunction) {
  FakeSink sink;
  EmbeddedHost host(&sink);
  std::vector<std::string> dropped;
  for (int i = 0; i < 2; ++i) {
    host.OnDrop([&](const std::string& nspace) { dropped.push_back(nspace); });
  }
  host.DropJob("job");
  EXPECT_EQ(dropped, (std::vector<std::string>{"job", "job"}));
}

}  // namespace
}  // namespace canopy::host
