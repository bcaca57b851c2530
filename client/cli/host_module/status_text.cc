#include "client/cli/host_module/status_text.h"

#include <cstddef>
#include <iterator>

namespace canopy::cli {
namespace {

constexpr const char* kCodes[] = {"OK",
                                  "CANCELLED",
                                  "UNKNOWN",
                                  "INVALID_ARGUMENT",
                                  "DEADLINE_EXCEEDED",
                                  "NOT_FOUND",
                                  "ALREADY_EXISTS",
                                  "PERMISSION_DENIED",
                                  "RESOURCE_EXHAUSTED",
                                  "FAILED_PRECONDITION",
                                  "ABORTED",
                                  "OUT_OF_RANGE",
                                  "UNIMPLEMENTED",
                                  "INTERNAL",
                                  "UNAVAILABLE",
                                  "DATA_LOSS",
                                  "UNAUTHENTICATED"};

constexpr size_t kMaxText = 200;

}  // namespace

scheduler::CallEnd EndOf(const grpc::Status& status) {
  return scheduler::EndOf(status.error_code(), status.error_message(),
                          status.error_details());
}

std::string StatusText(const scheduler::CallEnd& end) {
  const auto code = static_cast<size_t>(end.code);
  std::string text = "status ";
  text += code < std::size(kCodes) ? kCodes[code] : std::to_string(code);
  if (end.pmix_status) {
    text += ", PMIx status " + std::to_string(*end.pmix_status);
  }
  if (!end.message.empty())
    text += " (" + end.message.substr(0, kMaxText) + ")";
  return text;
}

}  // namespace canopy::cli
