#include "server/kubernetes/api/token_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "common/posix/unique_fd.h"
#include "common/string_util.h"

namespace canopy::kubernetes {
namespace {

constexpr size_t kMaxToken = 16 * 1024;  // bytes

std::string ReadBeginning(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text(kMaxToken, '\0');
  ssize_t length = -1;
  do {
    length = read(fd.get(), text.data(), text.size());
  } while (length < 0 && errno == EINTR);
  text.resize(std::max<ssize_t>(length, 0));
  return text;
}

// The token becomes part of a header of HTTP.
bool IsToken(std::string_view text) {
  return !text.empty() && text.size() < kMaxToken &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

const std::string& TokenFile::Token(int64_t now_ns) {
  if (!is_read_ || now_ns - read_ns_ >= kMaxAgeNs) Read(now_ns);
  return token_;
}

bool TokenFile::Renew(const std::string& rejected, int64_t now_ns) {
  Read(now_ns);
  return token_ != rejected;
}

void TokenFile::Read(int64_t now_ns) {
  is_read_ = true;
  read_ns_ = now_ns;
  if (path_.empty()) return;
  const std::string text = ReadBeginning(path_);
  if (const std::string_view token = Trim(text); IsToken(token)) token_ = token;
}

}  // namespace canopy::kubernetes
