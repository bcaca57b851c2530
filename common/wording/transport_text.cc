#include "common/wording/transport_text.h"

#include <algorithm>
#include <array>

namespace canopy {
namespace {

using std::string_view_literals::operator""sv;

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// The beginnings of messages about connections that have ended.
constexpr std::array kClosed = {
    "Socket closed"sv,      "Stream removed"sv, "Endpoint read failed"sv,
    "GOAWAY received"sv,    "recvmsg:"sv,       "sendmsg:"sv,
    "Connection reset"sv,   "Broken pipe"sv,    "Transport closed"sv,
    "keepalive watchdog"sv, "Endpoint write"sv, "Connection closed"sv,
};

// Returns the innermost cause of a message that contains nested causes: the
// text after its last colon.
std::string Innermost(std::string_view message) {
  if (message.ends_with('.')) message.remove_suffix(1);
  message.remove_prefix(message.rfind(':') + 1);
  message.remove_prefix(
      std::min(message.find_first_not_of(' '), message.size()));
  return std::string(message);
}

}  // namespace

std::string TransportText(std::string_view message) {
  constexpr std::string_view kRemote = "Failed to connect to remote host: ";
  const size_t at = message.rfind(kRemote);
  if (at != std::string_view::npos) {
    return std::string(message.substr(at + kRemote.size()));
  }
  if (Has(message, "DNS resolution failed")) return "its name is unknown";
  const bool connects =
      message.starts_with("failed to connect to all addresses");
  if (connects && (Has(message, "andshake") || Has(message, "eer name"))) {
    return "the TLS handshake failed: " + Innermost(message);
  }
  if (connects) return "no connection";
  if (message == "Deadline Exceeded") return "no answer in time";
  const bool closed = std::ranges::any_of(
      kClosed, [message](auto begin) { return message.starts_with(begin); });
  return closed ? "the connection was closed" : std::string(message);
}

}  // namespace canopy
