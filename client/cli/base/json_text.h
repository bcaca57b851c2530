// Messages as JSON for programs to read.
#ifndef CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_
#define CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_

#include <string>

#include "common/status.h"

namespace google::protobuf {
class Message;
}

namespace canopy::cli {

// Indented, names as in the .proto files, fields of default value included;
// ends with a line feed.
std::string JsonText(const google::protobuf::Message& message);

// The reverse; unknown fields are left out.
Status FromJsonText(const std::string& text,
                    google::protobuf::Message* message);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_JSON_TEXT_H_
