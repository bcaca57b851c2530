#include "client/cli/base/table.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace canopy::cli {
namespace {

// Counts characters as a terminal shows them: UTF-8 continuation bytes and the
// sequences of colours have no width.
size_t Width(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

}  // namespace

Table::Table(std::vector<std::string> heads) { Add(std::move(heads)); }

void Table::Add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string Table::ToString(const std::string& indent) const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Width(row[i]) + 2, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string AgeText(uint64_t seconds) {
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + " min";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " d";
}

std::string Count(uint64_t n, const std::string& what) {
  const bool sibilant = what.ends_with("s");
  return std::to_string(n) + " " + what + (n == 1 ? "" : sibilant ? "es" : "s");
}

}  // namespace canopy::cli
