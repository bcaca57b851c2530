#include "common/codec/decimal.h"

#include <locale.h>
#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace canopy {
namespace {

// Returns the "C" locale. The program may have set another locale for its own
// output.
locale_t PlainLocale() {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

class ScopedPlainLocale {
 public:
  ScopedPlainLocale() : saved_(uselocale(PlainLocale())) {}
  ScopedPlainLocale(const ScopedPlainLocale&) = delete;
  ScopedPlainLocale& operator=(const ScopedPlainLocale&) = delete;
  ~ScopedPlainLocale() { uselocale(saved_); }

 private:
  locale_t saved_;
};

template <typename T>
T Parse(const char* text, char** end) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return strtof_l(text, end, PlainLocale());
  } else {
    return strtod_l(text, end, PlainLocale());
  }
}

template <typename T>
std::string Format(T v, int least_digits, int most_digits) {
  const ScopedPlainLocale plain;
  char text[64];
  if (std::fabs(v) < T{1e15}) {
    snprintf(text, sizeof(text), "%f", static_cast<double>(v));
    if (Parse<T>(text, nullptr) == v) return text;
  }
  for (int digits = least_digits; digits <= most_digits; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(v));
    if (Parse<T>(text, nullptr) == v) break;
  }
  return text;
}

template <typename T>
std::optional<T> ParseAll(const char* text) {
  char* end = nullptr;
  const T value = Parse<T>(text, &end);
  if (end == text || *end != '\0') return std::nullopt;
  return value;
}

}  // namespace

std::string FormatFloat(float v) { return Format(v, 6, 9); }
std::string FormatDouble(double v) { return Format(v, 15, 17); }
std::optional<float> ParseFloat(const char* text) {
  return ParseAll<float>(text);
}
std::optional<double> ParseDouble(const char* text) {
  return ParseAll<double>(text);
}

}  // namespace canopy
