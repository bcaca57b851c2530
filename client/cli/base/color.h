// Colours the text that commands print for people.
#ifndef CANOPY_CLIENT_CLI_BASE_COLOR_H_
#define CANOPY_CLIENT_CLI_BASE_COLOR_H_

#include <functional>
#include <string>

namespace canopy::cli {

// Returns true if text is to be coloured. `when` is "always", "never" or
// "auto". With "auto", text is coloured if standard output is a terminal
// (`is_terminal`), unless NO_COLOR is set and not empty, or TERM is not set or
// is "dumb".
bool WantsColor(const std::string& when, bool is_terminal,
                const std::function<const char*(const char*)>& environment);

// Turns colours on or off for this process; they are off at first. Called
// before anything is printed.
void UseColor(bool use);

// Each function returns the text in a colour, or unchanged if colours are off.
std::string Good(const std::string& text);     // green
std::string Warning(const std::string& text);  // yellow
std::string Bad(const std::string& text);      // red

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_COLOR_H_
