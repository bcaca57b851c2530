#include "server/control/descriptors.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "protos/control_descriptors.h"

namespace canopy::control {
namespace {

// The pool refers to the bytes, so they stay until the process ends.
const std::string* Register() {
  google::protobuf::FileDescriptorSet files;
  files.ParseFromArray(protos::kControlDescriptors,
                       sizeof protos::kControlDescriptors);
  const auto* const file = new std::string(files.file(0).SerializeAsString());
  google::protobuf::DescriptorPool::InternalAddGeneratedFile(
      file->data(), static_cast<int>(file->size()));
  return file;
}

}  // namespace

void RegisterDescriptors() {
  static const std::string* const file = Register();
  (void)file;
}

}  // namespace canopy::control
