// Stands in for the core in tests of adapters; records their inputs.
#ifndef CANOPY_SERVER_PORTS_FAKE_SINK_H_
#define CANOPY_SERVER_PORTS_FAKE_SINK_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/step/input.h"
#include "server/ports/input_sink.h"

namespace canopy {

class FakeSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    inputs.push_back(std::move(input));
  }
  void Drain() override {
    while (drained_ < inputs.size()) {
      const core::Input input = inputs[drained_++];
      if (on_input) on_input(input);
    }
  }

  // Returns the inputs of one type, in order.
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const core::Input& input : inputs) {
      if (const T* t = std::get_if<T>(&input)) all.push_back(*t);
    }
    return all;
  }

  std::vector<core::Input> inputs;
  // Called by Drain with each input, as the core would be. Tests that use it
  // must not remove elements of `inputs`.
  std::function<void(const core::Input&)> on_input;

 private:
  size_t drained_ = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FAKE_SINK_H_
