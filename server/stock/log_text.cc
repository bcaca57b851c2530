#include "server/stock/log_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::stock {
namespace {

constexpr size_t kMaxLines = 64;
constexpr size_t kMaxLine = 1024;

constexpr std::array<std::string_view, 6> kTextKeys = {
    PMIX_LOG_STDERR,       PMIX_LOG_STDOUT,        PMIX_LOG_SYSLOG,
    PMIX_LOG_LOCAL_SYSLOG, PMIX_LOG_GLOBAL_SYSLOG, PMIX_LOG_MSG,
};

// Say how, not where.
constexpr std::array<std::string_view, 8> kModifiers = {
    PMIX_LOG_SOURCE,     PMIX_LOG_TIMESTAMP,        PMIX_LOG_GENERATE_TIMESTAMP,
    PMIX_LOG_TAG_OUTPUT, PMIX_LOG_TIMESTAMP_OUTPUT, PMIX_LOG_XML_OUTPUT,
    PMIX_LOG_ONCE,       PMIX_LOG_SYSLOG_PRI,
};

std::string Printable(std::string_view text) {
  std::string line(text.substr(0, kMaxLine));
  std::ranges::replace_if(
      line,
      [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
      },
      '?');
  return line;
}

// False when there is no room.
bool AddLines(std::string_view text, std::vector<std::string>* lines) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      if (lines->size() >= kMaxLines) return false;
      lines->push_back(Printable(text.substr(0, end)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace

int LinesToLog(const InfoList& data, std::vector<std::string>* lines) {
  size_t logged = 0;
  bool all = true;
  for (const pmix_info_t& info : data) {
    if (std::ranges::find(kModifiers, KeyOf(info)) != kModifiers.end()) {
      continue;
    }
    const auto text = StringOf(info.value);
    if (!text || std::ranges::find(kTextKeys, KeyOf(info)) == kTextKeys.end()) {
      all = false;
      if ((info.flags & PMIX_INFO_REQD) != 0) return kErrNotSupported;
      continue;
    }
    ++logged;
    all = AddLines(*text, lines) && all;
  }
  if (logged == 0) return kErrNotSupported;
  return all ? kSuccess : kErrPartialSuccess;
}

}  // namespace canopy::stock
