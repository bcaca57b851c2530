// Floating point as text, in the same spelling under every locale.
#ifndef CANOPY_COMMON_CODEC_DECIMAL_H_
#define CANOPY_COMMON_CODEC_DECIMAL_H_

#include <optional>
#include <string>

namespace canopy {

// The shortest text found that reads back as exactly `v`: at least what
// printf's %f gives peers that expect it when that is exact.
std::string FormatFloat(float v);
std::string FormatDouble(double v);

// Reads decimal or hexadecimal text, "inf" or "nan"; nothing when `text`
// (terminated) is not entirely a number. Values out of range become infinite.
std::optional<float> ParseFloat(const char* text);
std::optional<double> ParseDouble(const char* text);

}  // namespace canopy

#endif  // CANOPY_COMMON_CODEC_DECIMAL_H_
