// Bytes as text in base64, RFC 4648, with padding.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_BASE64_H_
#define CANOPY_CLIENT_CLI_CONTEXT_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy::cli {

std::string Base64(std::string_view bytes);

// Returns no value if the text is anything else than what Base64 returns.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_BASE64_H_
