// The text form of contexts, in which they are stored.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_TEXT_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_TEXT_H_

#include <cstddef>
#include <string>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// Files of contexts above this size, in bytes, are not read.
inline constexpr size_t kMaxContextFile = 64u << 20;

// Returns JSON with the field names of context.proto, including fields with
// default values: bytes are base64, and numbers of 64 bits are texts. The text
// ends with a line feed.
std::string ContextText(const v1::Context& context);

// Returns the context that the text describes; unknown fields are ignored.
// Returns kErrUnpackFailure if the text is not a context, or if the context has
// no members.
Result<v1::Context> ContextOf(const std::string& text);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_TEXT_H_
