#include "tests/sim/pulled_output.h"

#include <string_view>

#include "tests/sim/oracle.h"

namespace canopy::sim {
namespace {

// Returns the position of a stream's first byte in the text of all streams.
uint64_t OriginOf(const OutputStream& stream) {
  constexpr uint64_t kApart = 10'000'019;
  constexpr uint64_t kChannels = 16;
  return (stream.first * kChannels + stream.second) * kApart;
}

std::string NameOf(const OutputStream& stream) {
  return "channel " + std::to_string(stream.second) + " of rank " +
         std::to_string(stream.first);
}

}  // namespace

std::string WrittenOutput::Write(const OutputStream& stream, uint64_t size) {
  uint64_t& end = sizes_[stream];
  end += size;
  return Text(stream, end - size, end);
}

uint64_t WrittenOutput::Size(const OutputStream& stream) const {
  const auto known = sizes_.find(stream);
  return known == sizes_.end() ? 0 : known->second;
}

std::string WrittenOutput::Text(const OutputStream& stream, uint64_t begin,
                                uint64_t end) const {
  const uint64_t origin = OriginOf(stream);
  return InputText(origin + begin, origin + end);
}

uint64_t WrittenOutput::Total(uint16_t channels,
                              const std::set<Rank>& ranks) const {
  uint64_t total = 0;
  for (const auto& [stream, size] : sizes_) {
    const bool wanted = (stream.second & channels) != 0 &&
                        (ranks.empty() || ranks.contains(stream.first));
    total += wanted ? size : 0;
  }
  return total;
}

std::string ReadOutput::Add(const OutputPiece& piece) {
  const OutputStream stream{piece.rank, piece.channel};
  if (closed_.contains(stream)) {
    return (piece.data.empty() ? "another end of "
                               : "output after the end of ") +
           NameOf(stream);
  }
  if (piece.data.empty()) {
    closed_.insert(stream);
    return "";
  }
  uint64_t& next = next_[stream];
  const std::string left = written_.Text(stream, next, written_.Size(stream));
  const size_t at = left.find(piece.data.view());
  if (at == std::string::npos) {
    return "output of " + NameOf(stream) + " that does not follow " +
           std::to_string(next);
  }
  next += at + piece.data.size();
  bytes_ += piece.data.size();
  return "";
}

}  // namespace canopy::sim
