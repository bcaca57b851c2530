// What simulated processes write, and what pullers have of it.
#ifndef CANOPY_TESTS_SIM_PULLED_OUTPUT_H_
#define CANOPY_TESTS_SIM_PULLED_OUTPUT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/ids.h"
#include "common/iof_call.h"

namespace canopy::sim {

// A process and a channel of it.
using OutputStream = std::pair<Rank, uint16_t>;

// The output of one job. What is at a position of a stream follows from both.
class WrittenOutput {
 public:
  // The next bytes of a stream.
  std::string Write(const OutputStream& stream, uint64_t size);
  uint64_t Size(const OutputStream& stream) const;
  std::string Text(const OutputStream& stream, uint64_t begin,
                   uint64_t end) const;
  // Bytes of these channels of these ranks; none: of all.
  uint64_t Total(uint16_t channels, const std::set<Rank>& ranks) const;

 private:
  std::map<OutputStream, uint64_t> sizes_;
};

// What one puller has of it: of each stream some of its bytes, in their order,
// and none of them twice.
class ReadOutput {
 public:
  // The job's output outlives it.
  explicit ReadOutput(const WrittenOutput& written) : written_(written) {}

  // What is wrong with it; empty: nothing.
  std::string Add(const OutputPiece& piece);
  uint64_t bytes() const { return bytes_; }
  bool IsClosed(const OutputStream& stream) const {
    return closed_.contains(stream);
  }

 private:
  const WrittenOutput& written_;
  std::map<OutputStream, uint64_t> next_;  // position
  std::set<OutputStream> closed_;
  uint64_t bytes_ = 0;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_PULLED_OUTPUT_H_
