// What most options do: they set a flag, a text, a number or one of some words.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/options/option_parser.h"
#include "common/status.h"

namespace canopy::cli {

// `to` must outlive the result. What is set is the first value, but for flags.
Option::Apply SetFlag(bool* to, bool value = true);
Option::Apply SetText(std::string* to);
// A number from `min` to `max`, in units of `scale`, whose product must fit.
Option::Apply SetNumber(uint32_t* to, uint32_t min, uint32_t max,
                        uint32_t scale = 1);
Option::Apply SetOneOf(std::string* to, std::vector<std::string_view> words);
// The text that the option stands for by itself.
Option::Apply SetTo(std::string* to, std::string value);
// Ranks and ranges of them, such as "0,2-5", in ascending order.
Option::Apply SetRanks(std::vector<uint32_t>* to);
// "json" or "text".
Option::Apply SetFormat(bool* json);

// What is wrong with the first value.
Status WrongValue(const TypedOption& typed, const std::string& wanted);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OPTION_SETTERS_H_
