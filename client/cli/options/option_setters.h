// Setters for the common kinds of options: flag, text, number and choice.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/options/option_parser.h"
#include "common/status.h"

namespace canopy::cli {

// `to` must outlive the result. All setters except those of flags store the
// first value.
Option::Apply SetFlag(bool* to, bool value = true);
Option::Apply SetText(std::string* to);
// Accepts a number from `min` to `max` and multiplies it by `scale`; the
// product must fit into 32 bits.
Option::Apply SetNumber(uint32_t* to, uint32_t min, uint32_t max,
                        uint32_t scale = 1);
// Accepts a duration (common/duration_text.h) from `min` to `max` seconds.
// SetMilliseconds stores milliseconds. SetSeconds stores seconds, rounded up.
Option::Apply SetMilliseconds(uint32_t* to, uint32_t min, uint32_t max);
Option::Apply SetSeconds(uint32_t* to, uint32_t min, uint32_t max);
// Accepts a size such as 512M or 4G (K, M, G and T are powers of 1024; a plain
// number is MiB, as in srun), and stores bytes: more than 0, at most 2^50.
Option::Apply SetBytes(uint64_t* to);
// Accepts one of `words`.
Option::Apply SetOneOf(std::string* to, std::vector<std::string_view> words);
// Stores `value`, for an option without a value of its own.
Option::Apply SetTo(std::string* to, std::string value);
// Accepts ranks and ranges such as "0,2-5"; the result is in ascending order.
Option::Apply SetRanks(std::vector<uint32_t>* to);
// Accepts "json" or "text".
Option::Apply SetFormat(bool* json);

// Returns the error for an invalid first value; `wanted` describes the valid
// ones.
Status WrongValue(const TypedOption& typed, const std::string& wanted);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_
