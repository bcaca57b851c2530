#include "server/facts/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "common/string_util.h"

namespace canopy::facts {
std::string ReadProcFile(const std::string& path, size_t max) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  text.resize(max);
  size_t size = 0;
  ssize_t got = 1;
  while (size < max && got > 0) {
    got = read(fd, text.data() + size, max - size);
    if (got > 0) size += static_cast<size_t>(got);
  }
  close(fd);
  text.resize(size);
  return text;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  return WordsOf(text, "\n");
}

uint64_t NumberIn(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ec == std::errc() ? number
                                                                     : 0;
}

std::optional<uint64_t> NumberOf(std::string_view text, std::string_view name) {
  for (const std::string_view line : LinesOf(text)) {
    const bool is_it = line.size() > name.size() && line.starts_with(name) &&
                       line[name.size()] == ':';
    if (!is_it) continue;
    const auto words = WordsOf(line.substr(name.size() + 1));
    if (words.empty()) return std::nullopt;
    return NumberIn(words[0]);
  }
  return std::nullopt;
}

}  // namespace canopy::facts
