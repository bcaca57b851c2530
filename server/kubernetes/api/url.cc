#include "server/kubernetes/api/url.h"

#include <algorithm>

namespace canopy::kubernetes {
namespace {

bool IsUnreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string UrlEscaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      escaped += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

std::string WithQuery(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& values) {
  std::string url = path;
  char separator = '?';
  for (const auto& [name, value] : values) {
    if (value.empty()) continue;
    url += separator + name + "=" + UrlEscaped(value);
    separator = '&';
  }
  return url;
}

bool IsUrlPath(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace canopy::kubernetes
