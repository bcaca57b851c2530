// The output that simulated processes write, and the output that pullers have
// read.
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

// A process, and one of its channels.
using OutputStream = std::pair<Rank, uint16_t>;

// The output of one job. The text of a stream depends on the position.
class WrittenOutput {
 public:
  // Returns the next `size` bytes of a stream.
  std::string Write(const OutputStream& stream, uint64_t size);
  uint64_t Size(const OutputStream& stream) const;
  std::string Text(const OutputStream& stream, uint64_t begin,
                   uint64_t end) const;
  // Returns the number of bytes of these channels of these ranks (empty: all).
  uint64_t Total(uint16_t channels, const std::set<Rank>& ranks) const;

 private:
  std::map<OutputStream, uint64_t> sizes_;
};

// The output that one puller has read: for each stream some of its bytes, in
// order, and no byte twice.
class ReadOutput {
 public:
  // `written` outlives this object.
  explicit ReadOutput(const WrittenOutput& written) : written_(written) {}

  // Adds a piece. Returns the error in it; empty if there is none.
  std::string Add(const OutputPiece& piece);
  uint64_t bytes() const { return bytes_; }
  bool IsClosed(const OutputStream& stream) const {
    return closed_.contains(stream);
  }

 private:
  const WrittenOutput& written_;
  std::map<OutputStream, uint64_t> next_;  // next position
  std::set<OutputStream> closed_;
  uint64_t bytes_ = 0;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_PULLED_OUTPUT_H_
