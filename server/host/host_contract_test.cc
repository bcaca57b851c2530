// The agent's own host, with deciders that the test plays.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/infos.h"
#include "common/host_op.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "server/host/embedded_host.h"
#include "server/ports/host_contract_testing.h"

namespace canopy::host {
namespace {

class PlayedEmbeddedHost : public PlayedHost {
 public:
  PlayedEmbeddedHost(InputSink* sink, const std::set<HostOp>& implemented)
      : host_(std::make_unique<EmbeddedHost>(sink)) {
    for (const HostOp op : implemented) {
      host_->Decide(
          op, [this](const core::AskHost& ask, EmbeddedHost::Answer answer) {
            heard_.push_back(
                {ask.source, ask.uid, ask.gid,
                 ToString(ask.source) + "." + std::to_string(ask.request)});
            answers_.push_back(std::move(answer));
          });
    }
  }

  HostPort* port() override { return host_.get(); }
  std::vector<HeardCall> Heard() override { return heard_; }
  void Answer(size_t call, int status, const std::string& result) override {
    InfoList results;
    results.Add("test.result", Value::String(result));
    std::string bytes;
    EXPECT_EQ(EncodeInfos(results.data(), results.size(), &bytes), kSuccess);
    answers_.at(call)(Status(status, ""), Bytes(std::move(bytes)));
  }
  // All effects occur within calls, so there is nothing to wait for.
  void RunUntil(const std::function<bool()>& done) override { done(); }
  void Destroy() override { host_.reset(); }

 private:
  std::unique_ptr<EmbeddedHost> host_;
  std::vector<HeardCall> heard_;
  std::vector<EmbeddedHost::Answer> answers_;
};

const HostKind<PlayedHost> kEmbedded{
    "Embedded", [](InputSink* sink, std::set<HostOp> implemented) {
      return std::make_unique<PlayedEmbeddedHost>(sink, implemented);
    }};

}  // namespace
}  // namespace canopy::host

namespace canopy {

INSTANTIATE_TEST_SUITE_P(Embedded, HostContract,
                         testing::Combine(testing::Values(host::kEmbedded),
                                          testing::ValuesIn(AllHostOps())),
                         HostContractName);
INSTANTIATE_TEST_SUITE_P(Embedded, IdentityContract,
                         testing::Combine(testing::Values(host::kEmbedded),
                                          testing::ValuesIn(AllHostOps())),
                         HostContractName);

}  // namespace canopy
