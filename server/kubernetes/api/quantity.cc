#include "server/kubernetes/api/quantity.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "common/string_util.h"

namespace canopy::kubernetes {
namespace {

struct Suffix {
  std::string_view text;
  int64_t base;
  int exponent;  // of `base`; a negative one divides
};

constexpr Suffix kSuffixes[] = {
    {"", 10, 0},     {"n", 10, -9},   {"u", 10, -6},   {"m", 10, -3},
    {"k", 10, 3},    {"M", 10, 6},    {"G", 10, 9},    {"T", 10, 12},
    {"P", 10, 15},   {"E", 10, 18},   {"Ki", 1024, 1}, {"Mi", 1024, 2},
    {"Gi", 1024, 3}, {"Ti", 1024, 4}, {"Pi", 1024, 5}, {"Ei", 1024, 6}};

// The largest exponent that a number of 64 bits can have.
constexpr uint32_t kMaxExponent = 19;

std::optional<Suffix> ExponentOf(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return {};
  const bool negative = text[1] == '-';
  text.remove_prefix(negative || text[1] == '+' ? 2 : 1);
  const auto exponent = ParseNumber(text, kMaxExponent);
  if (!exponent) return {};
  const int value = static_cast<int>(*exponent);
  return Suffix{"", 10, negative ? -value : value};
}

std::optional<Suffix> SuffixOf(std::string_view text) {
  const auto* found = std::ranges::find(kSuffixes, text, &Suffix::text);
  if (found != std::end(kSuffixes)) return *found;
  return ExponentOf(text);
}

std::optional<int64_t> Scaled(int64_t number, const Suffix& suffix) {
  for (int i = 0; i < suffix.exponent; ++i) {
    if (__builtin_mul_overflow(number, suffix.base, &number)) return {};
  }
  for (int i = suffix.exponent; i < 0; ++i) {
    if (number % suffix.base != 0) return {};
    number /= suffix.base;
  }
  return number;
}

}  // namespace

std::optional<int64_t> WholeQuantity(std::string_view text) {
  int64_t number = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  const auto suffix = SuffixOf(text.substr(end - text.data()));
  return suffix ? Scaled(number, *suffix) : std::nullopt;
}

}  // namespace canopy::kubernetes
