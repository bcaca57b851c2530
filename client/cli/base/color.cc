#include "client/cli/base/color.h"

#include <string_view>

namespace canopy::cli {
namespace {

bool g_colors = false;

std::string In(const char* code, const std::string& text) {
  if (!g_colors) return text;
  return "\033[" + std::string(code) + "m" + text + "\033[0m";
}

}  // namespace

bool WantsColor(const std::string& when, bool is_terminal,
                const std::function<const char*(const char*)>& environment) {
  if (when == "always") return true;
  if (when == "never" || !is_terminal) return false;
  const char* const no_color = environment("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* const terminal = environment("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

void UseColor(bool use) { g_colors = use; }

std::string Good(const std::string& text) { return In("32", text); }
std::string Warning(const std::string& text) { return In("33", text); }
std::string Bad(const std::string& text) { return In("31", text); }

}  // namespace canopy::cli
