#include "common/request/pty_input.h"

#include "common/string_util.h"

namespace canopy {
namespace {

constexpr char kEscape = '\xff';
constexpr char kSize = 'W';
constexpr size_t kSizeLength = 6;

uint16_t Number(std::string_view bytes) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) << 8 |
                               static_cast<uint8_t>(bytes[1]));
}

}  // namespace

std::string PtySizeText(const PtySize& size) {
  return std::to_string(size.rows) + "x" + std::to_string(size.columns);
}

std::optional<PtySize> ParsePtySize(std::string_view text) {
  const size_t x = text.find('x');
  if (x == text.npos) return std::nullopt;
  const auto rows = ParseNumber(text.substr(0, x), UINT16_MAX);
  const auto columns = ParseNumber(text.substr(x + 1), UINT16_MAX);
  if (!rows || !columns) return std::nullopt;
  return PtySize{*rows, *columns};
}

std::string EncodePtyText(std::string_view typed) {
  std::string out;
  for (const char c : typed) {
    out += c;
    if (c == kEscape) out += c;
  }
  return out;
}

std::string EncodePtySize(const PtySize& size) {
  std::string out = {kEscape, kSize};
  for (const uint32_t number : {size.rows, size.columns}) {
    out += static_cast<char>(number >> 8 & 0xff);
    out += static_cast<char>(number & 0xff);
  }
  return out;
}

std::string PtyInputDecoder::Decode(std::string_view piece,
                                    std::optional<PtySize>* size) {
  std::string text;
  for (const char c : piece) {
    if (escape_.empty() && c != kEscape) {
      text += c;
      continue;
    }
    escape_ += c;
    if (escape_.size() < 2) continue;
    if (escape_[1] == kSize && escape_.size() < kSizeLength) continue;
    if (escape_[1] == kEscape) text += kEscape;
    if (escape_[1] == kSize) {
      const std::string_view numbers = std::string_view(escape_).substr(2);
      *size = PtySize{Number(numbers), Number(numbers.substr(2))};
    }
    escape_.clear();
  }
  return text;
}

}  // namespace canopy
