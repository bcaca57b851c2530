#include "server/kubernetes/api/line_reader.h"

#include <utility>

namespace canopy::kubernetes {

void LineReader::Append(std::string_view piece) {
  received_.erase(0, begin_);
  scanned_ -= std::exchange(begin_, 0);
  received_ += piece;
}

LineReader::Next LineReader::Take(std::string_view* line) {
  while (true) {
    const size_t end = received_.find('\n', scanned_);
    const size_t length =
        (end == std::string::npos ? received_.size() : end) - begin_;
    if (length > max_) return Next::kTooLong;
    if (end == std::string::npos) {
      scanned_ = received_.size();
      return Next::kIncomplete;
    }
    *line = std::string_view(received_).substr(begin_, length);
    begin_ = scanned_ = end + 1;
    if (length > 0) return Next::kLine;
  }
}

}  // namespace canopy::kubernetes
