// Colours of what commands print for people.
#ifndef CANOPY_CLIENT_CLI_BASE_COLOR_H_
#define CANOPY_CLIENT_CLI_BASE_COLOR_H_

#include <functional>
#include <string>

namespace canopy::cli {

// Decides by "always", "never" or "auto". With "auto", there are colours on a
// terminal, unless the environment has NO_COLOR or TERM is "dumb".
bool WantsColor(const std::string& when, bool is_terminal,
                const std::function<const char*(const char*)>& environment);

// Turns colours on or off for this process; they are off at first. Call it
// before anything is printed.
void UseColor(bool use);

// Return the text in a colour, if colours are on.
std::string Good(const std::string& text);     // green
std::string Warning(const std::string& text);  // yellow
std::string Bad(const std::string& text);      // red

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_COLOR_H_
