// Protobuf messages as JSON, for programs to read.
#ifndef CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_
#define CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_

#include <string>

#include "common/status.h"

namespace google::protobuf {
class Message;
}

namespace canopy::cli {

// Returns indented JSON with the field names of the .proto files, including
// fields with default values. The text ends with a line feed.
std::string JsonText(const google::protobuf::Message& message);

// Parses JSON into `message`; unknown fields are ignored.
Status FromJsonText(const std::string& text,
                    google::protobuf::Message* message);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_
