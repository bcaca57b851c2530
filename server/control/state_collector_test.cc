#include "server/control/state_collector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

class StateCollectorTest : public testing::Test {
 protected:
  StateCollectorTest() { collector_.set_sink(&sink_); }
  void Collect(const std::string& what, const std::string& nspace) {
    collector_.Collect(what, nspace, [this](const auto& answers) {
      sizes_.push_back(answers.size());
    });
  }
  void Answer(uint64_t request, bool done) {
    core::StateCollected state;
    state.request = request;
    state.done = done;
    collector_.OnCollected(state);
  }

  RecordingSink sink_;
  StateCollector collector_;
  std::vector<size_t> sizes_;
};

TEST_F(StateCollectorTest, EqualRequestsShareOneCollection) {
  Collect("why", "job");
  Collect("why", "job");
  Collect("why", "other");
  const auto asked = sink_.Take<core::StateRequested>();
  ASSERT_EQ(asked.size(), 2u);
  Answer(asked[0].request, false);
  Answer(asked[0].request, false);
  Answer(asked[0].request, true);
  EXPECT_EQ(sizes_, (std::vector<size_t>{2, 2}));
  Answer(asked[1].request, true);
  EXPECT_EQ(sizes_, (std::vector<size_t>{2, 2, 0}));
}

TEST_F(StateCollectorTest, ALaterRequestIsACollectionOfItsOwn) {
  Collect("status", "");
  Answer(sink_.Take<core::StateRequested>().at(0).request, true);
  Collect("status", "");
  const auto again = sink_.Take<core::StateRequested>();
  ASSERT_EQ(again.size(), 1u);
  Answer(again[0].request, false);
  Answer(again[0].request, true);
  EXPECT_EQ(sizes_, (std::vector<size_t>{0, 1}));
}

}  // namespace
}  // namespace canopy::control
