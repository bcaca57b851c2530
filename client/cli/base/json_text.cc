#include "client/cli/base/json_text.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

namespace canopy::cli {

std::string JsonText(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  // Fails only for messages with text that is not UTF-8.
  if (!google::protobuf::util::MessageToJsonString(message, &out, options)
           .ok()) {
    return "{}\n";
  }
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

Status FromJsonText(const std::string& text,
                    google::protobuf::Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, message, options);
  if (status.ok()) return Status();
  return Status(kErrUnpackFailure, std::string(status.message()));
}

}  // namespace canopy::cli
