#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "server/host/embedded_placement.h"
#include "server/ports/placement_contract_testing.h"

namespace canopy::host {
namespace {

// A port that decides within each call.
class PlayedEmbeddedPlacement : public PlayedPlacement {
 public:
  PlacementPort* port() override { return port_.get(); }
  void GrantAll() override {}
  void RunUntil(const std::function<bool()>& done) override { done(); }
  void Destroy() override { port_.reset(); }

 private:
  EventLoop loop_;
  std::unique_ptr<EmbeddedPlacement> port_ =
      std::make_unique<EmbeddedPlacement>(&loop_);
};

const PlacementKind<PlayedPlacement> kEmbedded{
    "Embedded",
    [](bool) { return std::make_unique<PlayedEmbeddedPlacement>(); }};

}  // namespace
}  // namespace canopy::host

namespace canopy {

INSTANTIATE_TEST_SUITE_P(Embedded, PlacementContract,
                         testing::Values(host::kEmbedded),
                         PlacementContractName());

}  // namespace canopy
