// JSON documents that commands print with -o json (docs/json.md). The members
// of an object keep the order in which they were added.
#ifndef CANOPY_CLIENT_CLI_BASE_JSON_H_
#define CANOPY_CLIENT_CLI_BASE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "common/status.h"

namespace canopy::cli {

using Json = nlohmann::ordered_json;

// Returns the document as indented text that ends with a line feed. Bytes that
// are not UTF-8 are replaced.
std::string DocumentText(const Json& document);
// Returns the document on one line, for commands that print several documents.
std::string LineText(const Json& document);

// Returns the text, or null if it is empty.
Json TextOrNull(const std::string& text);

// Parses a document that another program of Canopy has printed. Returns
// kErrUnpackFailure if the text is not JSON.
Result<Json> ParseDocument(const std::string& text);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_JSON_H_
