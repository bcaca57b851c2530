// Floating point numbers as text, in the same spelling under every locale.
#ifndef CANOPY_COMMON_CODEC_DECIMAL_H_
#define CANOPY_COMMON_CODEC_DECIMAL_H_

#include <optional>
#include <string>

namespace canopy {

// Return the shortest text found that reads back as exactly `v`. It is printf's
// %f if that is exact, because some peers expect it.
std::string FormatFloat(float v);
std::string FormatDouble(double v);

// Read decimal or hexadecimal text, "inf" or "nan". Return no value if `text`,
// which must be terminated, is not entirely a number. A value out of range
// becomes infinite.
std::optional<float> ParseFloat(const char* text);
std::optional<double> ParseDouble(const char* text);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_DECIMAL_H_
