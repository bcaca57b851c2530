// An InputSink for tests that has no core behind it.
#ifndef CANOPY_SERVER_PORTS_INPUT_SINK_TESTING_H_
#define CANOPY_SERVER_PORTS_INPUT_SINK_TESTING_H_

#include <utility>
#include <variant>
#include <vector>

#include "server/core/step/input.h"
#include "server/ports/input_sink.h"

namespace canopy {

// Records the inputs.
class RecordingSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    inputs.push_back(std::move(input));
  }

  // Returns the inputs of one type, in order.
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> out;
    for (const core::Input& input : inputs) {
      if (const T* t = std::get_if<T>(&input)) out.push_back(*t);
    }
    return out;
  }
  // Removes and returns the inputs of one type, in order.
  template <typename T>
  std::vector<T> Take() {
    std::vector<T> out = All<T>();
    std::erase_if(inputs, [](const core::Input& input) {
      return std::holds_alternative<T>(input);
    });
    return out;
  }

  std::vector<core::Input> inputs;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_INPUT_SINK_TESTING_H_
