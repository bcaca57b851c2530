#include "common/duration_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "common/string_util.h"

namespace canopy {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kSecond = 1000;
constexpr uint32_t kMinute = 60 * kSecond;
constexpr uint32_t kHour = 60 * kMinute;
constexpr uint32_t kDay = 24 * kHour;

struct Unit {
  std::string_view name;
  uint32_t ms;
};
// A unit whose name ends with the name of another unit precedes that unit: "ms"
// is before "s".
constexpr Unit kUnits[] = {
    {"ms", 1}, {"s", kSecond}, {"m", kMinute}, {"h", kHour}, {"d", kDay}};

std::optional<milliseconds> Bounded(uint64_t ms) {
  const milliseconds result(ms);
  if (result > kLongestDuration) return std::nullopt;
  return result;
}

// Returns the part of `unit_ms` that the digits after a point stand for.
std::optional<uint64_t> Fraction(std::string_view digits, uint64_t unit_ms) {
  uint64_t sum = 0;
  uint64_t weight = unit_ms * kSecond;  // in microseconds
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    weight /= 10;
    sum += weight * static_cast<uint64_t>(c - '0');
  }
  return sum / kSecond;
}

// Parses digits with an optional fraction, in units of `unit_ms`.
std::optional<milliseconds> Scaled(std::string_view number, uint64_t unit_ms) {
  const size_t point = number.find('.');
  const std::string_view whole_text = number.substr(0, point);
  // ".5" is a number, "." is not.
  const bool bare = point == 0 && number.size() > 1;
  const auto whole =
      bare ? std::optional<uint32_t>(0) : ParseNumber(whole_text);
  if (!whole) return std::nullopt;
  const auto part = Fraction(
      point == std::string_view::npos ? "" : number.substr(point + 1), unit_ms);
  if (!part) return std::nullopt;
  return Bounded(*whole * unit_ms + *part);
}

// Adds up the parts of a clock. The unit of the first part is `unit_ms`; the
// unit of each later part is a sixtieth of the unit before.
std::optional<milliseconds> Clock(std::string_view text, uint64_t unit_ms) {
  uint64_t sum = 0;
  bool first = true;
  for (const std::string& part : Split(text, ':')) {
    const auto number = ParseNumber(part);
    if (!number || (!first && *number >= 60)) return std::nullopt;
    sum += *number * unit_ms;
    unit_ms /= 60;
    first = false;
  }
  return Bounded(sum);
}

size_t Colons(std::string_view text) { return Split(text, ':').size() - 1; }

}  // namespace

std::optional<milliseconds> ParseDuration(std::string_view text) {
  const size_t colons = Colons(text);
  if (colons > 2) return std::nullopt;
  if (colons > 0) return Clock(text, colons == 2 ? kHour : kMinute);
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    return Scaled(text.substr(0, text.size() - unit.name.size()), unit.ms);
  }
  return Scaled(text, kSecond);
}

std::optional<milliseconds> ParseSlurmDuration(std::string_view text) {
  const size_t dash = text.find('-');
  const std::string_view clock =
      dash == std::string_view::npos ? text : text.substr(dash + 1);
  const size_t colons = Colons(clock);
  if (colons > 2) return std::nullopt;
  if (dash == std::string_view::npos) {
    return Clock(clock, colons == 2 ? kHour : kMinute);
  }
  const auto days = ParseNumber(text.substr(0, dash));
  const auto rest = Clock(clock, kHour);
  if (!days || !rest) return std::nullopt;
  return Bounded(uint64_t{*days} * kDay + static_cast<uint64_t>(rest->count()));
}

}  // namespace canopy
