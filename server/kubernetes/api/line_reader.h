// Lines of a stream, with a limit on their length.
#ifndef CANOPY_SERVER_KUBERNETES_API_LINE_READER_H_
#define CANOPY_SERVER_KUBERNETES_API_LINE_READER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace canopy::kubernetes {

class LineReader {
 public:
  enum class Next { kLine, kIncomplete, kTooLong };

  // `max` is the limit on the length of a line, in bytes.
  explicit LineReader(size_t max) : max_(max) {}

  void Append(std::string_view piece);
  // Takes the next line, without its end. Empty lines are skipped. The view is
  // valid until the next call of Append. After kTooLong, the reader is not used
  // any more.
  Next Take(std::string_view* line);

 private:
  size_t max_;
  std::string received_;
  size_t begin_ = 0;    // of the next line
  size_t scanned_ = 0;  // the end of the part that has no further end of a line
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_LINE_READER_H_
