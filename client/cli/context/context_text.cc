#include "client/cli/context/context_text.h"

#include <google/protobuf/util/json_util.h>

namespace canopy::cli {

std::string ContextText(const v1::Context& context) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  // The conversion fails only for a message with text that is not UTF-8.
  if (!google::protobuf::util::MessageToJsonString(context, &out, options)
           .ok()) {
    return "{}\n";
  }
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

Result<v1::Context> ContextOf(const std::string& text) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::Context context;
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, &context, options);
  if (status.ok() && context.members_size() > 0) return context;
  return Status(kErrUnpackFailure, std::string(status.message()));
}

}  // namespace canopy::cli
