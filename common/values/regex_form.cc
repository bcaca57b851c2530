#include <climits>
#include <cstring>

#include "common/values/element_ops.h"

namespace canopy {
namespace {

// Returns the length of a blob at the front of `in`, or 0 if there is none. A
// blob consists of "blob", its method and its decimal size, each terminated, a
// colon, and that number of bytes.
size_t MeasureBlob(std::string_view in) {
  const size_t method = in.find('\0');
  const size_t digits = in.find('\0', method + 1) + 1;
  if (digits == 0) return 0;
  size_t at = digits;
  size_t size = 0;
  for (; at < in.size() && in[at] >= '0' && in[at] <= '9'; ++at) {
    size = size * 10 + static_cast<size_t>(in[at] - '0');
    if (size > in.size()) return 0;
  }
  if (at == digits) return 0;
  if (at < in.size() && in[at] == '\0') ++at;
  if (at < in.size() && in[at] == ':') ++at;
  return size <= in.size() - at ? at + size : 0;
}

}  // namespace

size_t MeasureRegex(std::string_view in) {
  const size_t end = in.find('\0');
  if (end == std::string_view::npos) return 0;
  if (in.substr(0, end) == "blob") return MeasureBlob(in);
  return in.starts_with("pmix") || in.starts_with("raw:") ? end + 1 : 0;
}

size_t RegexLength(const char* regex) {
  if (regex == nullptr) return 0;
  if (strcmp(regex, "blob") != 0) return strlen(regex) + 1;
  // This call finds out the length, so the view has no known end, but
  // MeasureBlob reads no further than the header requires.
  return MeasureBlob(
      std::string_view(regex, PTRDIFF_MAX));  // NOLINT(bugprone-string*)
}

}  // namespace canopy
